// SPDX-License-Identifier: Apache-2.0
// Jobs and schedulings as rows: in which state, for how long, and what each waits for.
import type { Condition, JobWire, RunWire, SchedulingWire } from '../api/external_types';
import type { Part } from '../api/types';
import type { MarkKind } from '../parts/Mark.svelte';
import { counted } from '../parts/format';

export const time = (text: string | null | undefined): number => (text ? Date.parse(text) : Number.NaN);

export interface JobState {
  mark: MarkKind | null;
  text: string;
}

export function jobState(job: JobWire): JobState {
  const slots = job.run?.slotIds?.length ?? 0;
  const wide = slots > 0 ? `, ${counted(slots, 'slot')}` : '';
  switch (job.state) {
    case 'Running':
    case 'Scheduled':
      return { mark: 'running', text: `running${wide}` };
    case 'Submitted':
      return { mark: 'reserved', text: `reserved${wide}` };
    case 'InQueue':
      return { mark: 'waiting', text: 'in queue' };
    case 'Retrying':
      return { mark: 'backoff', text: `retrying${wide}` };
    case 'Completing':
    case 'Failing':
    case 'PendingDeletion':
      return { mark: 'waiting', text: 'ending' };
    case 'Completed':
      return { mark: 'done', text: 'completed' };
    case 'Failed':
      return { mark: 'failed', text: 'failed' };
    default:
      return { mark: null, text: 'ready' };
  }
}

const shortKinds: Record<string, string> = { SparkApplication: 'Spark', FlinkDeployment: 'Flink', FlinkCluster: 'Flink' };
export function kindText(kind: string | undefined): string {
  return shortKinds[kind ?? ''] ?? kind ?? '';
}

export function lengthOf(run: RunWire): number {
  return time(run.stop) - time(run.start);
}

/** Of its successful runs, in ms; NaN: there is none. */
export function meanRun(job: JobWire): number {
  const lengths = job.scheduledEvents.filter((run) => run.successful).map(lengthOf).filter((ms) => ms >= 0);
  return lengths.length > 0 ? lengths.reduce((sum, ms) => sum + ms, 0) / lengths.length : Number.NaN;
}

/** Who is at work comes first, then who waits, then by name. */
export function jobsInOrder(jobs: readonly JobWire[]): JobWire[] {
  const rank = (job: JobWire) => {
    const at = ['Running', 'Scheduled', 'Retrying', 'Submitted', 'InQueue'].indexOf(job.state);
    return at < 0 ? 9 : at;
  };
  return [...jobs].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name) || a.namespace.localeCompare(b.namespace));
}

export interface Chip {
  job: string;
  wide: number;
  mark: MarkKind;
}
export interface ChipLine {
  title: string;
  chips: Chip[];
}
const lines: readonly { title: string; states: readonly string[]; mark: MarkKind }[] = [
  { title: 'Acquiring', states: ['Acquiring'], mark: 'waiting' },
  { title: 'In queue', states: ['InQueue'], mark: 'waiting' },
  { title: 'Submitted', states: ['Submitted'], mark: 'reserved' },
  { title: 'Scheduled', states: ['Scheduled', 'Running'], mark: 'running' },
  { title: 'Failed', states: ['Failed'], mark: 'failed' },
  { title: 'Completed', states: ['Completed'], mark: 'done' },
];

/** How many slots a scheduling wants for each of its jobs, in its order. */
export function widths(one: Pick<SchedulingWire, 'queue' | 'slots'>): Map<string, number> {
  const all = new Map<string, number>();
  for (const job of one.queue ?? []) all.set(job, (all.get(job) ?? 0) + 1);
  for (const job of one.slots?.jobs ?? []) all.set(job.name, (all.get(job.name) ?? 0) + job.slots.length);
  return all;
}

export function chipLines(one: SchedulingWire): ChipLine[] {
  const states = new Map(one.jobStatus.map((job) => [job.name, job.state]));
  const wide = widths(one);
  for (const name of states.keys()) if (!wide.has(name)) wide.set(name, 0);
  return lines
    .map(({ title, states: of, mark }) => ({
      title,
      chips: [...wide].filter(([job]) => of.includes(states.get(job) ?? 'Acquiring')).map(([job, n]) => ({ job, wide: n, mark })),
    }))
    .filter((line) => line.chips.length > 0);
}

export const atWork = (one: SchedulingWire): boolean => one.state !== 'Completed';

/** "queue", "slots, strict". */
export function strategy(one: SchedulingWire): string {
  return one.slots ? `slots, ${one.slots.mode}` : 'queue';
}

export interface Notice {
  /** A refusal or a failure, not a wait. */
  bad: boolean;
  text: string;
  remedy: string;
}
/** Waiting is what queues are for; these are not. */
const wrong = new Set(['JobNotFound', 'TestbedNotFound', 'InvalidSlot', 'DuplicateJob', 'JobFailed', 'Stalled', 'QuotaExceeded']);

/** What a scheduling waits for, or what is wrong with it. */
export function notices(one: SchedulingWire): Notice[] {
  if (one.state === 'Completed') return [];
  const said = new Set<string>();
  return (one.conditions ?? [])
    .filter((condition: Condition) => condition.message && !said.has(condition.message) && said.add(condition.message))
    .map((condition) => ({ bad: wrong.has(condition.reason), text: condition.message, remedy: condition.remedy ?? '' }));
}

/** A sentence with those names in it told apart. */
export function spoken(text: string, names: readonly string[]): Part[] {
  const known = [...new Set(names)].filter(Boolean).sort((a, b) => b.length - a.length).map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (known.length === 0) return [{ text }];
  return text.split(new RegExp(`(?<![\\w.-])(${known.join('|')})(?![\\w-])`)).map((piece, i) => (i % 2 === 1 ? { name: piece } : { text: piece })).filter((part) => !('text' in part) || part.text !== '');
}

/** What a message names as namespace/name. */
export function keysIn(message: string): string[] {
  return message.match(/[a-z0-9-]+\/[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/g) ?? [];
}

/** Where a message names objects of its own namespace, their names alone. */
export function shorter(message: string, namespace: string): string {
  return message.replaceAll(`${namespace}/`, '').replaceAll('BatchJob ', '').replaceAll('Scheduling ', '');
}
