// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { QueueGroup } from '../api/types';
import { eventText, nextTry, passes, paused, sectionsOf } from './rows';

function group(over: Partial<QueueGroup>): QueueGroup {
  return {
    place: 'unschedulable', namespace: 'batch', name: 'etl-1', pod: 'etl-1', count: 1, priority: 0, scheduler: 'default-scheduler',
    cause: 'Insufficient cpu', plugin: 'NodeResourcesFit', waitsFor: '', attempts: 1, since: 100, ...over,
  };
}
const all = { text: '', cause: '', scheduler: '', namespace: '' };

describe('the queue', () => {
  it('lists the active by priority, then age, and the rest by age', () => {
    const groups = [group({ name: 'young', place: 'active', since: 9 }), group({ name: 'old', place: 'active', since: 1 }), group({ name: 'first', place: 'active', priority: 5 }), group({ name: 'b', since: 2 }), group({ name: 'a', since: 3, priority: 9 })];
    const sections = sectionsOf(groups, 'state', all);
    expect(sections.map((one) => [one.key, one.rows.map((row) => row.name)])).toEqual([
      ['active', ['first', 'old', 'young']], ['unschedulable', ['b', 'a']]]);
  });
  it('counts pods and not rows', () => {
    expect(sectionsOf([group({ count: 4 }), group({ name: 'x' })], 'cause', all)[0]?.pods).toBe(5);
  });
  it.each([
    ['plugin:fit', true], ['plugin:volume', false], ['ns:batch insufficient', true], ['state:gated', false], ['etl', true], ['other', false],
  ])('filters by %s', (text, expected) => {
    expect(passes(group({}), { ...all, text })).toBe(expected);
  });
  it('says when the next try is', () => {
    expect(nextTry(group({ place: 'active' }), 0)).toBe('now');
    expect(nextTry(group({ place: 'backoff', next: 3000 }), 0)).toBe('in 3 s');
    expect(nextTry(group({ next: 200_000 }), 0)).toBe('≤ 4 min');
    expect(nextTry(group({ place: 'gated' }), 0)).toBe('–');
    expect(paused(group({ place: 'backoff', next: 2000, pause: 8000 }), 0)).toBe(0.75);
    expect(paused(group({ next: 2000 }), 0)).toBeNull();
  });
  it('says unknown events in words', () => {
    const move = { time: 0, woken: 0, waiting: 0 };
    expect(eventText({ ...move, event: 'NodeAdd' })).toBe('A node came');
    expect(eventText({ ...move, event: 'CsiNodeUpdate' })).toBe('Csi node update');
  });
});
