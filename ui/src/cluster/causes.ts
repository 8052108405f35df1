// SPDX-License-Identifier: Apache-2.0
// Who waits, by what it would take: the strip above the map.
import type { QueueGroup, QueuePlace } from '../api/types';

export interface Cause {
  name: string;
  pods: number;
  places: { place: QueuePlace; pods: number }[];
}

const byPlugin: Record<string, string> = {
  NodeAffinity: 'Node affinity',
  NodeName: 'Named node',
  NodePorts: 'Port taken',
  NodeUnschedulable: 'Cordoned',
  TaintToleration: 'Taint',
  PodTopologySpread: 'Spread, affinity',
  InterPodAffinity: 'Spread, affinity',
  VolumeBinding: 'Volume elsewhere',
  VolumeZone: 'Volume elsewhere',
  VolumeRestrictions: 'Volume in use',
  NodeVolumeLimits: 'Volume limit',
  DefaultBinder: 'Bind conflict',
  DynamicResources: 'No device',
  DefaultPreemption: 'No victims',
};

export function causeOf(group: QueueGroup): string {
  if (group.place === 'gated') return 'Gated';
  if (group.plugin === '') return 'Being tried';
  if (group.cause.startsWith('Persistentvolumeclaim ')) return 'Claim missing';
  if (group.plugin === 'NodeResourcesFit') {
    if (/gpu/i.test(group.cause)) return 'Too few GPUs';
    if (/memory/i.test(group.cause)) return 'Too little memory';
    if (/too many pods/i.test(group.cause)) return 'Too many pods';
    if (/cpu/i.test(group.cause)) return 'Too little CPU';
    return 'Too few resources';
  }
  return byPlugin[group.plugin] ?? group.plugin;
}

/** The largest first; gated ones and those that are being tried last, for they need nobody. */
export function causesOf(groups: readonly QueueGroup[]): Cause[] {
  const causes = new Map<string, Cause>();
  for (const group of groups) {
    const name = causeOf(group);
    const cause = causes.get(name) ?? { name, pods: 0, places: [] };
    causes.set(name, cause);
    cause.pods += group.count;
    const place = cause.places.find((one) => one.place === group.place);
    if (place) place.pods += group.count;
    else cause.places.push({ place: group.place, pods: group.count });
  }
  const last = (cause: Cause) => (cause.name === 'Being tried' ? 2 : cause.name === 'Gated' ? 1 : 0);
  return [...causes.values()].sort((a, b) => last(a) - last(b) || b.pods - a.pods);
}
