// SPDX-License-Identifier: Apache-2.0
// What src/gateway/observe recorded has the shape that the page is written against. The checks are
// made by the type checker; at run time only that the columns are of one length.
import { expect, it } from 'vitest';
import explanation from '../../fixtures/explanation.json';
import type { Explanation } from './types';

/** JSON modules know strings, not which ones. */
type Loose<T> = T extends string ? string : T extends number | boolean ? T : T extends readonly (infer E)[] ? Loose<E>[] : T extends object ? { [K in keyof T]: Loose<T[K]> } : T;

const recorded: Loose<Omit<Explanation, 'changes'>> = explanation;

it('has one value a node in every column', () => {
  const nodes = recorded.names.length;
  expect(nodes).toBeGreaterThan(0);
  for (const column of [recorded.zones, recorded.first, ...recorded.filters.map((one) => one.verdict), ...recorded.free.map((one) => one.amount)])
    expect(column).toHaveLength(nodes);
  expect(recorded.totals).toHaveLength(recorded.feasible.length);
});
it('tried every change that it names', () => {
  expect(explanation.changes.length).toBeGreaterThan(0);
  for (const change of explanation.changes) expect(change.fitsOn).toBeGreaterThan(0);
});
