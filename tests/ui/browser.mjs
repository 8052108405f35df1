// SPDX-License-Identifier: Apache-2.0
// Debian's Chromium with the fonts of the pictures.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { chromium } from 'playwright-core';

export const CHROMIUM = process.env.BERTH_CHROMIUM ?? '/usr/bin/chromium';
export const missing = existsSync(CHROMIUM) ? '' : `no Chromium at ${CHROMIUM}: apt-get install chromium fonts-inter fonts-jetbrains-mono`;

export function launch() {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none', '--force-color-profile=srgb'],
    env: { ...process.env, FONTCONFIG_FILE: path.join(import.meta.dirname, 'fonts.conf') },
  });
}

/** A page that fails the test on anything written to the console as an error. */
export async function page(browser, { width = 1280, height = 800, theme = 'light', scale = 1 } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, deviceScaleFactor: scale, reducedMotion: 'reduce' });
  const it = await context.newPage();
  const errors = [];
  it.on('console', (message) => { if (message.type() === 'error') errors.push(message.text()); });
  it.on('pageerror', (error) => errors.push(String(error)));
  return { page: it, errors, close: () => context.close() };
}
