// SPDX-License-Identifier: Apache-2.0
// What the page knows of scavenger jobs. Taken in as it comes, shown once a frame.
import { ApiError } from './client';
import { keyOf } from './collection';
import type { ScavengerEvents, ScavengerSummary, ScavengerWire, VictimWire } from './scavenger_types';
import { Stream } from './stream';

const KEPT_VICTIMS = 200;

class Scavengers {
  /** Moves with every frame in which a job changed; read it to be told. */
  version = $state(0);
  synced = $state(false);
  /** Why nothing comes; the next try is under way. */
  problem = $state.raw<ApiError | null>(null);
  summary = $state.raw<ScavengerSummary | null>(null);
  /** Newest first. */
  victims = $state.raw<VictimWire[]>([]);
  readonly jobs = new Map<string, ScavengerWire>();
  private stream: Stream<ScavengerEvents> | undefined;
  private waiting: Array<() => void> = [];
  private frame = 0;

  start(): void {
    this.stream = new Stream<ScavengerEvents>('scavengers/stream', {
      message: (kind, what) => this.later(() => this.apply(kind, what)),
      opened: () => {
        this.problem = null;
      },
      lost: (error) => {
        // What is there stays; the bar tells of a server that is away.
        if (error instanceof ApiError) this.problem = error;
      },
    }, { silence: 40_000 });
    this.stream.start();
  }
  retry(): void {
    this.stream?.retry();
  }

  private later(task: () => void): void {
    this.waiting.push(task);
    if (document.hidden) this.flush();
    else if (this.frame === 0) this.frame = requestAnimationFrame(() => this.flush());
  }
  private flush(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const all = this.waiting;
    this.waiting = [];
    for (const one of all) one();
  }
  private apply<K extends keyof ScavengerEvents>(kind: K, what: ScavengerEvents[K]): void {
    if (kind === 'summary') this.summary = what as ScavengerSummary;
    else if (kind === 'victims') this.victims = newest(what as VictimWire[], this.victims);
    else if (kind === 'jobs') {
      this.jobs.clear();
      for (const one of what as ScavengerWire[]) this.jobs.set(keyOf(one), one);
      this.synced = true;
      ++this.version;
    } else if (kind === 'changed') {
      const change = what as ScavengerEvents['changed'];
      for (const key of change.gone) this.jobs.delete(key);
      for (const one of change.put) this.jobs.set(keyOf(one), one);
      ++this.version;
    }
  }
}

/** Newest first, each once, not too many. */
export function newest(fresh: readonly VictimWire[], known: readonly VictimWire[]): VictimWire[] {
  const all = new Map([...known, ...fresh].map((one) => [`${one.id} ${one.time}`, one]));
  return [...all.values()].sort((a, b) => b.time - a.time || b.id - a.id).slice(0, KEPT_VICTIMS);
}

export const scavengers = new Scavengers();
