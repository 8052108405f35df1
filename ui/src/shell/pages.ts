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
}

export const pages: readonly Page[] = [
  { path: 'cluster', title: 'Cluster', component: Cluster },
  { path: 'decisions', title: 'Decisions', component: Decisions },
  { path: 'queue', title: 'Queue', component: Queue },
  { path: 'testbeds', title: 'Testbeds', component: Testbeds },
  { path: 'scavengers', title: 'Scavengers', component: Scavengers },
];
