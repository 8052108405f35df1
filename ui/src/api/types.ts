// SPDX-License-Identifier: Apache-2.0
// What the gateway serves under /api/v1, as src/gateway/observe writes it. fixtures/ holds what its
// tests recorded; types.test.ts holds these types against that.
// Times are milliseconds since 1970, cpu is in millicores, memory and disk in MiB.

export const NOT_READY = 1;
export const PRESSURE = 2;
export const CORDONED = 4;

/** One value a node; the order of nodes is that of `names`. */
export interface MapColumns {
  cpu: number[];
  cpuAsked: number[];
  memory: number[];
  memoryAsked: number[];
  pods: number[];
  podsThere: number[];
  gpu: number[];
  gpuAsked: number[];
  state: number[];
  /** Measured; absent where nothing measures, -1 for a node that was not. */
  cpuUsed?: number[];
  memoryUsed?: number[];
}

export interface LabelColumn {
  values: string[];
  /** Index into values; -1: the node has no such label. */
  of: number[];
}

export interface MapSnapshot {
  layout: number;
  names: string[];
  labels: Record<string, LabelColumn>;
  columns: MapColumns;
}

/** What changed since: values of those rows alone. */
export interface MapRows {
  layout: number;
  rows: number[];
  columns: MapColumns;
}

export type QueuePlace = 'active' | 'backoff' | 'unschedulable' | 'gated';

export interface QueueCounts {
  active: number;
  backoff: number;
  unschedulable: number;
  gated: number;
}

/** Pods of one owner, in one place, for one cause. */
export interface QueueGroup {
  place: QueuePlace;
  namespace: string;
  /** The pod's name where it is alone, else its owner's. */
  name: string;
  /** Of the pod that has waited longest. */
  pod: string;
  count: number;
  priority: number;
  scheduler: string;
  cause: string;
  plugin: string;
  waitsFor: string;
  attempts: number;
  since: number;
  /** When it is tried at the latest; absent: nobody knows. */
  next?: number;
  /** How long its pause is, in ms. */
  pause?: number;
}

export interface QueueMove {
  time: number;
  event: string;
  woken: number;
  waiting: number;
  pod?: string;
  outcome?: string;
}

export interface QueueHistory {
  /** Milliseconds between two samples; the last is now. */
  step: number;
  active: number[];
  backoff: number[];
  unschedulable: number[];
  gated: number[];
  /** Pods placed within each step. */
  placed: number[];
}

export interface QueueState {
  counts: QueueCounts;
  oldest?: number;
  groups: QueueGroup[];
  /** Groups that were left out because there are too many. */
  more: number;
  moves: QueueMove[];
  history: QueueHistory;
}

export type Outcome = 'placed' | 'unschedulable' | 'error';

export interface RejectedBy {
  plugin: string;
  nodes: number;
}

export interface StageTime {
  stage: string;
  us: number;
}

export interface DecisionRecord {
  id: number;
  time: number;
  namespace: string;
  name: string;
  uid: string;
  outcome: Outcome;
  node: string;
  us: number;
  attempt: number;
  nodes: number;
  fit: number;
  rejected: RejectedBy[];
  message: string;
  stages: StageTime[];
}

export interface Beat {
  time: number;
  cluster: string;
  version: string;
}

/** One message of the stream: the event's name tells which. */
export interface StreamEvents {
  beat: Beat;
  map: MapSnapshot;
  rows: MapRows;
  queue: QueueState;
  decisions: DecisionRecord[];
}

export interface PodOnNode {
  namespace: string;
  name: string;
  uid: string;
  cpu: number;
  memory: number;
  cpuUsed?: number;
  memoryUsed?: number;
  priority: number;
  since?: number;
  owner: string;
  scavenger: boolean;
}

export interface NodeDetail {
  name: string;
  ready: boolean;
  cordoned: boolean;
  pressure: string[];
  labels: Record<string, string>;
  taints: string[];
  kubelet: string;
  created?: number;
  cpu: number;
  memory: number;
  podsAllowed: number;
  pods: PodOnNode[];
}

export interface Asked {
  resource: string;
  /** "cpu" in millicores, "memory" and "ephemeral-storage" in MiB, others as they are. */
  amount: number;
}

export interface ExplainedPod {
  namespace: string;
  name: string;
  uid: string;
  phase: 'pending' | 'gated' | 'placed' | 'ended';
  node: string;
  since?: number;
  priority: number;
  scheduler: string;
  owner: string;
  asks: Asked[];
}

/** What a plugin said about each node; 0 is yes, else an index into reasons + 1. */
export interface FilterColumn {
  plugin: string;
  verdict: number[];
}

export interface ScoreColumn {
  plugin: string;
  weight: number;
  /** Weighted, in the order of `feasible`. */
  points: number[];
}

export type Part = { text: string } | { name: string };

export interface Change {
  kind: string;
  says: Part[];
  /** Nodes where it then fits, the first few. */
  fits: string[];
  fitsOn: number;
  cost: string;
  /** What to do: a patch for the pod's template, or a command. */
  patch?: string;
  command?: string;
}

export interface Explanation {
  pod: ExplainedPod;
  time: number;
  outcome: 'fits' | 'nowhere' | 'refused' | 'failed';
  chosen: string;
  message: string;
  names: string[];
  zones: string[];
  /** By resource the pod asks for: what each node has left. */
  free: { resource: string; amount: number[]; of: number[] }[];
  filters: FilterColumn[];
  /** By row: the index of the filter that said no first, -1 where none did. */
  first: number[];
  reasons: string[];
  feasible: number[];
  totals: number[];
  scores: ScoreColumn[];
  changes: Change[];
  attempts: DecisionRecord[];
}

export interface Found {
  kind: 'node' | 'pod' | 'job' | 'scheduling' | 'testbed';
  namespace: string;
  name: string;
  note: string;
}

/** An error of the gateway, in Kubernetes' form. */
export interface Refusal {
  message: string;
  reason?: string;
  code?: number;
}
