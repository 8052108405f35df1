// SPDX-License-Identifier: Apache-2.0
// The cost of a job over the last while as a line: slopes where it reports checkpoints, steps where
// it does not, a gap where it waited, a cross at the height that was lost.
import type { CostBasis, TrackPiece } from '../api/scavenger_types';
import { costAt } from './cost';

export const SPAN = 90 * 60_000;
/** More teeth than this cannot be told apart; then only every n-th is drawn. */
const MOST_TEETH = 120;

export interface Drawing {
  line: string;
  crosses: { x: number; y: number }[];
  /** Now; absent where it does not run. */
  dot?: { x: number; y: number };
  /** What the top stands for, in thousandths of a core-second. */
  top: number;
}

interface Point {
  at: number;
  cost: number;
}

/** The corners of a piece between two moments. */
function corners(basis: CostBasis, from: number, to: number): Point[] {
  const just = (at: number) => Math.max(from, at - 0.001);
  const points: Point[] = [{ at: from, cost: costAt(basis, from) }];
  const step = basis.window / Math.max(1, basis.steps);
  const expected = (basis.interval ?? 0) / 2;
  // Who says how often it writes rises until half of that, and starts over with the window.
  const rises = !basis.reported && expected > 0 && expected <= step;
  const every = basis.reported || rises ? basis.window : step;
  const stride = Math.max(1, Math.ceil((to - from) / every / MOST_TEETH)) * every;
  if (basis.window > 0)
    for (let k = Math.floor((from - basis.since) / stride); basis.since + k * stride < to; ++k) {
      const at = basis.since + k * stride;
      const full = at + expected;
      if (at > from) points.push({ at, cost: costAt(basis, just(at)) }, { at, cost: costAt(basis, at) });
      if (rises && full > from && full < to) points.push({ at: full, cost: costAt(basis, full) });
    }
  points.push({ at: to, cost: costAt(basis, just(to)) });
  return points;
}

export function draw(track: readonly TrackPiece[], now: number, width: number, height: number): Drawing {
  const begin = now - SPAN;
  const pieces = track
    .map((piece) => ({ piece, from: Math.max(begin, piece.from), to: Math.min(now, piece.to ?? now) }))
    .filter(({ from, to }) => to > from)
    .map(({ piece, from, to }) => ({ piece, from, to, points: corners(piece.basis, from, to) }));
  const top = Math.max(1, ...pieces.flatMap(({ piece, points }) => [...points.map((one) => one.cost), piece.lost ?? 0]));
  const x = (at: number) => Number((((at - begin) / SPAN) * (width - 4)).toFixed(1));
  const y = (cost: number) => Number((height - 2 - (cost / top) * (height - 5)).toFixed(1));
  let line = '';
  let last: number | undefined;
  const crosses: { x: number; y: number }[] = [];
  let dot: { x: number; y: number } | undefined;
  for (const { piece, from, to, points } of pieces) {
    points.forEach(({ at, cost }, i) => {
      line += `${i === 0 && (last === undefined || from - last > 1000) ? 'M' : 'L'}${x(at)} ${y(cost)}`;
    });
    last = to;
    const end = points[points.length - 1];
    if (piece.lost !== undefined && piece.to !== undefined && piece.to <= now) {
      crosses.push({ x: x(to), y: y(piece.lost) });
      last = undefined;
    } else if (piece.to === undefined && end) dot = { x: x(end.at), y: y(end.cost) };
  }
  return { line, crosses, top, ...(dot ? { dot } : {}) };
}
