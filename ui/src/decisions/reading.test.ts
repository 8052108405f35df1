// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { Explanation, Part } from '../api/types';
import { closest, compare, funnelOf, reasonText, turningPoint, verdict } from './reading';

function explained(over: Partial<Explanation> = {}): Explanation {
  return {
    pod: { namespace: 'batch', name: 'etl', uid: 'u', phase: 'pending', node: '', priority: 0, scheduler: 's', owner: '', asks: [{ resource: 'cpu', amount: 12_000 }] },
    time: 0, outcome: 'nowhere', chosen: '', message: '', names: ['a', 'b', 'c', 'd'], zones: ['', '', '', ''],
    free: [{ resource: 'cpu', amount: [10_600, 2000, 14_000, 8000], of: [16_000, 16_000, 16_000, 16_000] }],
    filters: [{ plugin: 'TaintToleration', verdict: [0, 0, 1, 0] }, { plugin: 'NodeResourcesFit', verdict: [2, 2, 0, 2] }, { plugin: 'PodTopologySpread', verdict: [0, 3, 0, 0] }],
    first: [1, 1, 0, 1], reasons: ['node(s) had untolerated taint(s)', 'Insufficient cpu', "node(s) didn't match pod topology spread constraints"],
    feasible: [], totals: [], scores: [], changes: [], attempts: [], ...over,
  };
}
const text = (parts: Part[]) => parts.map((part) => ('text' in part ? part.text : part.name)).join('');
const scored = (over: Partial<Explanation> = {}) =>
  explained({
    outcome: 'fits', chosen: 'a', feasible: [0, 1], first: [-1, -1, 0, 1], totals: [861, 830],
    scores: [{ plugin: 'ImageLocality', weight: 1, points: [71, 25] }, { plugin: 'NodeResourcesFit', weight: 1, points: [38, 44] }, { plugin: 'PodTopologySpread', weight: 2, points: [752, 761] }], ...over,
  });

describe('an explanation', () => {
  it('counts a node at the filter that refused it first', () => {
    expect(funnelOf(explained())).toEqual([{ plugin: 'TaintToleration', nodes: 1, says: 'taints' }, { plugin: 'NodeResourcesFit', nodes: 3, says: 'insufficient cpu' }]);
  });
  it('says what most nodes lack and which comes closest', () => {
    expect(text(verdict(explained()))).toBe('No node fits: 3 of 4 lack CPU; a comes closest, 1.4 cores short.');
  });
  it('puts nodes first that one filter alone refuses for room', () => {
    expect(closest(explained())).toEqual([0, 3, 2, 1]);
  });
  it('gives figures where it is about room, and what else says no', () => {
    expect(reasonText(explained(), 0)).toBe('Insufficient cpu: asks 12, free 10.6');
    expect(reasonText(explained(), 1)).toBe('Insufficient cpu: asks 12, free 2; also spread');
    expect(reasonText(explained(), 2)).toBe('Untolerated taint(s)');
  });
  it('says who won, by how much and mostly why', () => {
    const placed = scored();
    placed.pod.node = 'a';
    expect(text(verdict(placed))).toBe('2 of 4 nodes fit; a won by 31 points, mostly image locality.');
    expect(text(verdict(scored({ totals: [830, 830] })))).toBe('2 of 4 nodes fit; a would win a draw of equals.');
  });
  it('says where the pod would go now, when that is not where it is', () => {
    const moved = scored({ chosen: 'a' });
    moved.pod.node = 'b';
    expect(text(verdict(moved))).toBe('2 of 4 nodes fit; a would win now, b is 31 points behind.');
    const gone = scored({ chosen: 'a' });
    gone.pod.node = 'd';
    expect(text(verdict(gone))).toBe('2 of 4 nodes fit; a would win now, and d does not fit any more.');
  });
  it('finds the weight at which the second wins', () => {
    expect(compare(scored(), 0, 1).map((one) => one.points)).toEqual([46, -6, -9]);
    const turn = turningPoint(scored(), 0, 1);
    expect([turn?.plugin, turn?.weight.toFixed(2)]).toEqual(['ImageLocality', '0.33']);
    expect(turningPoint(scored({ totals: [900, 830] }), 0, 1)).toBeNull();
  });
});
