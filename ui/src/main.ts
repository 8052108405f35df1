// SPDX-License-Identifier: Apache-2.0
import './api/remember';
import { mount } from 'svelte';
import './parts/base.css';
import { live } from './api/live.svelte';
import App from './shell/App.svelte';

live.start();
const target = document.getElementById('app');
if (target) mount(App, { target });
