// SPDX-License-Identifier: Apache-2.0
// The thesis' listings 4.1 to 4.3 as they are printed, applied strictly and watched to their end.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { launch } from './browser.mjs';
import { up } from './cluster.mjs';
import { LONG, visitor } from './visit.mjs';

const GROUP = '/apis/batchjob.gcr.io/v1alpha1/namespaces/default';
const LABEL = 'tuberlin.de/node-with-slots-profiler';
let cluster;
let browser;
const visit = visitor(() => ({ browser, url: cluster.url }));

before(async () => {
  cluster = await up({ nodes: 2 });
  const nodes = (await cluster.api('GET', '/api/v1/nodes')).items;
  for (const [i, node] of nodes.entries())
    await cluster.api('PATCH', `/api/v1/nodes/${node.metadata.name}`, { metadata: { labels: { [LABEL]: String(i) } } });
  browser = await launch();
}, { timeout: 5 * LONG });
after(async () => {
  await browser?.close();
  await cluster?.stop();
});

const apply = (kinds, file) => cluster.api('POST', `${GROUP}/${kinds}?fieldValidation=Strict`, readFileSync(path.join(import.meta.dirname, 'manifests', `${file}.yaml`), 'utf8'));

test('ESI-003: the listings of the thesis run to their end, seen on the page', { timeout: 5 * LONG }, () => visit('#/testbeds', {}, async (page) => {
  await apply('batchjobs', 'listing-4.1-batch-job');
  await apply('batchjobs', 'batchjob-spark');
  await apply('testbeds', 'listing-4.2-testbed');
  const bed = page.getByRole('region', { name: 'Testbed profiler-testbed', exact: true });
  await bed.waitFor();
  await page.waitForFunction(() => document.querySelectorAll('.slot.free').length === 4);
  await apply('schedulings', 'listing-4.3-scheduling');
  const scheduling = page.getByRole('region', { name: 'Scheduling profiler-scheduling-0', exact: true });
  await scheduling.waitFor();
  for (const job of ['spark-crawler', 'batchjob-spark']) await scheduling.getByText(job).first().waitFor();
  await page.waitForFunction(() => document.querySelectorAll('.slot.occupied').length === 4);
  if (process.env.BERTH_SHOTS) await page.screenshot({ path: `${process.env.BERTH_SHOTS}/thesis-runs.png` });
  await scheduling.waitFor({ state: 'detached', timeout: 4 * LONG });
  await page.waitForFunction(() => document.querySelectorAll('.slot.free').length === 4);
  await page.getByRole('button', { name: /past$/ }).click();
  await page.getByText('profiler-scheduling-0').first().waitFor();
  if (process.env.BERTH_SHOTS) await page.screenshot({ path: `${process.env.BERTH_SHOTS}/thesis-ended.png` });
  assert.equal((await cluster.api('GET', `${GROUP}/schedulings/profiler-scheduling-0`)).status.state, 'Completed');
  for (const job of ['spark-crawler', 'batchjob-spark']) {
    const runs = (await cluster.api('GET', `${GROUP}/batchjobs/${job}`)).status.scheduledEvents;
    assert.deepEqual(runs.map((run) => [run.successful, run.slotIds.length]), [[true, 2]]);
  }
}));
