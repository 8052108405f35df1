// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { takeToken } from './token';

it('takes the token out of the address and leaves the rest', () => {
  expect(takeToken('#token=a%2Fb')).toEqual({ token: 'a/b', rest: '' });
  expect(takeToken('#/queue?state=gated&token=t')).toEqual({ token: 't', rest: '#/queue?state=gated' });
  expect(takeToken('#/queue')).toEqual({ token: null, rest: '#/queue' });
});
