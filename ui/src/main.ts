// SPDX-License-Identifier: Apache-2.0
import './api/remember';
import { mount } from 'svelte';
import './parts/base.css';
import { external } from './api/external.svelte';
import { live } from './api/live.svelte';
import { scavengers } from './api/scavengers.svelte';
import App from './shell/App.svelte';

live.start();
external.start();
scavengers.start();
const target = document.getElementById('app');
if (target) mount(App, { target });
