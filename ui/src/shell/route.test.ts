// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { format, parse, type Route } from './route';

it('reads back what it writes', () => {
  const routes: Route[] = [
    { page: 'cluster', rest: [], query: { node: 'n17', filter: 'free>4 & zone=a' } },
    { page: 'decisions', rest: ['batch', 'etl/odd name'], query: {} },
  ];
  for (const route of routes) expect(parse(format(route))).toEqual(route);
});
it('leaves out what is empty', () => {
  expect(format({ page: 'queue', rest: [], query: { filter: '', state: 'gated' } })).toBe('#/queue?state=gated');
  expect(parse('')).toEqual({ page: '', rest: [], query: {} });
});
