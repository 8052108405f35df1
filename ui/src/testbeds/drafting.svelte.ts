// SPDX-License-Identifier: Apache-2.0
// The draft on this device, its dry run, and its way to the cluster.
import { ask } from '../api/client';
import { external } from '../api/external.svelte';
import type { SchedulingWire, TimelineWire } from '../api/external_types';
import { live } from '../api/live.svelte';
import { faults, nextName, nothing, restored, wanted, type Draft } from './draft';
import { atWork } from './work';

const KEY = 'berth.draft';
const AFTER_EDIT = 300;
const STAND_IN = 'draft-of-the-page';

export function schedulings(namespace: string): string {
  return `/external/v1/namespaces/${encodeURIComponent(namespace)}/schedulings`;
}

class Drafting {
  draft = $state.raw<Draft>(restored(localStorage.getItem(KEY)));
  /** The last answer; it stays, greyed, until the next one is there. */
  dry = $state.raw<TimelineWire | null>(null);
  dryError = $state.raw<Error | null>(null);
  stale = $state(false);
  /** When it was asked for; 0: it is not. */
  creating = $state(0);
  refused = $state.raw<Error | null>(null);
  private timer: ReturnType<typeof setTimeout> | undefined;
  private flight: AbortController | undefined;

  get namespace(): string {
    return this.draft.testbed.split('/')[0] ?? '';
  }
  faults() {
    void external.version;
    return faults(this.draft, (name) => {
      const there = external.schedulings.get(`${this.namespace}/${name}`);
      if (!there) return '';
      return atWork(there) ? 'now' : 'once';
    });
  }

  set(draft: Draft): void {
    if (draft === this.draft) return;
    this.draft = draft;
    this.refused = null;
    localStorage.setItem(KEY, JSON.stringify(draft));
    this.soon(AFTER_EDIT);
  }
  discard(): void {
    this.set({ ...nothing, testbed: this.draft.testbed, mode: this.draft.mode });
  }

  /** Asks for a dry run; again when the cluster has changed. */
  soon(after: number): void {
    this.stale = this.dry !== null;
    clearTimeout(this.timer);
    const { entries, testbed } = this.draft;
    if (entries.length === 0 || testbed === '' || this.faults().entries !== '') {
      this.flight?.abort();
      this.dry = null;
      this.dryError = null;
      return;
    }
    this.timer = setTimeout(() => void this.run(), after);
  }
  private async run(): Promise<void> {
    this.flight?.abort();
    const flight = (this.flight = new AbortController());
    const body = wanted(this.faults().name === '' ? this.draft : { ...this.draft, name: STAND_IN });
    try {
      const dry = await ask<TimelineWire>(`${schedulings(this.namespace)}?dryRun=All`, { method: 'POST', body, signal: flight.signal });
      if (flight.signal.aborted) return;
      this.dry = dry;
      this.dryError = null;
    } catch (error) {
      if (flight.signal.aborted) return;
      this.dry = null;
      this.dryError = error as Error;
    }
    this.stale = false;
  }

  async create(): Promise<boolean> {
    const { draft, namespace } = this;
    const found = this.faults();
    if (this.creating > 0 || draft.entries.length === 0 || found.name !== '' || found.entries !== '') return false;
    this.creating = live.now;
    this.refused = null;
    try {
      await ask<SchedulingWire>(schedulings(namespace), { method: 'POST', body: wanted(draft) });
      this.set({ ...nothing, name: nextName(draft.name), testbed: draft.testbed, mode: draft.mode, strict: draft.strict });
      return true;
    } catch (error) {
      this.refused = error as Error;
      return false;
    } finally {
      this.creating = 0;
    }
  }
}

export const drafting = new Drafting();
