// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { ClusterMap } from './cluster_map';
import type { MapColumns, MapSnapshot } from './types';

function columns(n: number, over: Partial<MapColumns> = {}): MapColumns {
  const all = (value: number) => Array.from({ length: n }, () => value);
  return {
    cpu: all(4000), cpuAsked: all(1000), memory: all(8192), memoryAsked: all(1024), pods: all(110),
    podsThere: all(3), gpu: all(0), gpuAsked: all(0), state: all(0), ...over,
  };
}
function snapshot(over: Partial<MapColumns> = {}): MapSnapshot {
  return { layout: 1, names: ['a', 'b', 'c'], labels: { zone: { values: ['x', 'y'], of: [0, 1, -1] } }, columns: columns(3, over) };
}

describe('ClusterMap', () => {
  it('changes the rows that it is told, and no other', () => {
    const map = new ClusterMap();
    map.set(snapshot());
    expect(map.change({ layout: 1, rows: [1], columns: columns(1, { cpuAsked: [3000], state: [5] }) })).toBe(true);
    expect([0, 1, 2].map((row) => map.fill('cpu', row))).toEqual([0.25, 0.75, 0.25]);
    expect([map.notReady(1), map.cordoned(1), map.pressure(1), map.notReady(0)]).toEqual([true, true, false, false]);
  });
  it('refuses rows of another layout', () => {
    const map = new ClusterMap();
    map.set(snapshot());
    expect(map.change({ layout: 2, rows: [0], columns: columns(1, { cpuAsked: [4000] }) })).toBe(false);
    expect(map.fill('cpu', 0)).toBe(0.25);
  });
  it('tells nothing measured from measured nothing', () => {
    const map = new ClusterMap();
    map.set(snapshot());
    expect([map.measured, map.fillUsed('cpu', 0), map.total('cpu').used]).toEqual([false, -1, -1]);
    map.set(snapshot({ cpuUsed: [0, 2000, -1] }));
    expect([0, 1, 2].map((row) => map.fillUsed('cpu', row))).toEqual([0, 0.5, -1]);
    expect(map.total('cpu')).toEqual({ has: 12000, asked: 3000, used: 2000 });
    expect(map.total('cpu', [0]).has).toBe(4000);
  });
  it('reads labels from their dictionary', () => {
    const map = new ClusterMap();
    map.set(snapshot());
    expect([0, 1, 2].map((row) => map.label('zone', row))).toEqual(['x', 'y', '']);
    expect([map.offers('cpu'), map.offers('gpu')]).toEqual([true, false]);
  });
});
