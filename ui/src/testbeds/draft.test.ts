// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { added, faults, moved, nextName, nothing, removed, restored, toggled, wanted, wider, yaml, type Draft } from './draft';

const begin: Draft = { ...nothing, name: 'evening-7', testbed: 'lab/spark' };
const free = () => '' as const;

describe('draft', () => {
  it('becomes a queue in which a job stands once a slot', () => {
    let draft = added(added(begin, 'a'), 'b');
    draft = wider(added(draft, 'a'), 1, 2);
    expect(wanted(draft)).toEqual({ name: 'evening-7', testBed: 'spark', queue: ['a', 'a', 'b', 'b', 'b'] });
    expect(wanted(moved(draft, 1, -1)).queue).toEqual(['b', 'b', 'b', 'a', 'a']);
    expect(moved(draft, 0, -1)).toBe(draft);
    expect(wanted(wider(removed(draft, 1), 0, -5)).queue).toEqual(['a']);
  });
  it('becomes slots by job, in order', () => {
    let draft = added({ ...begin, mode: 'slots', strict: false }, 'a');
    expect(added(draft, 'a')).toBe(draft);
    draft = toggled(toggled(toggled(draft, 0, 4), 0, 1), 0, 7);
    expect(wanted(toggled(draft, 0, 4)).slots).toEqual({ mode: 'relaxed', jobs: [{ name: 'a', slots: [1, 7] }] });
  });
  it('names what stands in its way', () => {
    expect(faults(begin, free)).toEqual({ name: '', entries: '' });
    expect(faults({ ...begin, name: '' }, free).name).toBe('It needs a name.');
    expect(faults({ ...begin, name: 'Big_One' }, free).name).toContain('Small letters');
    expect(faults(begin, () => 'now').name).toBe('The name is taken by a scheduling at work.');
    expect(faults(begin, () => 'once').name).toContain('of the past');
    expect(faults(added({ ...begin, mode: 'slots' }, 'a'), free).entries).toBe('Choose slots for a.');
  });
  it('counts names on', () => {
    expect(['evening-7', 'n-099', 'plain'].map(nextName)).toEqual(['evening-8', 'n-100', 'plain-2']);
  });
  it('survives a reload, and what is not a draft is none', () => {
    const draft = toggled(added({ ...begin, mode: 'slots' }, 'a'), 0, 3);
    expect(restored(JSON.stringify(draft))).toEqual(draft);
    for (const odd of [null, '', '7', '{"entries":[{}]}', '{"mode":"x"}']) expect(restored(odd)).toEqual(nothing);
  });
  it('is a manifest for kubectl', () => {
    expect(yaml(added(begin, 'a'))).toBe('apiVersion: batchjob.gcr.io/v1alpha1\nkind: Scheduling\nmetadata:\n  name: evening-7\n  namespace: lab\nspec:\n  testbed:\n    name: spark\n    namespace: lab\n  queueBased:\n  - name: a\n    namespace: lab\n');
    expect(yaml(toggled(added({ ...begin, mode: 'slots' }, 'a'), 0, 3))).toContain('  slotBased:\n    mode: strict\n    jobs:\n    - name:\n        name: a\n        namespace: lab\n      slotIds: [3]\n');
  });
});
