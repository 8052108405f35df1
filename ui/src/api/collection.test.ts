// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { Collection } from './collection';

const one = (name: string, note = '') => ({ namespace: 'a', name, note });

it('keeps the newest of what it is told, in order of names', () => {
  const all = new Collection<ReturnType<typeof one>>();
  all.put(5, one('y'));
  all.put(7, one('x', 'new'));
  expect(all.put(6, one('x', 'old'))).toBe(false);
  expect(all.all().map((each) => each.name + each.note)).toEqual(['xnew', 'y']);
  all.remove(one('x'));
  expect(all.get('a/x')).toBeUndefined();
});
it('forgets what a stream that began anew does not tell again', () => {
  const all = new Collection<ReturnType<typeof one>>();
  all.put(5, one('x'));
  all.put(5, one('y'));
  all.restart();
  all.put(5, one('y', 'again'));
  expect(all.size).toBe(2);
  all.settled();
  expect(all.all().map((each) => each.name + each.note)).toEqual(['yagain']);
});
