// SPDX-License-Identifier: Apache-2.0
// The cost of an interruption as src/policy/scavenge/cost.cc has it; ui/fixtures/scavenger_costs.json
// holds the two together. Worked out here, so that a figure that only grows with time is not sent.
import type { CostBasis } from '../api/scavenger_types';

/** Of the time since its last checkpoint, or start: what is lost, in ms. */
export function lostTime(basis: CostBasis, now: number): number {
  const ran = Math.max(0, now - basis.since);
  if (basis.window <= 0) return 0;
  const into = ran % basis.window;
  if (basis.reported) return into;
  const step = basis.window / Math.max(1, basis.steps);
  const expected = (basis.interval ?? 0) / 2;
  if (expected > 0 && expected <= step) return Math.min(into, expected);
  return Math.min(Math.floor(into / step), Math.max(1, basis.steps) - 1) * step;
}

/** In thousandths of a core-second. */
export function costAt(basis: CostBasis, now: number): number {
  return Math.floor((basis.rate * lostTime(basis, now)) / 1000) + basis.restart;
}

const CORE_HOUR = 3_600_000;
export function coreHours(milliCoreSeconds: number): number {
  return milliCoreSeconds / CORE_HOUR;
}

/** "0.21", "5.87", "1,204". */
export function hoursText(value: number): string {
  if (value >= 1000) return new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 }).format(value);
  return value.toFixed(value >= 100 ? 1 : 2);
}
