// SPDX-License-Identifier: Apache-2.0
// What the page knows of testbeds, jobs and schedulings. Taken in as it comes, shown once a frame.
import { ApiError } from './client';
import { Collection } from './collection';
import type { ExternalChange, ExternalEvents, JobWire, SchedulingWire, TestbedWire } from './external_types';
import { Stream } from './stream';
import { ownNamespace, rememberedNamespace, rememberNamespace } from './token';

class External {
  /** Moves with every frame in which something changed; read it to be told. */
  version = $state(0);
  synced = $state(false);
  /** Why nothing comes; the next try is under way. */
  problem = $state.raw<ApiError | null>(null);
  /** Nobody answers; the next try is at that time. */
  lost = $state.raw<{ error: Error; next: number } | null>(null);
  /** Whose objects there are; "": everybody's. */
  namespace = $state('');
  readonly testbeds = new Collection<TestbedWire>();
  readonly jobs = new Collection<JobWire>();
  readonly schedulings = new Collection<SchedulingWire>();
  private readonly all = [this.testbeds, this.jobs, this.schedulings];
  private stream: Stream<ExternalEvents> | undefined;
  private waiting: Array<() => void> = [];
  private frame = 0;

  start(): void {
    this.follow(rememberedNamespace());
  }
  /** Of that namespace alone. */
  show(namespace: string): void {
    rememberNamespace(namespace);
    this.follow(namespace);
  }
  private follow(namespace: string): void {
    this.stream?.stop();
    this.waiting = [];
    this.namespace = namespace;
    this.problem = null;
    this.synced = false;
    for (const one of this.all) one.restart();
    this.stream = new Stream<ExternalEvents>(`/external/v1/events?namespace=${encodeURIComponent(namespace)}`, {
      message: (kind, what) => this.later(() => this.apply(kind, what)),
      opened: () => {
        this.problem = this.lost = null;
      },
      lost: (error, retry) => {
        // What is there stays; the bar tells of a server that is away.
        if (!(error instanceof ApiError)) this.lost = { error, next: Date.now() + retry };
        else if (error.code === 403 && namespace === '' && ownNamespace() !== '') this.follow(ownNamespace());
        else this.problem = error;
      },
    }, { silence: 40_000 }); // it says something every 15 to 30 s
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
    ++this.version;
  }
  private apply<K extends keyof ExternalEvents>(kind: K, what: ExternalEvents[K]): void {
    if (kind === 'change') this.change(what as ExternalChange);
    else if (kind === 'reset') for (const one of this.all) one.restart();
    else if (kind === 'synced') {
      for (const one of this.all) one.settled();
      this.synced = true;
    }
  }
  private change(change: ExternalChange): void {
    if (change.action === 'DELETED') {
      this[change.kind].remove(change.resource);
      return;
    }
    if (change.kind === 'testbeds') this.testbeds.put(change.seq, change.resource);
    else if (change.kind === 'jobs') this.jobs.put(change.seq, change.resource);
    else if (change.kind === 'schedulings') this.schedulings.put(change.seq, change.resource);
  }
}

export const external = new External();
