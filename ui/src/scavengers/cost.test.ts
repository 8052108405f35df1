// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import counted from '../../fixtures/scavenger_costs.json';
import type { CostBasis } from '../api/scavenger_types';
import { coreHours, costAt, hoursText, lostTime } from './cost';

const minute = 60_000;
const silent: CostBasis = { since: 0, rate: 4000, window: 30 * minute, steps: 3, reported: false, restart: 0 };

it('rounds the time of a job that reports nothing down to its step, and starts over', () => {
  expect([0, 9.9, 10, 19, 20, 29.9, 30, 41].map((t) => lostTime(silent, t * minute) / minute)).toEqual([0, 0, 10, 10, 20, 20, 0, 10]);
});
it('is half of the interval that a silent job gives, unless that is too long to be believed', () => {
  const gives = (interval: number) => [0, 3, 4, 15, 29, 30].map((t) => lostTime({ ...silent, interval: interval * minute }, t * minute) / minute);
  expect(gives(8)).toEqual([0, 3, 4, 4, 4, 0]);
  expect(gives(21)).toEqual([0, 0, 0, 10, 20, 0]);
});
it('grows with every moment for a job that reports, up to a window', () => {
  const told = { ...silent, reported: true };
  expect(lostTime(told, 7 * minute)).toBe(7 * minute);
  expect(lostTime(told, 31 * minute)).toBe(minute);
  expect(lostTime(told, -5)).toBe(0);
});
it('is what a second is worth times the seconds, and the start', () => {
  // 4 cores for 10 min are 2400 core-seconds.
  expect(costAt({ ...silent, restart: 5000 }, 12 * minute)).toBe(2_400_000 + 5000);
  expect(coreHours(3_600_000)).toBe(1);
  expect([0.214, 5.868, 112.34, 12_317].map(hoursText)).toEqual(['0.21', '5.87', '112.3', '12,317']);
});
it('counts as the policy does', () => {
  for (const { basis, at } of counted) for (const [now = 0, cost] of at) expect(costAt(basis, now)).toBe(cost);
});
