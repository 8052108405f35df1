// SPDX-License-Identifier: Apache-2.0
// Which nodes are shown, in which groups and in which order.
import type { ClusterMap, Resource } from '../api/cluster_map';

export interface Group {
  name: string;
  rows: number[];
}

const natural = new Intl.Collator('en', { numeric: true });

export type SortBy = 'name' | 'fullest' | 'emptiest' | 'pods';

type Test = (map: ClusterMap, row: number) => boolean;

const numbers: Record<string, (map: ClusterMap, row: number) => number> = {
  free: (map, row) => (map.has('cpu', row) - map.asked('cpu', row)) / 1000,
  freemem: (map, row) => (map.has('memory', row) - map.asked('memory', row)) / 1024,
  pods: (map, row) => map.asked('pods', row),
  cpu: (map, row) => 100 * map.fill('cpu', row),
  memory: (map, row) => 100 * map.fill('memory', row),
  gpu: (map, row) => map.has('gpu', row) - map.asked('gpu', row),
  used: (map, row) => 100 * Math.max(0, map.fillUsed('cpu', row)),
};
const states: Record<string, Test> = {
  notready: (map, row) => map.notReady(row),
  pressure: (map, row) => map.pressure(row),
  cordoned: (map, row) => map.cordoned(row),
  ready: (map, row) => !map.notReady(row),
};

function test(term: string): Test {
  const number = /^([a-z]+)(>=|<=|>|<)(\d+(?:\.\d+)?)$/.exec(term);
  const read = number ? numbers[number[1] ?? ''] : undefined;
  if (number && read) {
    const limit = Number(number[3]);
    const op = number[2];
    return (map, row) => {
      const value = read(map, row);
      return op === '>' ? value > limit : op === '<' ? value < limit : op === '>=' ? value >= limit : value <= limit;
    };
  }
  const state = /^is:(\w+)$/.exec(term);
  if (state) return states[state[1] ?? ''] ?? (() => false);
  const label = /^([^=]+)=(.*)$/.exec(term);
  if (label) {
    const [, key = '', value = ''] = label;
    return (map, row) => {
      const full = Object.keys(map.labels).find((one) => one === key || one.endsWith(`/${key}`));
      return full !== undefined && map.label(full, row) === value;
    };
  }
  return (map, row) => (map.names[row] ?? '').includes(term);
}

/** Words that must all hold: "free>4", "zone=a", "is:cordoned", or a part of the name. */
export function filterOf(text: string): Test {
  const tests = text.split(/\s+/).filter(Boolean).map(test);
  return (map, row) => tests.every((one) => one(map, row));
}

export function rowsOf(map: ClusterMap, filter: string): number[] {
  const keep = filterOf(filter);
  const rows: number[] = [];
  for (let row = 0; row < map.size; ++row) if (keep(map, row)) rows.push(row);
  return rows;
}

// Comparing 5,000 names as people count takes longer than a frame, so it is done once a layout.
let ranked: { names: readonly string[]; rank: Int32Array } | undefined;
function rankOf(names: readonly string[]): Int32Array {
  if (ranked?.names === names) return ranked.rank;
  const order = names.map((_, row) => row).sort((a, b) => natural.compare(names[a] ?? '', names[b] ?? ''));
  const rank = new Int32Array(names.length);
  order.forEach((row, place) => (rank[row] = place));
  ranked = { names, rank };
  return rank;
}

export function sorted(map: ClusterMap, rows: readonly number[], by: SortBy, resource: Resource): number[] {
  const rank = rankOf(map.names);
  const name = (a: number, b: number) => (rank[a] ?? 0) - (rank[b] ?? 0);
  const compare: Record<SortBy, (a: number, b: number) => number> = {
    name,
    fullest: (a, b) => map.fill(resource, b) - map.fill(resource, a) || name(a, b),
    emptiest: (a, b) => map.fill(resource, a) - map.fill(resource, b) || name(a, b),
    pods: (a, b) => map.asked('pods', b) - map.asked('pods', a) || name(a, b),
  };
  return [...rows].sort(compare[by]);
}

export function groupsOf(map: ClusterMap, rows: readonly number[], label: string): Group[] {
  if (label === '') return [{ name: 'all nodes', rows: [...rows] }];
  const groups = new Map<string, number[]>();
  for (const row of rows) {
    const value = map.label(label, row) || 'without';
    const group = groups.get(value);
    if (group) group.push(row);
    else groups.set(value, [row]);
  }
  return [...groups]
    .map(([name, of]) => ({ name, rows: of }))
    .sort((a, b) => Number(a.name === 'without') - Number(b.name === 'without') || natural.compare(a.name, b.name));
}

/** "topology.kubernetes.io/zone" is "zone". */
export function shortLabel(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

/** How many nodes are so full, in ten bins. */
export function histogram(map: ClusterMap, rows: readonly number[], resource: Resource): number[] {
  const bins = Array.from({ length: 10 }, () => 0);
  for (const row of rows) {
    const bin = Math.min(9, Math.floor(map.fill(resource, row) * 10));
    bins[bin] = (bins[bin] ?? 0) + 1;
  }
  return bins;
}
