// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { match } from './find';

it('prefers names that begin with the words, and shorter ones', () => {
  const names = ['my-web', 'web-frontend-1', 'web', 'other'];
  const ranked = names.filter((name) => match(name, 'WEB') > 0).sort((a, b) => match(b, 'web') - match(a, 'web'));
  expect(ranked).toEqual(['web', 'web-frontend-1', 'my-web']);
});
