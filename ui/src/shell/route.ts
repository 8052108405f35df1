// SPDX-License-Identifier: Apache-2.0
// Where one is, as the address says it: "#/decisions/batch/etl-1?node=n142". Everything that a page
// shows is in it, so a link shows the same to somebody else.

export interface Route {
  page: string;
  rest: string[];
  query: Record<string, string>;
}

export function parse(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const parts = path.split('/').filter(Boolean).map(decodeURIComponent);
  return { page: parts[0] ?? '', rest: parts.slice(1), query: Object.fromEntries(new URLSearchParams(search)) };
}

/** Empty values are left out: the address says only what differs from the usual. */
export function format(route: Route): string {
  const path = [route.page, ...route.rest].map(encodeURIComponent).join('/');
  const query = new URLSearchParams(Object.entries(route.query).filter(([, value]) => value !== '')).toString();
  return `#/${path}${query ? `?${query}` : ''}`;
}
