// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import type { QueueGroup } from '../api/types';
import { causesOf } from './causes';

function group(over: Partial<QueueGroup>): QueueGroup {
  return {
    place: 'unschedulable', namespace: 'd', name: 'p', pod: 'p', count: 1, priority: 0, scheduler: 's', cause: '',
    plugin: '', waitsFor: '', attempts: 1, since: 0, ...over,
  };
}

it('names what it would take, the largest first and the gated last', () => {
  const causes = causesOf([
    group({ place: 'gated', count: 50, plugin: 'SchedulingGates' }),
    group({ place: 'active' }),
    group({ plugin: 'NodeResourcesFit', cause: 'Insufficient cpu on 3 nodes', count: 2 }),
    group({ plugin: 'NodeResourcesFit', cause: 'Insufficient cpu on 9 nodes', place: 'backoff' }),
    group({ plugin: 'NodeResourcesFit', cause: 'Insufficient nvidia.com/gpu', count: 4 }),
    group({ plugin: 'VolumeRestrictions', cause: 'Persistentvolumeclaim "data" not found on 9 nodes' }),
    group({ plugin: 'SomethingOwn' }),
  ]);
  expect(causes.map((one) => [one.name, one.pods])).toEqual([
    ['Too few GPUs', 4], ['Too little CPU', 3], ['Claim missing', 1], ['SomethingOwn', 1], ['Gated', 50], ['Being tried', 1]]);
  expect(causes[1]?.places).toEqual([{ place: 'unschedulable', pods: 2 }, { place: 'backoff', pods: 1 }]);
});
