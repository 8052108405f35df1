// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { findWork, match } from './find';

it('prefers names that begin with the words, and shorter ones', () => {
  const names = ['my-web', 'web-frontend-1', 'web', 'other'];
  const ranked = names.filter((name) => match(name, 'WEB') > 0).sort((a, b) => match(b, 'web') - match(a, 'web'));
  expect(ranked).toEqual(['web', 'web-frontend-1', 'my-web']);
});

it('finds jobs, schedulings and testbeds, the best first', () => {
  const testbed = { name: 'lab', namespace: 'd', state: '', numberOfNodes: 3, numberOfSlotsPerNode: 2, slotsByNode: {} };
  const job = { name: 'label-all', namespace: 'd', state: 'Running', scheduledEvents: [], run: { run: 1, slotIds: [1, 2] } };
  const scheduling = { name: 'my-lab', namespace: 'd', state: 'Completed', testBed: 'lab', jobStatus: [], queue: [], slots: null };
  const found = findWork({ jobs: [job], schedulings: [scheduling], testbeds: [testbed] }, 'lab', 9);
  expect(found.map((one) => [one.kind, one.name, one.note])).toEqual([['testbed', 'lab', 'testbed on 3 nodes'], ['job', 'label-all', 'job, running in 2 slots'], ['scheduling', 'my-lab', 'scheduling on lab, past']]);
});
