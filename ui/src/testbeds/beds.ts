// SPDX-License-Identifier: Apache-2.0
// Testbeds as they are shown: nodes in the order of their slots, and whose each slot is.
import { keyOf } from '../api/collection';
import type { Condition, JobWire, SlotTableWire, SlotWire, TestbedWire } from '../api/external_types';
import { few, listed } from '../parts/format';

export type SlotState = 'free' | 'reserved' | 'occupied' | 'error';
export const slotStates: readonly SlotState[] = ['free', 'reserved', 'occupied', 'error'];

export interface Slot {
  position: number;
  node: string;
  state: SlotState;
  /** namespace/name of the job that has it; "": none. */
  job: string;
  /** The word under its number. */
  word: string;
  /** Why it is not as it should be. */
  problem: string;
}
export interface BedNode {
  name: string;
  slots: Slot[];
}
export interface Bed {
  key: string;
  name: string;
  namespace: string;
  nodes: BedNode[];
  /** By position. */
  slots: Slot[];
  counts: Record<SlotState, number>;
  size: number;
  /** "2 cores, 6 GiB". */
  each: string;
  shared: boolean;
  omitted: boolean;
  /** What is wrong with it, with what to do. */
  troubles: Condition[];
}

const factors: Record<string, number> = {
  n: 1e-9, u: 1e-6, m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60,
};
export function quantity(text: string | number): number {
  const [, digits = '', unit = ''] = /^([-+.\deE]*?\d\.?)([A-Za-z]{0,2})$/.exec(String(text)) ?? [];
  return Number(digits) * (factors[unit] ?? Number.NaN);
}

/** "2 cores, 6 GiB": a slot's size. */
export function sizeOf(resources: Record<string, string | number> | undefined): string {
  return Object.entries(resources ?? {})
    .map(([name, amount]) => {
      const value = quantity(amount);
      if (name === 'cpu') return value === 1 ? '1 core' : `${few(value)} cores`;
      if (name === 'memory') return value >= 2 ** 30 ? `${few(value / 2 ** 30)} GiB` : `${few(value / 2 ** 20)} MiB`;
      return `${few(value)} ${name}`;
    })
    .join(', ');
}

/** Which job has which slot of a testbed, by the runs that are open. */
export function holders(jobs: readonly JobWire[], bed: { name: string; namespace: string }): Map<number, string> {
  const held = new Map<number, string>();
  for (const job of jobs) {
    const at = job.run?.testbed;
    if (!at || (at !== bed.name && at !== keyOf(bed))) continue;
    for (const slot of job.run?.slotIds ?? []) held.set(slot, keyOf(job));
  }
  return held;
}

export function slotOf(wire: SlotWire, holder: string, namespace: string): Slot {
  const state = wire.state.toLowerCase() as SlotState;
  const reserved = wire.reservedFor && wire.reservedFor !== 'ghost' ? `${namespace}/${wire.reservedFor}` : '';
  // Who has a run open may be told a moment before its testbed is.
  const job = state === 'free' ? '' : state === 'reserved' ? holder || reserved : holder;
  return { position: wire.position, node: wire.nodeName, state, job, word: wordOf(wire, state, job), problem: wire.problem ?? '' };
}

function wordOf(wire: SlotWire, state: SlotState, job: string): string {
  if (state === 'error') return brief(wire.problem ?? '');
  if (job) return job.split('/')[1] ?? job;
  if (state === 'free') return 'free';
  return state === 'reserved' ? 'being held' : (wire.podName ?? '');
}

/** A problem in two words; the whole of it is in the title. */
function brief(problem: string): string {
  if (/room|insufficient|fit/i.test(problem)) return 'no room';
  if (/not ?ready|gone|lost|unreachable/i.test(problem)) return 'node away';
  if (/quota/i.test(problem)) return 'quota';
  return 'error';
}

/** Conditions that ask for something. */
export function troublesOf(conditions: readonly Condition[] | undefined): Condition[] {
  const seen = new Set<string>();
  return (conditions ?? []).filter((one) => one.remedy && !seen.has(one.reason) && seen.add(one.reason));
}

function byNode(table: SlotTableWire, held: Map<number, string>): Record<string, SlotWire[]> {
  const all: Record<string, SlotWire[]> = {};
  for (const slot of table.slots) {
    (all[slot.nodeName] ??= []).push(slot);
    if (slot.job) held.set(slot.position, keyOf(slot.job));
  }
  return all;
}

/** `table`: its slots where it has too many to carry them itself. */
export function bedOf(wire: TestbedWire, jobs: readonly JobWire[], table?: SlotTableWire | null): Bed {
  const held = holders(jobs, wire);
  const nodes = Object.entries(table ? byNode(table, held) : wire.slotsByNode).map(([name, slots]) => ({
    name,
    slots: slots.map((slot) => slotOf(slot, held.get(slot.position) ?? '', wire.namespace)).sort((a, b) => a.position - b.position),
  }));
  nodes.sort((a, b) => (a.slots[0]?.position ?? 0) - (b.slots[0]?.position ?? 0));
  const slots = nodes.flatMap((node) => node.slots).sort((a, b) => a.position - b.position);
  const counts = Object.fromEntries(slotStates.map((state) => [state, wire.slotCounts?.[state] ?? slots.filter((slot) => slot.state === state).length])) as Record<SlotState, number>;
  return {
    key: keyOf(wire), name: wire.name, namespace: wire.namespace, nodes, slots, counts,
    size: wire.size ?? (slots.length || slotStates.reduce((sum, state) => sum + counts[state], 0)),
    each: sizeOf(wire.resourcesPerSlot), shared: wire.sharing === 'Shared', omitted: wire.slotsOmitted === true,
    troubles: troublesOf(wire.conditions),
  };
}

/** The largest first: an order that stays while slots come and go. */
export function bedsInOrder(beds: readonly Bed[]): Bed[] {
  return [...beds].sort((a, b) => b.size - a.size || (a.key < b.key ? -1 : 1));
}

/** "slots 4, 5 and 6". */
export function slotNames(ids: readonly number[]): string {
  const sorted = [...ids].sort((a, b) => a - b);
  return `${sorted.length === 1 ? 'slot' : 'slots'} ${listed(sorted.map(String))}`;
}
