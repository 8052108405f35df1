// SPDX-License-Identifier: Apache-2.0
// What a search finds in what the page knows already; pods that run are asked of the server.
import type { ClusterMap } from '../api/cluster_map';
import type { JobWire, SchedulingWire, TestbedWire } from '../api/external_types';
import type { Found, QueueState } from '../api/types';

/** 0: it is not it. Names that begin with the words come first, then those that have them inside. */
export function match(name: string, query: string): number {
  const at = name.toLowerCase().indexOf(query.toLowerCase());
  if (at < 0) return 0;
  return (at === 0 ? 2 : 1) + query.length / (name.length + 1);
}

export function findNodes(map: ClusterMap, query: string, most: number): Found[] {
  return map.names
    .map((name, row) => ({ name, row, score: match(name, query) }))
    .filter((one) => one.score > 0)
    .sort((a, b) => b.score - a.score || a.row - b.row)
    .slice(0, most)
    .map(({ name, row }) => ({
      kind: 'node' as const,
      namespace: '',
      name,
      note: `node${map.notReady(row) ? ', not ready' : map.cordoned(row) ? ', cordoned' : ''}`,
    }));
}

export function findWaiting(queue: QueueState | null, query: string, most: number): Found[] {
  return (queue?.groups ?? [])
    .map((group) => ({ group, score: Math.max(match(group.pod, query), match(group.name, query)) }))
    .filter((one) => one.score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ group }) => ({ kind: 'pod' as const, namespace: group.namespace, name: group.pod, note: `in ${group.namespace}, ${group.cause || 'waiting'}` }));
}

type Work = { kind: 'job'; object: JobWire } | { kind: 'scheduling'; object: SchedulingWire } | { kind: 'testbed'; object: TestbedWire };

function workNote(one: Work): string {
  const slots = one.kind === 'job' ? (one.object.run?.slotIds?.length ?? 0) : 0;
  if (one.kind === 'job') return slots > 0 ? `job, ${one.object.state.toLowerCase()} in ${slots} slot${slots === 1 ? '' : 's'}` : `job, ${one.object.state.toLowerCase()}`;
  if (one.kind === 'scheduling') return `scheduling on ${one.object.testBed}${one.object.state === 'Completed' ? ', past' : ''}`;
  return `testbed on ${one.object.numberOfNodes} nodes`;
}

export function findWork(all: { jobs: readonly JobWire[]; schedulings: readonly SchedulingWire[]; testbeds: readonly TestbedWire[] }, query: string, most: number): Found[] {
  const every: Work[] = [...all.jobs.map((object) => ({ kind: 'job' as const, object })), ...all.schedulings.map((object) => ({ kind: 'scheduling' as const, object })), ...all.testbeds.map((object) => ({ kind: 'testbed' as const, object }))];
  return every
    .map((one) => ({ one, score: match(one.object.name, query) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ one }) => ({ kind: one.kind, namespace: one.object.namespace, name: one.object.name, note: workNote(one) }));
}
