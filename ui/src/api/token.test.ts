// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { namespaceOf, takeToken } from './token';

it('takes the token out of the address and leaves the rest', () => {
  expect(takeToken('#token=a%2Fb')).toEqual({ token: 'a/b', rest: '' });
  expect(takeToken('#/queue?state=gated&token=t')).toEqual({ token: 't', rest: '#/queue?state=gated' });
  expect(takeToken('#/queue')).toEqual({ token: null, rest: '#/queue' });
});

it("knows a service account's namespace by its token", () => {
  const token = (sub: unknown) => `e30.${btoa(JSON.stringify({ sub }))}.x`;
  expect(namespaceOf(token('system:serviceaccount:team-a:researcher'))).toBe('team-a');
  for (const other of [token('jane'), token(undefined), '0123abcd', '', 'a.{.b']) expect(namespaceOf(other)).toBe('');
});
