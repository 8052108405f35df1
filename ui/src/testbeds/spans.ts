// SPDX-License-Identifier: Apache-2.0
// What ran, runs and will run in each slot: the lanes of the timeline. Ink grows with certainty.
import { keyOf } from '../api/collection';
import type { JobWire, TimelineWire } from '../api/external_types';
import type { Bed } from './beds';
import { meanRun, time } from './work';

export type SpanKind = 'done' | 'failed' | 'broken' | 'running' | 'planned' | 'draft';
export interface Span {
  job: string;
  /** namespace/name of the job. */
  key: string;
  scheduling: string;
  kind: SpanKind;
  from: number;
  /** Infinity: nobody knows. Of what runs: when it is expected to end. */
  to: number;
}
export interface Lane {
  bed: string;
  node: string;
  slot: number;
  /** The first of its node carries its name. */
  named: boolean;
  /** Pixels from the top of the first. */
  y: number;
  spans: readonly Span[];
}
export interface Lanes {
  lanes: Lane[];
  /** Where a testbed ends. */
  rules: number[];
  height: number;
}

export const MINUTE = 60_000;
/** What begins within this begins now: grants are written once a second. */
export const SOON = 5000;
const LANE = 16;
const BETWEEN_NODES = 3;
const BETWEEN_BEDS = 13;

export type BySlot = Map<string, Map<number, Span[]>>;

function put(all: BySlot, bed: string, slots: readonly number[], span: Span): void {
  let own = all.get(bed);
  if (!own) all.set(bed, (own = new Map()));
  for (const slot of slots) {
    const there = own.get(slot);
    if (there) there.push(span);
    else own.set(slot, [span]);
  }
}

/** A testbed as runs name it: its name alone where it is in the job's own namespace. */
function bedKey(text: string, namespace: string): string {
  return text.includes('/') ? text : `${namespace}/${text}`;
}

export interface Seen {
  jobs: readonly JobWire[];
  /** By testbed: what is foreseen. */
  foreseen: ReadonlyMap<string, TimelineWire>;
  now: number;
}

export function spansOf({ jobs, foreseen, now }: Seen): BySlot {
  const all: BySlot = new Map();
  const told = new Set<string>();
  for (const [bed, timeline] of foreseen) {
    for (const run of timeline.running) {
      if (!run.job) continue;
      told.add(keyOf(run.job));
      put(all, bed, run.slots, { job: run.job.name, key: keyOf(run.job), scheduling: run.scheduling?.name ?? '', kind: 'running', from: time(run.since), to: run.overdue ? now : run.finish ? time(run.finish) : Number.POSITIVE_INFINITY });
    }
    for (const run of timeline.planned) {
      if (!run.job || !run.begin) continue;
      put(all, bed, run.slots, { job: run.job.name, key: keyOf(run.job), scheduling: run.scheduling?.name ?? '', kind: run.draft ? 'draft' : 'planned', from: Math.max(now, time(run.begin)), to: run.finish ? time(run.finish) : Number.POSITIVE_INFINITY });
    }
  }
  for (const job of jobs) {
    for (const run of job.scheduledEvents) {
      if (!run.testbed || !run.start || !run.stop) continue;
      put(all, bedKey(run.testbed, job.namespace), run.slotIds ?? [], { job: job.name, key: keyOf(job), scheduling: run.scheduling ?? '', kind: run.successful ? 'done' : 'failed', from: time(run.start), to: time(run.stop) });
    }
    const open = job.run;
    const from = time(open?.start ?? open?.submitted);
    // The forecast comes a moment after a run has begun.
    if (!open?.testbed || told.has(keyOf(job)) || Number.isNaN(from)) continue;
    const mean = meanRun(job);
    put(all, bedKey(open.testbed, job.namespace), open.slotIds ?? [], { job: job.name, key: keyOf(job), scheduling: job.activeScheduling?.name ?? '', kind: 'running', from, to: Number.isNaN(mean) ? Number.POSITIVE_INFINITY : Math.max(now, from + mean) });
  }
  return all;
}

export function lanesOf(beds: readonly Bed[], all: BySlot, now: number): Lanes {
  const lanes: Lane[] = [];
  const rules: number[] = [];
  let y = 0;
  for (const bed of beds) {
    const own = all.get(bed.key);
    const since = time(bed.troubles.find((one) => one.status !== 'True' && one.lastTransitionTime)?.lastTransitionTime) || now;
    if (lanes.length > 0 && bed.nodes.length > 0) {
      rules.push(y - BETWEEN_NODES + Math.floor(BETWEEN_BEDS / 2));
      y += BETWEEN_BEDS - BETWEEN_NODES;
    }
    for (const node of bed.nodes) {
      node.slots.forEach((slot, i) => {
        let spans = own?.get(slot.position) ?? [];
        if (slot.state === 'error') spans = [...spans, { job: slot.problem || 'error', key: '', scheduling: '', kind: 'broken', from: Math.min(since, now - MINUTE), to: now }];
        lanes.push({ bed: bed.key, node: node.name, slot: slot.position, named: i === 0, y, spans });
        y += LANE;
      });
      y += BETWEEN_NODES;
    }
  }
  return { lanes, rules, height: Math.max(0, y - BETWEEN_NODES) };
}

/** The first lane that ends below `top`: lanes are by y. */
export function firstLane(lanes: readonly Lane[], top: number): number {
  let low = 0;
  let high = lanes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lanes[middle]?.y ?? 0) + LANE <= top) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface View {
  start: number;
  /** How much time is seen, in ms. */
  window: number;
}
const NOW_AT = 0.466;

export function following(now: number, window: number): View {
  return { start: now - NOW_AT * window, window };
}
/** Around the moment that stays where it is. */
export function zoomed(view: View, around: number, factor: number): View {
  const window = Math.min(7 * 24 * 60 * MINUTE, Math.max(2 * MINUTE, view.window * factor));
  return { start: around - ((around - view.start) * window) / view.window, window };
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map((minutes) => minutes * MINUTE);
/** Round moments that are at least `room` px apart. */
export function ticks(view: View, width: number, room: number): number[] {
  const least = (view.window * room) / Math.max(1, width);
  const step = steps.find((one) => one >= least) ?? 1440 * MINUTE;
  const zone = new Date(view.start).getTimezoneOffset() * MINUTE;
  const all: number[] = [];
  for (let at = Math.ceil((view.start - zone) / step) * step + zone; at <= view.start + view.window; at += step) all.push(at);
  return all;
}
