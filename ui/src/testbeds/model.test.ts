// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { JobWire, SchedulingWire, TestbedWire, TimelineWire } from '../api/external_types';
import { bedOf, bedsInOrder, quantity, sizeOf, slotNames } from './beds';
import { dryText, starts } from './dryrun';
import { nothing, type Draft } from './draft';
import { firstLane, following, lanesOf, spansOf, ticks, zoomed, MINUTE } from './spans';
import { atWork, chipLines, jobsInOrder, jobState, keysIn, meanRun, notices, shorter, spoken } from './work';

const now = Date.parse('2026-01-05T14:22:00Z');
const at = (minutes: number) => new Date(now + minutes * MINUTE).toISOString();
const ref = (name: string) => ({ name, namespace: 'd' });

function slot(position: number, nodeName: string, onNode: number, state: 'FREE' | 'RESERVED' | 'OCCUPIED' | 'ERROR', more = {}) {
  return { position, nodeName, slotPositionOnNode: onNode, state, reservedFor: '', podName: '', ...more };
}
function testbed(over: Partial<TestbedWire> = {}): TestbedWire {
  return {
    name: 'tb', namespace: 'd', state: 'RUNNING', numberOfNodes: 2, numberOfSlotsPerNode: 2, resourcesPerSlot: { cpu: '750m', memory: '6Gi' },
    slotsByNode: { a: [slot(2, 'a', 1, 'ERROR', { problem: 'no room: …' }), slot(0, 'a', 0, 'OCCUPIED', { podName: 'x-exec-1' })], b: [slot(1, 'b', 0, 'RESERVED', { reservedFor: 'late' }), slot(3, 'b', 1, 'FREE')] },
    ...over,
  };
}
function job(name: string, state: string, over: Partial<JobWire> = {}): JobWire {
  return { name, namespace: 'd', state, scheduledEvents: [], ...over };
}

describe('beds', () => {
  it('shows whose a slot is, by the run that is open', () => {
    const bed = bedOf(testbed(), [job('early', 'Running', { run: { run: 1, testbed: 'tb', slotIds: [0] } }), job('other', 'Running', { run: { run: 1, testbed: 'elsewhere', slotIds: [0] } }), job('soon', 'Submitted', { run: { run: 1, testbed: 'd/tb', slotIds: [3] } })]);
    expect(bed.nodes.map((node) => [node.name, node.slots.map((one) => one.position)])).toEqual([['a', [0, 2]], ['b', [1, 3]]]);
    expect(bed.slots.map((one) => [one.state, one.job, one.word])).toEqual([['occupied', 'd/early', 'early'], ['reserved', 'd/late', 'late'], ['error', '', 'no room'], ['free', '', 'free']]);
    expect([bed.counts.free, bed.size, bed.each]).toEqual([1, 4, '0.75 cores, 6 GiB']);
  });
  it('keeps the largest first, whatever happens in them', () => {
    const beds = ['b', 'a'].map((name) => bedOf(testbed({ name }), [])).concat(bedOf(testbed({ name: 'c', size: 90 }), []));
    expect(bedsInOrder(beds).map((bed) => bed.name)).toEqual(['c', 'a', 'b']);
  });
  it('counts what is not listed', () => {
    const bed = bedOf(testbed({ slotsByNode: {}, slotsOmitted: true, slotCounts: { free: 7, occupied: 1993 } }), []);
    expect([bed.size, bed.counts.occupied, bed.counts.error]).toEqual([2000, 1993, 0]);
    const listed = bedOf(testbed({ slotsByNode: {}, slotsOmitted: true }), [], { slots: [{ ...slot(0, 'a', 0, 'OCCUPIED'), job: ref('x') }, slot(1, 'a', 1, 'FREE')] });
    expect(listed.nodes[0]?.slots.map((one) => one.word)).toEqual(['x', 'free']);
  });
  it('reads quantities', () => {
    expect([quantity('750m'), quantity('6Gi'), quantity(2), quantity('1.5'), quantity('1e3')]).toEqual([0.75, 6 * 2 ** 30, 2, 1.5, 1000]);
    expect([sizeOf({ cpu: '1', memory: '896Mi' }), sizeOf(undefined)]).toEqual(['1 core, 896 MiB', '']);
    expect([slotNames([6, 4, 5]), slotNames([3])]).toEqual(['slots 4, 5 and 6', 'slot 3']);
  });
  it('asks only where something is wrong, once a reason', () => {
    const wrong = { type: 'Ready', status: 'False' as const, reason: 'NoRoom', message: 'n1', remedy: 'Make room.' };
    const bed = bedOf(testbed({ conditions: [wrong, { ...wrong, type: 'Other' }, { type: 'Conflicted', status: 'False', reason: 'NoConflict', message: '' }] }), []);
    expect(bed.troubles).toEqual([wrong]);
  });
});

