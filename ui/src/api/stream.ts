// SPDX-License-Identifier: Apache-2.0
// One stream for everything that changes. It comes back by itself, sooner at first, then later.
import { ApiError, open } from './client';
import { EventReader } from './events';
import type { StreamEvents } from './types';

export interface StreamHandler {
  message<K extends keyof StreamEvents>(kind: K, what: StreamEvents[K]): void;
  opened(): void;
  /** It broke; the next try is in so many ms. */
  lost(error: Error, retry: number): void;
}

const FIRST = 500;
const LONGEST = 10_000;
/** A stream that is silent for so long is dead, whatever the socket says: a beat comes every 2 s. */
const SILENCE = 12_000;

export function retryAfter(failures: number): number {
  return Math.min(LONGEST, FIRST * 2 ** Math.max(0, failures - 1));
}

export class Stream {
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private watchdog: ReturnType<typeof setTimeout> | undefined;
  private abort: AbortController | undefined;
  private stopped = false;

  constructor(
    private readonly path: string,
    private readonly handler: StreamHandler,
  ) {}

  start(): void {
    void this.run();
  }

  /** Now, and not when it is due. */
  retry(): void {
    clearTimeout(this.timer);
    this.abort?.abort();
    void this.run();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    clearTimeout(this.watchdog);
    this.abort?.abort();
  }

  private alive(): void {
    clearTimeout(this.watchdog);
    const abort = this.abort;
    this.watchdog = setTimeout(() => abort?.abort(), SILENCE);
  }

  private async run(): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    try {
      this.alive();
      const reply = await open(this.path, abort.signal);
      this.handler.opened();
      const body = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
      if (!body) throw new Error('the reply has no body');
      const reader = new EventReader((event) => {
        this.failures = 0;
        const kind = event.event as keyof StreamEvents;
        this.handler.message(kind, JSON.parse(event.data) as StreamEvents[typeof kind]);
      });
      for (;;) {
        const { value, done } = await body.read();
        if (done) break;
        this.alive();
        reader.feed(value);
      }
      throw new Error('the server closed the stream');
    } catch (error) {
      if (this.stopped || this.abort !== abort) return;
      const wait = error instanceof ApiError && error.code === 401 ? LONGEST : retryAfter(++this.failures);
      this.handler.lost(error as Error, wait);
      this.timer = setTimeout(() => void this.run(), wait);
    }
  }
}
