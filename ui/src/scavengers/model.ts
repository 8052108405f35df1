// SPDX-License-Identifier: Apache-2.0
// Scavenger jobs as the page says them: in which order, in which words.
import type { ScavengerWire, VictimWire, Waits } from '../api/scavenger_types';
import { count, few, span } from '../parts/format';
import { coreHours, costAt, hoursText } from './cost';

export function runs(job: ScavengerWire): boolean {
  return job.state === 'running' || job.state === 'reclaiming';
}
export function costNow(job: ScavengerWire, now: number): number {
  return job.cost ? costAt(job.cost, now) : 0;
}

/** Cheapest to interrupt first. */
export function byCost(jobs: Iterable<ScavengerWire>, now: number): ScavengerWire[] {
  return [...jobs]
    .filter(runs)
    .map((job) => ({ job, cost: costNow(job, now) }))
    .sort((a, b) => a.cost - b.cost || a.job.since - b.job.since || (a.job.uid < b.job.uid ? -1 : 1))
    .map(({ job }) => job);
}

/** By turn; those that start already stand where they were: among the first. */
export function byTurn(jobs: Iterable<ScavengerWire>): ScavengerWire[] {
  const turn = (job: ScavengerWire) => job.waits?.turn ?? (job.state === 'starting' ? 0 : Number.MAX_SAFE_INTEGER);
  return [...jobs]
    .filter((job) => !runs(job))
    .sort((a, b) => turn(a) - turn(b) || b.interrupted - a.interrupted || a.since - b.since || (a.uid < b.uid ? -1 : 1));
}

/** "48", "0.5". */
export function coresText(milli: number): string {
  return few(milli / 1000);
}

/** In three words what a job waits for. */
export function waitsText(job: ScavengerWire, now: number): string {
  if (job.state === 'starting') return 'starting';
  const waits = job.waits;
  return waits ? waitText(waits, job.namespace, now) : 'to be looked at';
}
function waitText(waits: Waits, namespace: string, now: number): string {
  switch (waits.reason) {
    case 'Threshold':
      if (waits.short) return `${coresText(waits.short < 10_000 ? waits.short : 1000 * Math.ceil(waits.short / 1000))} ${waits.short === 1000 ? 'core' : 'cores'} short`;
      return `${waits.resource || 'room'} short`;
    case 'NoFit':
      return 'no node fits';
    case 'OverQuota':
      return `quota ${namespace}`;
    case 'Backoff':
      return waits.until && waits.until > now ? `in ${span(waits.until - now)}` : 'its turn';
    case 'Reserved':
      return 'room is kept';
    case 'Turn':
      return 'its turn';
  }
}

/** A long name in a sentence, cut in its middle: "checkout-…-9mzlq". */
export function short(name: string): string {
  return name.length <= 20 ? name : `${name.slice(0, 9)}…${name.slice(-6)}`;
}

/** "never", "3×". */
export function times(n: number): string {
  return n === 0 ? 'never' : `${count(n)}×`;
}

/** What was lost, and beside what: the sentence under a victim's head. */
export function lossText(victim: VictimWire): string {
  const chosen = victim.candidates.filter((one) => one.chosen).length;
  const they = chosen > 1 ? 'Together they' : 'It';
  const lost = victim.cost > 0 ? `${they} lost ${hoursText(coreHours(victim.cost))} core-hours` : `${they} lost nothing`;
  if (victim.candidates.length <= chosen && victim.for) return `${lost}; nobody else could have made room.`;
  if (victim.cost === 0) return `${lost}.`;
  return victim.exact ? `${lost}; no other choice would have lost less.` : `${lost}; no cheaper choice was found in time.`;
}

/** Who chose, where it was not the scheduler that people think of first. */
export function doorText(victim: VictimWire): string {
  if (victim.door === 'operator') return victim.for ? 'The operator chose, and made the room itself.' : 'The regulator chose.';
  return victim.door === 'extender' ? 'The extender chose, for the scheduler.' : '';
}

/** What a stock scheduler would have lost; "": no more, or nobody knows. */
export function stockText(victim: VictimWire): string {
  if (victim.stockCost === undefined || victim.stockCost <= victim.cost) return '';
  const more = victim.cost > 0 ? victim.stockCost / victim.cost : 0;
  if (more >= 1.1 && more < 1000) return `A stock scheduler would have lost ${few(Number(more.toPrecision(2)))} times as much.`;
  return `A stock scheduler would have lost ${hoursText(coreHours(victim.stockCost))} core-hours.`;
}

const causes: Record<string, string> = {
  Preempted: 'gave way to other pods',
  Evicted: 'were evicted',
  NodeLost: 'lost their node',
  Deleted: 'were deleted by hand',
  CheckpointExit: 'ended themselves with a checkpoint',
  ReclaimRequested: 'gave their room back',
  Hung: 'did not start',
  Vanished: 'vanished',
  Reclaimed: 'gave their room back',
  Interrupted: 'were interrupted',
};
export function causeText(reason: string, jobs: number): string {
  return `${count(jobs)} ${jobs === 1 ? 'job' : 'jobs'} ${causes[reason] ?? reason}`;
}
