// SPDX-License-Identifier: Apache-2.0
// A telephone's width: two-line rows, shorter words.
import { MediaQuery } from 'svelte/reactivity';

export const narrow = new MediaQuery('(max-width: 720px)');
