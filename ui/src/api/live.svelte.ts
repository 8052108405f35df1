// SPDX-License-Identifier: Apache-2.0
// What the page knows right now. Messages are taken in as they come and shown once a frame.
import { ApiError } from './client';
import { ClusterMap } from './cluster_map';
import { Stream } from './stream';
import type { Beat, DecisionRecord, QueueState, StreamEvents } from './types';

const KEPT_DECISIONS = 500;

class Live {
  /** Moves with every frame in which the map changed; read it to be told. */
  mapVersion = $state(0);
  readonly map = new ClusterMap();
  queue = $state.raw<QueueState | null>(null);
  /** Newest first. */
  decisions = $state.raw<DecisionRecord[]>([]);
  beat = $state.raw<Beat | null>(null);
  lastMessage = $state(0);
  now = $state(Date.now());
  lost = $state.raw<{ error: Error; next: number } | null>(null);
  /** This gateway runs beside no scheduler that it could tell of. */
  absent = $state(false);
  /** Server time minus ours. */
  private skew = 0;
  private stream: Stream<StreamEvents> | undefined;
  private frame = 0;
  private pending: Array<() => void> = [];

  get age(): number {
    return this.lastMessage === 0 ? Number.POSITIVE_INFINITY : Math.max(0, this.now - this.lastMessage);
  }
  /** The server's clock: what times in messages are relative to. */
  get serverNow(): number {
    return this.now + this.skew;
  }

  start(): void {
    this.stream = new Stream<StreamEvents>('stream', {
      message: (kind, what) => this.message(kind, what),
      opened: () => {
        this.lost = null;
      },
      lost: (error, retry) => {
        if (error instanceof ApiError && error.code === 404) {
          this.absent = true;
          this.stream?.stop();
          return;
        }
        this.lost = { error, next: Date.now() + retry };
      },
    }, { silence: 12_000 }); // a beat comes every 2 s
    this.stream.start();
    setInterval(() => {
      this.now = Date.now();
    }, 1000);
  }
  retry(): void {
    this.stream?.retry();
  }

  private message<K extends keyof StreamEvents>(kind: K, what: StreamEvents[K]): void {
    this.pending.push(() => this.apply(kind, what));
    // A hidden tab draws no frames; what it missed is shown at once when it comes back.
    if (document.hidden) {
      this.flush();
      return;
    }
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.flush());
  }
  private flush(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const all = this.pending;
    this.pending = [];
    for (const one of all) one();
    this.now = this.lastMessage = Date.now();
    this.lost = null;
  }
  private apply<K extends keyof StreamEvents>(kind: K, what: StreamEvents[K]): void {
    switch (kind) {
      case 'beat':
        this.beat = what as Beat;
        this.skew = this.beat.time - Date.now();
        break;
      case 'map':
        this.map.set(what as StreamEvents['map']);
        ++this.mapVersion;
        break;
      case 'rows':
        if (this.map.change(what as StreamEvents['rows'])) ++this.mapVersion;
        break;
      case 'queue':
        this.queue = what as QueueState;
        break;
      case 'decisions':
        this.decisions = merged(what as DecisionRecord[], this.decisions);
        break;
    }
  }
}

/** Newest first, each once, not too many. */
export function merged(fresh: readonly DecisionRecord[], known: readonly DecisionRecord[]): DecisionRecord[] {
  const newest = known[0]?.id ?? -1;
  const add = fresh.filter((one) => one.id > newest).sort((a, b) => b.id - a.id);
  // Another life of the server counts from the start.
  if (add.length === 0 && fresh.length > 0 && Math.max(...fresh.map((one) => one.time)) > (known[0]?.time ?? 0))
    return [...fresh].sort((a, b) => b.id - a.id).slice(0, KEPT_DECISIONS);
  return [...add, ...known].slice(0, KEPT_DECISIONS);
}

export const live = new Live();
