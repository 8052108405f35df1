// SPDX-License-Identifier: Apache-2.0
// One stream for everything that changes. It comes back by itself, sooner at first, then later.
import { ApiError, open } from './client';
import { EventReader } from './events';

/** `Events` names what the messages of a stream are: the event's name to what its data says. */
export interface StreamHandler<Events> {
  message<K extends keyof Events>(kind: K, what: Events[K]): void;
  opened(): void;
  /** It broke; the next try is in so many ms, unless it is stopped. */
  lost(error: Error, retry: number): void;
}

const FIRST = 500;
const LONGEST = 10_000;

export interface StreamOptions {
  /** A stream that is silent for so long, in ms, is dead, whatever the socket says. */
  silence: number;
}

export function retryAfter(failures: number): number {
  return Math.min(LONGEST, FIRST * 2 ** Math.max(0, failures - 1));
}

export class Stream<Events> {
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private watchdog: ReturnType<typeof setTimeout> | undefined;
  private abort: AbortController | undefined;
  private stopped = false;
  /** Of the last event that had one: the server goes on from there. */
  private last = '';

  constructor(
    private readonly path: string,
    private readonly handler: StreamHandler<Events>,
    private readonly options: StreamOptions,
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
    this.watchdog = setTimeout(() => abort?.abort(), this.options.silence);
  }

  private async run(): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    try {
      this.alive();
      const reply = await open(this.path, { signal: abort.signal, headers: this.last ? { 'Last-Event-ID': this.last } : {} });
      this.handler.opened();
      const body = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
      if (!body) throw new Error('the reply has no body');
      const reader = new EventReader((event) => {
        this.failures = 0;
        if (event.id) this.last = event.id;
        const kind = event.event as keyof Events;
        this.handler.message(kind, JSON.parse(event.data) as Events[typeof kind]);
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
      if (this.stopped) return;
      this.timer = setTimeout(() => void this.run(), wait);
    }
  }
}
