// SPDX-License-Identifier: Apache-2.0
// The pages, in the order of the tabs. A page is a folder and a line here.
import type { Component } from 'svelte';
import Cluster from '../cluster/Cluster.svelte';
import Decisions from '../decisions/Decisions.svelte';
import Queue from '../queue/Queue.svelte';
import Scavengers from '../scavengers/Scavengers.svelte';
import Testbeds from '../testbeds/Testbeds.svelte';

export interface Page {
  path: string;
  title: string;
  component: Component;
  /** It shows what Berth's scheduler does, so it needs one in the same process. */
  ofScheduler: boolean;
}

export const pages: readonly Page[] = [
  { path: 'cluster', title: 'Cluster', component: Cluster, ofScheduler: true },
  { path: 'decisions', title: 'Decisions', component: Decisions, ofScheduler: true },
  { path: 'queue', title: 'Queue', component: Queue, ofScheduler: true },
  { path: 'testbeds', title: 'Testbeds', component: Testbeds, ofScheduler: false },
  { path: 'scavengers', title: 'Scavengers', component: Scavengers, ofScheduler: false },
];
