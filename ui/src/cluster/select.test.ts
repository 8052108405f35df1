// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { ClusterMap } from '../api/cluster_map';
import { groupsOf, histogram, rowsOf, sorted } from './select';

function five(): ClusterMap {
  const map = new ClusterMap();
  map.set({
    layout: 1,
    names: ['n10', 'n2', 'n1', 'db-1', 'n3'],
    labels: { 'topology.kubernetes.io/zone': { values: ['b', 'a'], of: [0, 1, 1, 0, -1] } },
    columns: {
      cpu: [8000, 8000, 8000, 8000, 8000], cpuAsked: [0, 4000, 7900, 2000, 8000],
      memory: [100, 100, 100, 100, 100], memoryAsked: [0, 0, 0, 0, 0], pods: [10, 10, 10, 10, 10],
      podsThere: [0, 1, 2, 3, 4], gpu: [0, 0, 0, 0, 0], gpuAsked: [0, 0, 0, 0, 0], state: [0, 1, 4, 2, 0],
    },
  });
  return map;
}
const names = (map: ClusterMap, rows: number[]) => rows.map((row) => map.names[row]);

describe('which nodes are shown', () => {
  it.each([
    ['', ['n10', 'n2', 'n1', 'db-1', 'n3']],
    ['free>4', ['n10', 'db-1']],
    ['free>=4', ['n10', 'n2', 'db-1']],
    ['zone=a', ['n2', 'n1']],
    ['zone=a cpu<60', ['n2']],
    ['is:cordoned', ['n1']],
    ['is:notready', ['n2']],
    ['is:nonsense', []],
    ['db', ['db-1']],
  ])('%s', (filter, expected) => {
    const map = five();
    expect(names(map, rowsOf(map, filter))).toEqual(expected);
  });
  it('sorts names as people count', () => {
    const map = five();
    expect(names(map, sorted(map, rowsOf(map, 'n'), 'name', 'cpu'))).toEqual(['n1', 'n2', 'n3', 'n10']);
    expect(names(map, sorted(map, rowsOf(map, ''), 'fullest', 'cpu'))).toEqual(['n3', 'n1', 'n2', 'db-1', 'n10']);
  });
  it('groups by a label, those without it last', () => {
    const map = five();
    const groups = groupsOf(map, rowsOf(map, ''), 'topology.kubernetes.io/zone');
    expect(groups.map((group) => [group.name, names(map, group.rows)])).toEqual([
      ['a', ['n2', 'n1']], ['b', ['n10', 'db-1']], ['without', ['n3']]]);
  });
  it('counts every node once in the histogram, full ones in the last bin', () => {
    const map = five();
    expect(histogram(map, rowsOf(map, ''), 'cpu')).toEqual([1, 0, 1, 0, 0, 1, 0, 0, 0, 2]);
  });
});
