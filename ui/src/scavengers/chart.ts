// SPDX-License-Identifier: Apache-2.0
// Gain and loss on one axis of time: how full the cluster was, what scavengers made of it, and what
// they lost.
import type { ScavengerHistory } from '../api/scavenger_types';
import { hours } from '../parts/format';

export type Range = '1h' | '6h' | '24h' | '7d' | '30d';
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
export const ranges: Record<Range, { text: string; long: number; bar: number; every: string }> = {
  '1h': { text: '1 h', long: hour, bar: 5 * minute, every: 'every min' },
  '6h': { text: '6 h', long: 6 * hour, bar: 15 * minute, every: 'every 5 min' },
  '24h': { text: '24 h', long: day, bar: hour, every: 'every 15 min' },
  '7d': { text: '7 d', long: 7 * day, bar: 6 * hour, every: 'every 2 h' },
  '30d': { text: '30 d', long: 30 * day, bar: day, every: 'every 6 h' },
};
export function rangeNamed(text: string): Range {
  return text in ranges ? (text as Range) : '24h';
}

export interface Bar {
  from: number;
  to: number;
  /** Core-hours an hour. */
  rate: number;
}
/** Steps put together to bars that end now. */
export function bars(history: ScavengerHistory, values: readonly number[], bar: number): Bar[] {
  const out: Bar[] = [];
  const per = Math.max(1, Math.round(bar / history.step));
  const end = values.length;
  for (let last = end; last > 0; last -= per) {
    const first = Math.max(0, last - per);
    const from = history.from + first * history.step;
    const to = Math.min(history.to, history.from + last * history.step);
    const sum = values.slice(first, last).reduce((all, one) => all + one, 0);
    out.unshift({ from, to, rate: to > from ? sum / ((to - from) / hour) : 0 });
  }
  return out;
}

/** A number that an axis likes, not below the value. */
export function nice(value: number): number {
  if (!(value > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 3, 4, 6, 10]) if (value <= step * size * 1.0001) return step * size;
  return 10 * size;
}

/** Times below the axis: about eight, then now. */
export function ticks(history: ScavengerHistory, most: number): { at: number; text: string }[] {
  const long = history.to - history.from;
  const out = [];
  for (let i = 0; i < most; ++i) {
    const at = history.from + (long * i) / most;
    out.push({ at, text: long > 2 * day ? new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' }) : hours(at) });
  }
  return [...out, { at: history.to, text: 'now' }];
}

/** Two lines with what is between them filled: one piece for each stretch that is known. */
export function bands(low: readonly (number | null)[], high: readonly (number | null)[], x: (step: number) => number, y: (share: number) => number): string {
  let path = '';
  let i = 0;
  while (i < high.length) {
    if (high[i] === null || low[i] === null) {
      ++i;
      continue;
    }
    const first = i;
    while (i < high.length && high[i] !== null && low[i] !== null) ++i;
    const at = Array.from({ length: i - first }, (_, n) => first + n);
    const point = (step: number, share: number) => `${x(step).toFixed(1)} ${y(share).toFixed(1)}`;
    const up = at.map((step) => point(step, high[step] ?? 0));
    const down = at.map((step) => point(step, low[step] ?? 0)).reverse();
    const endX = x(i).toFixed(1);
    path += `M${up.join('L')}L${endX} ${y(high[i - 1] ?? 0).toFixed(1)}L${endX} ${y(low[i - 1] ?? 0).toFixed(1)}L${down.join('L')}Z`;
  }
  return path;
}
