// SPDX-License-Identifier: Apache-2.0
import { format, parse, type Route } from './route';

class Router {
  route = $state.raw<Route>(parse(location.hash));

  constructor() {
    addEventListener('hashchange', () => {
      this.route = parse(location.hash);
    });
  }
  /** A step that Back undoes. */
  go(page: string, rest: string[] = [], query: Record<string, string> = {}): void {
    location.hash = format({ page, rest, query });
  }
  /** A change of what is shown here; `step`: one that Back undoes. */
  set(query: Record<string, string>, step = false): void {
    const next = { ...this.route, query: { ...this.route.query, ...query } };
    const hash = format(next);
    if (hash === location.hash) return;
    if (step) {
      location.hash = hash;
      return;
    }
    history.replaceState(null, '', hash);
    this.route = parse(hash);
  }
  get(key: string, otherwise = ''): string {
    return this.route.query[key] ?? otherwise;
  }
}

export const router = new Router();
export function href(page: string, rest: string[] = [], query: Record<string, string> = {}): string {
  return format({ page, rest, query });
}