const scheduling: SchedulingWire = {
  name: 's', namespace: 'd', state: 'Submitting', testBed: 'tb', slots: null, queue: ['x', 'y', 'x', 'z'],
  jobStatus: [{ name: 'x', state: 'Running' }, { name: 'y', state: 'InQueue' }],
  conditions: [{ type: 'Acquired', status: 'False', reason: 'JobHeld', message: 'BatchJob d/y is held by d/other', remedy: 'Wait.' }, { type: 'Progressing', status: 'False', reason: 'JobHeld', message: 'BatchJob d/y is held by d/other', remedy: 'Wait.' }],
};

describe('work', () => {
  it('groups the jobs of a scheduling by how far they are', () => {
    expect(chipLines(scheduling).map((line) => [line.title, line.chips.map((chip) => [chip.job, chip.wide])])).toEqual([['Acquiring', [['z', 1]]], ['In queue', [['y', 1]]], ['Scheduled', [['x', 2]]]]);
    expect([atWork(scheduling), atWork({ ...scheduling, state: 'Completed' })]).toEqual([true, false]);
  });
  it('says once what it waits for', () => {
    expect(notices(scheduling)).toEqual([{ bad: false, text: 'BatchJob d/y is held by d/other', remedy: 'Wait.' }]);
    const runs = { type: 'Progressing', status: 'True' as const, reason: 'Running', message: 'd/y needs 2 slots, 1 of them are not free' };
    expect(notices({ ...scheduling, conditions: [runs, { ...runs, type: 'Acquired', reason: 'JobNotFound', message: 'none', remedy: 'Make it.' }, { ...runs, type: 'Complete', message: '' }] })).toEqual([{ bad: false, text: runs.message, remedy: '' }, { bad: true, text: 'none', remedy: 'Make it.' }]);
    expect(notices({ ...scheduling, state: 'Completed' })).toEqual([]);
    expect(shorter('BatchJob d/y is held by d/other', 'd')).toBe('y is held by other');
    expect(spoken('y is held by other-1', ['y', 'other', 'other-1'])).toEqual([{ name: 'y' }, { text: ' is held by ' }, { name: 'other-1' }]);
    expect(spoken('why', ['y'])).toEqual([{ text: 'why' }]);
    expect(keysIn('BatchJob d/y.2 is held by d/other-42.')).toEqual(['d/y.2', 'd/other-42']);
  });
  it('puts jobs at work before those that wait', () => {
    expect(jobsInOrder([job('b', 'Ready'), job('c', 'InQueue'), job('d', 'Running'), job('a', 'Ready')]).map((one) => one.name)).toEqual(['d', 'c', 'a', 'b']);
    expect(jobState(job('x', 'Running', { run: { run: 1, slotIds: [1, 2] } })).text).toBe('running, 2 slots');
  });
  it('takes the mean of what succeeded', () => {
    const run = (minutes: number, successful: boolean) => ({ start: at(-60), stop: at(-60 + minutes), successful });
    expect(meanRun(job('x', 'Ready', { scheduledEvents: [run(10, true), run(20, true), run(90, false)] }))).toBe(15 * MINUTE);
    expect(meanRun(job('x', 'Ready'))).toBeNaN();
  });
});

const whose = (name: string, draft: boolean) => ({ job: ref(name), scheduling: ref(draft ? 'draft' : 's'), draft });
const plan = (name: string, draft: boolean, slots: number[], begin: number, finish: number | null, after: string[] = []) => ({ ...whose(name, draft), slots, begin: at(begin), finish: finish === null ? null : at(finish), openEnd: finish === null, samples: 3, after: after.map(ref), waits: null });
function timeline(over: Partial<TimelineWire> = {}): TimelineWire {
  return { now: at(0), order: 'certain', orderShare: 1, running: [], planned: [], waiting: [], assumes: [], ...over };
}
const draft: Draft = { ...nothing, testbed: 'd/tb', entries: [{ job: 'x', wide: 2, ids: [0, 1] }, { job: 'y', wide: 1, ids: [0] }] };
const text = (told: ReturnType<typeof dryText>) => told.head + told.rest.map((part) => ('name' in part ? part.name : part.text)).join('');

