// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { nearest } from './grid';

it('prefers what lies straight ahead to what lies nearer aside', () => {
  const grid = [0, 1, 2].flatMap((y) => [0, 1, 2].map((x) => ({ x: 70 * x, y: 40 * y })));
  const from = { x: 70, y: 40 };
  expect([nearest(grid, from, 1, 0), nearest(grid, from, -1, 0), nearest(grid, from, 0, -1), nearest(grid, from, 0, 1)]).toEqual([5, 3, 1, 7]);
  expect(nearest(grid, { x: 140, y: 40 }, 1, 0)).toBe(-1);
});
