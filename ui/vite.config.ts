// SPDX-License-Identifier: Apache-2.0
// Everything goes into one script and one style sheet beside index.html, at relative addresses: the
// binary serves them from memory under any path.
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// `npm run dev` with a cluster: BERTH_GATEWAY=http://127.0.0.1:PORT
const gateway = process.env.BERTH_GATEWAY;

export default defineConfig({
  base: './',
  plugins: [svelte()],
  build: {
    outDir: process.env.BERTH_UI_OUT ?? 'dist',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      output: { entryFileNames: 'berth.js', chunkFileNames: '[name].js', assetFileNames: 'berth[extname]' },
    },
  },
  server: gateway ? { proxy: { '/api': { target: gateway, secure: false } } } : {},
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