describe('dry run', () => {
  it('says when it starts and who waits for what', () => {
    const dry = timeline({ planned: [plan('x', true, [0, 1], 14, 30), plan('y', true, [0], 30, 46, ['x']), plan('z', false, [2], 5, 9)] });
    expect(text(dryText(dry, draft, timeline({ planned: [plan('z', false, [2], 5, 9)] }), 'd'))).toMatch(/^Dry run: starts at \d\d:36, ends about \d\d:08\. x waits 14 min for 2 free slots; y waits for x; s is not delayed\. Shown below as draft\.$/);
    expect(text(dryText(dry, { ...draft, mode: 'slots' }, undefined, 'd'))).toContain('x waits 14 min for slots 0 and 1');
    expect(starts(dry).get('y')).toBe(now + 30 * MINUTE);
  });
  it('counts seconds where it is a matter of seconds', () => {
    const dry = timeline({ planned: [plan('x', true, [0, 1], 0.95, 1.5)] });
    expect(text(dryText(dry, draft, undefined, 'd'))).toMatch(/^Dry run: starts in 57 s, ends about \d\d:23:30\. x waits 57 s for 2 free slots\./);
  });
  it('says who is delayed, and what has no end', () => {
    const dry = timeline({ planned: [plan('x', true, [0, 1], 0, null), plan('z', false, [2], 5, 29)] });
    const told = text(dryText(dry, draft, timeline({ planned: [plan('z', false, [2], 5, 9)] }), 'd'));
    expect(told).toContain('starts now, its end is not known: x has not run before.');
    expect(told).toContain('s ends 20 min later');
  });
  it('says why it does not start, and what to do', () => {
    const dry = timeline({ waiting: [{ ...whose('x', true), reason: 'InvalidSlot', message: 'the Testbed has no slot 9', remedy: 'Use others.' }] });
    expect(dryText(dry, draft, undefined, 'd')).toEqual({ head: 'Dry run: it does not start as things are.', rest: [{ text: ' the Testbed has no slot 9.' }], remedies: ['Use others.'], bad: true });
  });
});

describe('timeline', () => {
  const bed = bedOf(testbed(), []);
  it('draws what ran, runs and is to come into the lanes of its slots', () => {
    const done = job('old', 'Ready', { scheduledEvents: [{ run: 1, start: at(-30), stop: at(-20), successful: true, testbed: 'tb', slotIds: [0, 1] }, { run: 2, start: at(-10), stop: at(-5), successful: false, testbed: 'd/tb', slotIds: [1] }] });
    const open = job('x', 'Running', { run: { run: 1, start: at(-4), testbed: 'tb', slotIds: [3] } });
    const told = timeline({ running: [{ ...whose('told', false), slots: [0], since: at(-3), finish: at(6), overdue: false }], planned: [plan('y', true, [0], 6, null)] });
    const { lanes, height } = lanesOf([bed], spansOf({ jobs: [done, open], foreseen: new Map([['d/tb', told]]), now }), now);
    expect(lanes.map((lane) => [lane.node, lane.slot, lane.named, lane.y])).toEqual([['a', 0, true, 0], ['a', 2, false, 16], ['b', 1, true, 35], ['b', 3, false, 51]]);
    expect(lanes.map((lane) => lane.spans.map((span) => [span.kind, span.job]))).toEqual([[['running', 'told'], ['draft', 'y'], ['done', 'old']], [['broken', 'no room: …']], [['done', 'old'], ['failed', 'old']], [['running', 'x']]]);
    expect(lanes[0]?.spans[1]?.to).toBe(Number.POSITIVE_INFINITY);
    expect(height).toBe(67);
  });
  it('finds the lane at a height, also among very many', () => {
    const { lanes } = lanesOf([bed, { ...bed, key: 'd/other' }], new Map(), now);
    expect(lanes.map((lane) => firstLane(lanes, lane.y + 3))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(firstLane(lanes, 1e6)).toBe(lanes.length);
  });
  it('keeps the moment under the pointer while it zooms', () => {
    const view = following(now, 90 * MINUTE);
    const nearer = zoomed(view, now, 0.5);
    expect((now - nearer.start) / nearer.window).toBeCloseTo((now - view.start) / view.window);
    expect(zoomed(view, now, 1e-9).window).toBe(2 * MINUTE);
    expect(ticks(view, 1160, 90).map((moment) => (moment / MINUTE) % 10)).toEqual(Array.from({ length: 9 }, () => 0));
  });
});
