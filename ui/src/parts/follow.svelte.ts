// SPDX-License-Identifier: Apache-2.0
// An answer that is asked for again when what it is about changed, not too often. The former one
// stays until the new one is there; another object begins empty.
import { onDestroy, untrack } from 'svelte';
import { get } from '../api/client';

export interface Question {
  /** What it is about. */
  key: string;
  path: string;
  /** Anything that changes when the answer may have. */
  revision: string;
}

const AT_MOST_EVERY = 1000;

class Follower<T> {
  value = $state.raw<T | null>(null);
  error = $state.raw<Error | null>(null);
  private key = '';
  private wanted: Question | null = null;
  private asked: Question | null = null;
  private last = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private flight: AbortController | null = null;

  want(question: Question): void {
    if (question.key !== this.key) {
      this.stop();
      this.key = question.key;
      this.value = null;
      this.error = null;
      this.last = 0;
      this.asked = null;
    }
    if ((this.wanted ?? this.asked)?.revision === question.revision) return;
    this.wanted = question;
    this.pump();
  }
  again(): void {
    this.last = 0;
    this.wanted ??= this.asked;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.pump();
  }
  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.flight?.abort();
    this.flight = null;
    this.wanted = null;
  }
  private pump(): void {
    if (!this.wanted || this.flight || this.timer !== undefined) return;
    this.timer = setTimeout(() => void this.ask(), Math.max(0, this.last + AT_MOST_EVERY - Date.now()));
  }
  private async ask(): Promise<void> {
    const question = this.wanted;
    this.timer = undefined;
    if (!question) return;
    this.asked = question;
    this.wanted = null;
    this.last = Date.now();
    const flight = new AbortController();
    this.flight = flight;
    try {
      const value = await get<T>(question.path, flight.signal);
      if (flight.signal.aborted) return;
      this.value = value;
      this.error = null;
    } catch (problem) {
      if (flight.signal.aborted) return;
      this.error = problem as Error;
    }
    this.flight = null;
    this.pump();
  }
}

export function follow<T>(question: () => Question): Follower<T> {
  const follower = new Follower<T>();
  $effect(() => {
    const now = question();
    untrack(() => follower.want(now));
  });
  onDestroy(() => follower.stop());
  return follower;
}
