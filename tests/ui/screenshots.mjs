// SPDX-License-Identifier: Apache-2.0
// Every page at both widths and in both themes, to be looked at beside the design.
//   node tests/ui/screenshots.mjs ui/dist OUT [NAME...]
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { launch, page } from './browser.mjs';
import { serve } from './pictured.mjs';

const [, , dist = 'ui/dist', out = 'build/screenshots', ...only] = process.argv;
/** What is kept of a draft on a device. */
function draft(mode) {
  const entries = [['bayes-2', 4, [4, 5, 6, 11]], ['sort-10g', 3, [3, 7, 8]], ['join-h9', 2, [3, 4]]].map(([job, wide, ids]) => ({ job, wide, ids }));
  return { 'berth.draft': JSON.stringify({ name: 'evening-7', testbed: 'default/spark-lab', mode, strict: true, entries }) };
}
const shots = [
  ['cluster', 200, '#/cluster?node=n17&pod=shop%2Fcheckout-7d9f8b6c5-x2k4q', [1280, 400]],
  ['cluster-5000', 5000, '#/cluster', [1280]],
  ['decisions', 200, '#/decisions', [1280, 400]],
  ['decision-pending', 200, '#/decisions/batch/etl-orders-xl-9xk2p', [1280, 400]],
  ['decision-placed', 200, '#/decisions/shop/checkout-7d9f8b6c5-x2k4q', [1280]],
  ['queue', 200, '#/queue', [1280, 400]],
  ['testbeds-queue', 200, '#/testbeds?job=default%2Ftpcds-q64', [1280, 400], draft('queue')],
  ['testbeds-slot', 200, '#/testbeds?job=default%2Ftpcds-q64', [1280], draft('slots')],
  ['scavengers', 200, '#/scavengers', [1280, 400]],
  ['scavengers-job', 200, '#/scavengers?job=physics%2Fmc-ising-044&range=6h', [1280]],
  ['scavengers-5000', 5000, '#/scavengers', [1280]],
  ['testbeds-5000', 5000, '#/testbeds', [1280]],
];
await mkdir(out, { recursive: true });
const browser = await launch();
for (const [name, nodes, hash, widths, kept = {}] of shots) {
  if (only.length > 0 && !only.includes(name)) continue;
  const { url, stop } = await serve({ dist, nodes, quiet: true });
  for (const width of widths)
    for (const theme of ['light', 'dark']) {
      const { page: tab, errors, close } = await page(browser, { width, theme });
      await tab.addInitScript((all) => { for (const [key, value] of Object.entries(all)) localStorage.setItem(key, value); }, kept);
      await tab.goto(url + hash);
      await tab.waitForTimeout(1500);
      if (name === 'cluster-5000') await tab.mouse.move(220, 330);
      await tab.waitForTimeout(150);
      await tab.screenshot({ path: path.join(out, `${name}${width < 1000 ? `-${width}` : ''}-${theme}.png`) });
      if (errors.length > 0) console.log(name, errors);
      await close();
    }
  stop();
}
await browser.close();
