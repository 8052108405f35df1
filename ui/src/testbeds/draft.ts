// SPDX-License-Identifier: Apache-2.0
// A scheduling that is being built. Pure: every change gives another draft.
import type { WantedScheduling } from '../api/external_types';

export type Mode = 'queue' | 'slots';
export interface Entry {
  job: string;
  /** How many slots, where they are taken in order. */
  wide: number;
  /** Which, where they are named. */
  ids: number[];
}
export interface Draft {
  name: string;
  /** namespace/name. */
  testbed: string;
  mode: Mode;
  strict: boolean;
  entries: Entry[];
}

export const nothing: Draft = { name: '', testbed: '', mode: 'queue', strict: true, entries: [] };

const changed = (draft: Draft, at: number, change: (entry: Entry) => Entry): Draft => ({ ...draft, entries: draft.entries.map((entry, i) => (i === at ? change(entry) : entry)) });

/** In a queue a job that is there already gets one slot more; a job stands once. */
export function added(draft: Draft, job: string): Draft {
  const at = draft.entries.findIndex((entry) => entry.job === job);
  if (at >= 0) return draft.mode === 'queue' ? wider(draft, at, 1) : draft;
  return { ...draft, entries: [...draft.entries, { job, wide: 1, ids: [] }] };
}
export function removed(draft: Draft, at: number): Draft {
  return { ...draft, entries: draft.entries.filter((_, i) => i !== at) };
}
export function moved(draft: Draft, at: number, by: number): Draft {
  const to = at + by;
  const entry = draft.entries[at];
  if (!entry || to < 0 || to >= draft.entries.length) return draft;
  const entries = draft.entries.filter((_, i) => i !== at);
  entries.splice(to, 0, entry);
  return { ...draft, entries };
}
export function wider(draft: Draft, at: number, by: number): Draft {
  return changed(draft, at, (entry) => ({ ...entry, wide: Math.max(1, entry.wide + by) }));
}
export function toggled(draft: Draft, at: number, slot: number): Draft {
  return changed(draft, at, (entry) => ({
    ...entry,
    ids: entry.ids.includes(slot) ? entry.ids.filter((one) => one !== slot) : [...entry.ids, slot].sort((a, b) => a - b),
  }));
}

export function wanted(draft: Draft): WantedScheduling {
  const testBed = draft.testbed.split('/')[1] ?? '';
  if (draft.mode === 'queue')
    return { name: draft.name, testBed, queue: draft.entries.flatMap((entry) => Array.from({ length: entry.wide }, () => entry.job)) };
  return { name: draft.name, testBed, slots: { mode: draft.strict ? 'strict' : 'relaxed', jobs: draft.entries.map((entry) => ({ name: entry.job, slots: entry.ids })) } };
}

export interface Faults {
  name: string;
  entries: string;
}
/** What stands in the way of asking for it; "" where nothing does. */
export function faults(draft: Draft, taken: (name: string) => 'now' | 'once' | ''): Faults {
  let name = '';
  if (draft.name === '') name = 'It needs a name.';
  else if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(draft.name) || draft.name.length > 253) name = 'Small letters, digits, dots and dashes.';
  else if (taken(draft.name) !== '') name = `The name is taken by a scheduling ${taken(draft.name) === 'now' ? 'at work' : 'of the past'}.`;
  const bare = draft.mode === 'slots' ? draft.entries.find((entry) => entry.ids.length === 0) : undefined;
  return { name, entries: bare ? `Choose slots for ${bare.job}.` : '' };
}

/** "evening-7" is followed by "evening-8". */
export function nextName(name: string): string {
  const [, head = '', number = ''] = /^(.*?)(\d*)$/.exec(name) ?? [];
  return number === '' ? `${head}-2` : head + String(Number(number) + 1).padStart(number.length, '0');
}

/** For kubectl apply. */
export function yaml(draft: Draft): string {
  const [namespace = '', testbed = ''] = draft.testbed.split('/');
  const all = wanted(draft);
  const lines = ['apiVersion: batchjob.gcr.io/v1alpha1', 'kind: Scheduling', 'metadata:', `  name: ${draft.name}`, `  namespace: ${namespace}`, 'spec:', '  testbed:', `    name: ${testbed}`, `    namespace: ${namespace}`];
  if (all.queue) {
    lines.push(all.queue.length > 0 ? '  queueBased:' : '  queueBased: []');
    for (const job of all.queue) lines.push(`  - name: ${job}`, `    namespace: ${namespace}`);
  } else if (all.slots) {
    lines.push('  slotBased:', `    mode: ${all.slots.mode}`, all.slots.jobs.length > 0 ? '    jobs:' : '    jobs: []');
    for (const job of all.slots.jobs) lines.push('    - name:', `        name: ${job.name}`, `        namespace: ${namespace}`, `      slotIds: [${job.slots.join(', ')}]`);
  }
  return `${lines.join('\n')}\n`;
}

/** What was kept from an earlier visit; anything else is an empty draft. */
export function restored(text: string | null): Draft {
  try {
    const kept = JSON.parse(text ?? '') as Partial<Draft>;
    const entries = (kept.entries ?? []).filter((entry) => typeof entry.job === 'string' && entry.wide >= 1 && Array.isArray(entry.ids));
    return { ...nothing, ...kept, mode: kept.mode === 'slots' ? 'slots' : 'queue', entries };
  } catch {
    return nothing;
  }
}
