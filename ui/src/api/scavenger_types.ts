// SPDX-License-Identifier: Apache-2.0
// Scavenger jobs as /api/v1/scavengers serves them (src/gateway/scavenge/wire.h). Times are ms since
// 1970, cores are thousandths, costs thousandths of a core-second.

/** What a job's cost is worked out from, at any moment (src/policy/scavenge/cost.h). */
export interface CostBasis {
  since: number;
  /** Of a core-second, a second. */
  rate: number;
  /** In ms. */
  window: number;
  steps: number;
  /** Its checkpoints are measured. */
  reported: boolean;
  restart: number;
  /** Of its checkpoints, in ms, as it says; absent: it does not. */
  interval?: number;
}

/** A stretch of time in which the basis stayed. */
export interface TrackPiece {
  from: number;
  /** Absent: until now. */
  to?: number;
  basis: CostBasis;
  /** It ended by an interruption that lost so much. */
  lost?: number;
}

export type ScavengerState = 'running' | 'starting' | 'reclaiming' | 'waiting';
export type WaitReason = 'Turn' | 'Threshold' | 'NoFit' | 'OverQuota' | 'Backoff' | 'Reserved';

export interface Waits {
  /** 1: next. */
  turn: number;
  reason: WaitReason;
  /** A sentence. */
  message: string;
  /** Cores that are missing, where that is what it waits for. */
  short?: number;
  /** Other than cpu, where that is what is missing. */
  resource?: string;
  until?: number;
}

export interface ScavengerWire {
  namespace: string;
  name: string;
  uid: string;
  /** Where it is not berth.dev. */
  group?: string;
  state: ScavengerState;
  /** Of all members. */
  cores: number;
  members: number;
  nodes: number;
  /** Of the run; of one that waits, since when. */
  since: number;
  interrupted: number;
  cost?: CostBasis;
  track: TrackPiece[];
  waits?: Waits;
  /** In core-seconds. */
  lost: number;
  useful: number;
  checkpoint?: { last?: number; count: number; advised?: string };
  /** It was asked for a checkpoint and ends then. */
  deadline?: number;
}

export interface ScavengerSummary {
  time: number;
  /** That counts, in percent. */
  threshold: number;
  capacity: number;
  ordinary: number;
  scavengers: number;
  /** Under the threshold; 0: none. */
  free: number;
  /** Moves when the history has something new. */
  history: number;
}

/** One value a step; null: nobody looked. The last step is under way. */
export interface ScavengerHistory {
  from: number;
  step: number;
  to: number;
  /** Shares of the capacity, 0 to 1. */
  ordinary: (number | null)[];
  scavengers: (number | null)[];
  /** Core-hours in the step. */
  reclaimed: number[];
  lost: number[];
  /** Where something was lost, by cause. */
  causes: { step: number; reason: string; jobs: number; lost: number }[];
  totals: { reclaimed: number; lost: number; interrupted: number; jobs: number; givenBack?: { p50: number; p99: number; times: number } };
}

export interface Candidate {
  namespace: string;
  name: string;
  node: string;
  cores: number;
  checkpoint?: number;
  cost: number;
  chosen: boolean;
  /** An alternative of several jobs: how many go with it. */
  others?: number;
}

/** Why somebody had to go. */
export interface VictimWire {
  id: number;
  time: number;
  door: string;
  /** The pod that needs the room, and where; none: the cluster is too full. */
  for?: { namespace: string; name: string };
  node?: string;
  /** "cpu: 9 of 10 in use, 7 are meant to be". */
  because?: string;
  cost: number;
  /** False: the search was cut short. */
  exact: boolean;
  /** Who went, then what else could have been done, the cheapest first. */
  candidates: Candidate[];
  /** On which somebody could have gone. */
  nodes: number;
  /** What the order of a stock scheduler would have lost. */
  stockCost?: number;
}

export interface ScavengerEvents {
  summary: ScavengerSummary;
  /** All there are, after which changes come. */
  jobs: ScavengerWire[];
  changed: { put: ScavengerWire[]; gone: string[] };
  victims: VictimWire[];
}
