// SPDX-License-Identifier: Apache-2.0
// Testbeds, jobs and schedulings as /external/v1 serves them (src/gateway/dto.h). Times are RFC 3339.

export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  /** What to do about it; absent where nothing is wrong. */
  remedy?: string;
  lastTransitionTime?: string;
}

export type SlotState = 'FREE' | 'RESERVED' | 'OCCUPIED' | 'ERROR';

export interface SlotWire {
  position: number;
  nodeName: string;
  slotPositionOnNode: number;
  state: SlotState;
  class?: string;
  /** A job, a pod or "ghost". */
  reservedFor?: string;
  podName?: string;
  podUId?: string;
  draining?: boolean;
  problem?: string;
}

/** Every slot of a testbed, however many: testbeds/{name}/slots. */
export interface SlotTableWire {
  slots: (SlotWire & { job?: { name: string; namespace: string } })[];
}

interface Common {
  name: string;
  namespace: string;
  resourceVersion?: string;
  created?: string;
  state: string;
  conditions?: Condition[];
  deleting?: boolean;
}

export interface TestbedWire extends Common {
  numberOfNodes: number;
  numberOfSlotsPerNode: number;
  slotsByNode: Record<string, SlotWire[]>;
  /** There are too many to list them. */
  slotsOmitted?: boolean;
  size?: number;
  slotCounts?: { free?: number; reserved?: number; occupied?: number; error?: number };
  resourcesPerSlot?: Record<string, string | number>;
  sharing?: 'Exclusive' | 'Shared';
  nodeProblems?: Record<string, string[]>;
  problems?: string[];
}

export interface RunWire {
  run?: number;
  start?: string;
  stop?: string;
  successful: boolean;
  scheduling?: string;
  testbed?: string;
  slotIds?: number[];
  replication?: number;
}

export interface JobWire extends Common {
  /** What it is to Kubernetes: "SparkApplication", "FlinkDeployment", … */
  kind?: string;
  scheduledEvents: RunWire[];
  activeScheduling?: { name: string; namespace?: string };
  /** The run that is open. */
  run?: { run: number; start?: string; submitted?: string; testbed?: string; slotIds?: number[] };
}

export interface SchedulingWire extends Common {
  testBed: string;
  jobStatus: { name: string; state: string }[];
  queue: string[] | null;
  slots: { mode: string; jobs: { name: string; slots: number[] }[] } | null;
  acquiredTime?: string;
  completionTime?: string;
  problems?: string[];
}

/** What a scheduling is made from. */
export interface WantedScheduling {
  name: string;
  testBed: string;
  queue?: string[];
  slots?: { mode: 'strict' | 'relaxed'; jobs: { name: string; slots: number[] }[] };
}

export interface Ref {
  name: string;
  namespace: string;
}
interface Whose {
  job: Ref | null;
  scheduling: Ref | null;
  draft: boolean;
}
export interface Why {
  reason: string;
  message: string;
  remedy: string;
}

/** What will happen on a testbed, or would with one scheduling more (src/gateway/timeline.h). */
export interface TimelineWire {
  now: string;
  order: 'certain' | 'likely';
  orderShare: number;
  running: (Whose & { slots: number[]; since: string; finish: string | null; overdue: boolean })[];
  planned: (Whose & { slots: number[]; begin: string | null; finish: string | null; openEnd: boolean; samples: number; after: Ref[]; waits: Why | null })[];
  /** What never starts as things are. */
  waiting: (Whose & Why)[];
  /** Sentences. */
  assumes: string[];
}

export type ExternalChange = { action: string; seq: number } & (
  | { kind: 'testbeds'; resource: TestbedWire }
  | { kind: 'jobs'; resource: JobWire }
  | { kind: 'schedulings'; resource: SchedulingWire }
);

export interface ExternalEvents {
  reset: unknown;
  synced: { cursor: string };
  change: ExternalChange;
}
