// SPDX-License-Identifier: Apache-2.0
// The queue as a table: which groups are shown, under which heads, and what each says of its time.
import type { QueueGroup, QueueMove, QueuePlace } from '../api/types';
import { causeOf } from '../cluster/causes';
import { span } from '../parts/format';

export type By = 'state' | 'cause' | 'owner';

export interface Section {
  key: string;
  title: string;
  place?: QueuePlace;
  rule: string;
  pods: number;
  rows: QueueGroup[];
}

export const places: readonly { place: QueuePlace; title: string; short: string; rule: string }[] = [
  { place: 'active', title: 'Active', short: 'Active', rule: 'tried in this order: priority, then age' },
  { place: 'backoff', title: 'Backing off', short: 'Backoff', rule: 'failed lately; the pause doubles from 1 s to 10 s' },
  { place: 'unschedulable', title: 'Unschedulable', short: 'Unsched.', rule: 'sleeps until an event could help, at the latest 5 min' },
  { place: 'gated', title: 'Gated', short: 'Gated', rule: 'not tried until every gate is removed' },
];

export interface Wanted {
  text: string;
  cause: string;
  scheduler: string;
  namespace: string;
}

/** "plugin:volume", "ns:batch", "state:gated", or words in the name or the cause. */
export function passes(group: QueueGroup, wanted: Wanted): boolean {
  if (wanted.cause && causeOf(group) !== wanted.cause) return false;
  if (wanted.scheduler && group.scheduler !== wanted.scheduler) return false;
  if (wanted.namespace && group.namespace !== wanted.namespace) return false;
  const has = (field: string, word: string) => field.toLowerCase().includes(word);
  return wanted.text.toLowerCase().split(/\s+/).filter(Boolean).every((term) => {
    const [, field = '', word = ''] = /^(\w+):(.*)$/.exec(term) ?? [];
    if (field === 'plugin') return has(group.plugin, word);
    if (field === 'ns') return has(group.namespace, word);
    if (field === 'state') return has(group.place, word);
    return has(group.name, term) || has(group.pod, term) || has(group.cause, term);
  });
}

function ordered(place: QueuePlace | undefined, rows: QueueGroup[]): QueueGroup[] {
  return rows.sort((a, b) => (place === 'active' ? b.priority - a.priority : 0) || a.since - b.since);
}

export function sectionsOf(groups: readonly QueueGroup[], by: By, wanted: Wanted): Section[] {
  const shown = groups.filter((group) => passes(group, wanted));
  const pods = (rows: readonly QueueGroup[]) => rows.reduce((sum, row) => sum + row.count, 0);
  if (by === 'state')
    return places
      .map(({ place, title, rule }) => {
        const rows = ordered(place, shown.filter((group) => group.place === place));
        return { key: place, title, place, rule, pods: pods(rows), rows };
      })
      .filter((section) => section.rows.length > 0);
  const sections = new Map<string, QueueGroup[]>();
  for (const group of shown) {
    const key = by === 'cause' ? causeOf(group) : `${group.namespace}/${group.count > 1 ? group.name : group.name.replace(/-[a-z0-9]+$/, '')}`;
    sections.set(key, [...(sections.get(key) ?? []), group]);
  }
  return [...sections]
    .map(([key, rows]) => ({ key, title: key, rule: '', pods: pods(rows), rows: ordered(undefined, rows) }))
    .sort((a, b) => b.pods - a.pods || a.key.localeCompare(b.key));
}

/** "now", "in 3 s", "≤ 4 min", "–". */
export function nextTry(group: QueueGroup, now: number): string {
  if (group.place === 'active') return 'now';
  if (group.next === undefined) return '–';
  const wait = Math.max(0, group.next - now);
  if (group.place === 'backoff') return wait < 1000 ? 'now' : `in ${span(wait)}`;
  return `≤ ${wait < 60_000 ? span(wait) : `${Math.ceil(wait / 60_000)} min`}`;
}

/** How much of its pause is over, 0 to 1; null: it has none. */
export function paused(group: QueueGroup, now: number): number | null {
  if (group.place !== 'backoff' || group.next === undefined || !group.pause) return null;
  return Math.max(0, Math.min(1, 1 - (group.next - now) / group.pause));
}

const events: Record<string, string> = {
  AssignedPodAdd: 'A pod got a node',
  AssignedPodUpdate: 'A pod on a node changed',
  AssignedPodDelete: 'A pod ended',
  NodeAdd: 'A node came',
  NodeUpdate: 'A node changed',
  NodeDelete: 'A node left',
  UnschedulableTimeout: '5 min passed',
  BackoffComplete: 'Pauses ended',
  PodAdd: 'A pod was created',
  PodUpdate: 'A waiting pod changed',
  ScheduleAttemptFailure: 'An attempt failed',
  ForceActivate: 'A plugin woke them',
  PvcAdd: 'A claim was created',
  PvcUpdate: 'A claim changed',
  PvAdd: 'A volume came',
  PvUpdate: 'A volume changed',
};

export function eventText(move: QueueMove): string {
  return events[move.event] ?? move.event.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase().replace(/^./, (c) => c.toUpperCase());
}
