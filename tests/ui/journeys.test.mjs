// SPDX-License-Identifier: Apache-2.0
// What a person does with the page, in a real browser against a real `berth up`.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { launch, page as open } from './browser.mjs';
import { up } from './cluster.mjs';
import { frameTimes } from './frames.mjs';
import { serve } from './pictured.mjs';
import { LONG, visitor } from './visit.mjs';

let cluster;
let browser;

before(async () => {
  cluster = await up({ nodes: 12, apply: ['waiting.yaml', 'testbeds.yaml'].map((file) => path.join(import.meta.dirname, 'manifests', file)) });
  browser = await launch();
}, { timeout: 5 * LONG });
after(async () => {
  await browser?.close();
  await cluster?.stop();
});

const visit = visitor(() => ({ browser, url: cluster.url }));
const tile = (page) => page.locator('canvas').first();

test('the token leaves the address at once', () => visit('', {}, async (page) => {
  assert.doesNotMatch(page.url(), /token/);
  await page.reload();
  await page.getByText('Live,').waitFor();
}));

test('without a token nothing is shown, and it says why', async () => {
  const { page, close } = await open(browser);
  await page.goto(cluster.url.replace(/#.*/, ''));
  await page.getByRole('status').getByText(/Unauthorized|no token|next try/).waitFor({ timeout: LONG });
  assert.equal(await page.locator('canvas').count(), 0);
  await close();
});

test('the cluster is shown, a node is opened and its pod followed to the reason', () => visit('', {}, async (page) => {
  await page.getByText('all ready').waitFor();
  await tile(page).click({ position: { x: 120, y: 20 } });
  await page.getByRole('complementary').getByText(/^Ready/).waitFor();
  for (const what of ['requested', 'used']) assert.equal(await page.getByRole('complementary').getByText(what, { exact: true }).count(), 2, `cores and memory ${what}`);
  assert.match(page.url(), /node=/);
  await page.getByRole('complementary').locator('tr.pick').first().click();
  await page.getByText(/Why is/).click();
  await page.getByRole('heading', { level: 1 }).getByText(/12 nodes/).waitFor();
  await page.goBack();
  await page.getByRole('complementary').getByText(/^Ready/).waitFor();
}));

test('the same by keyboard', () => visit('', {}, async (page) => {
  await page.getByText('all ready').waitFor();
  await page.getByRole('application').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.getByRole('complementary').getByText(/^Ready/).waitFor();
  await page.keyboard.press('Escape');
  await page.getByText('Worth a look').waitFor();
  await page.keyboard.press('/');
  await page.getByRole('combobox', { name: 'Search everything' }).fill('too-b');
  await page.getByRole('option', { name: /too-big/ }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1 }).getByText('No node fits').waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('3');
  await page.getByText('too-big').first().waitFor();
}));

test('a change in the cluster is seen without a reload', () => visit('', {}, async (page) => {
  await page.getByText('all ready').waitFor();
  const before = await page.locator('.strip').first().innerText();
  await cluster.api('PATCH', '/apis/apps/v1/namespaces/default/deployments/web', { spec: { replicas: 15 } });
  await page.waitForFunction((was) => document.querySelector('.strip')?.innerText !== was, before);
  const node = (await cluster.api('GET', '/api/v1/nodes')).items[0].metadata.name;
  await cluster.api('PATCH', `/api/v1/nodes/${node}`, { spec: { unschedulable: true } });
  await page.getByText('1 cordoned').waitFor();
  await cluster.api('PATCH', `/api/v1/nodes/${node}`, { spec: { unschedulable: false } });
  await page.getByText('1 cordoned').waitFor({ state: 'detached' });
}));

test('why is this pod pending: from the queue to the answer, and the answer helps', () => visit('#/queue', {}, async (page) => {
  await page.getByRole('row').filter({ hasText: 'picky' }).click();
  await page.getByRole('heading', { level: 1 }).getByText(/No node fits: 12 of 12 are not where it asks to be/).waitFor();
  const change = page.getByRole('region', { name: /smallest change/ });
  await change.getByText('Drop its node selector').waitFor();
  await page.getByRole('row').filter({ hasText: /affinity/i }).first().waitFor();
  const node = (await cluster.api('GET', '/api/v1/nodes')).items[3].metadata.name;
  await cluster.api('PATCH', `/api/v1/nodes/${node}`, { metadata: { labels: { disk: 'ssd' } } });
  await page.getByRole('heading', { level: 1 }).getByText(/1 of 12 nodes fits|Only/).waitFor();
}));

test('what waits is listed by state with its cause', () => visit('#/queue', {}, async (page) => {
  await page.getByRole('row').filter({ hasText: 'too-big' }).getByText(/Insufficient cpu/).waitFor();
  await page.getByRole('row').filter({ hasText: 'held' }).getByText('Gate example.com/later').waitFor();
  await page.getByLabel('Filter pods').fill('state:gated');
  await page.getByRole('row').filter({ hasText: 'too-big' }).waitFor({ state: 'detached' });
  assert.match(page.url(), /filter=state/);
}));

test('decisions are listed, and an unknown pod is an answer, too', () => visit('#/decisions', {}, async (page) => {
  await page.getByRole('row').filter({ hasText: 'web-' }).first().waitFor();
  await page.evaluate(() => { location.hash = '#/decisions/default/nobody'; });
  await page.getByText('There is no pod default/nobody').waitFor();
}, /404/));

test('a lost stream is told, and found again', () => visit('', {}, async (page) => {
  await page.getByText('all ready').waitFor();
  cluster.pause();
  try {
    await page.getByText(/Shown as of/).waitFor();
    await page.getByRole('button', { name: 'Try now' }).click();
  } finally {
    cluster.goOn();
  }
  // It comes back by itself; whoever does not want to wait presses a button.
  await page.getByText(/Shown as of/).waitFor({ state: 'detached' });
  await page.getByText('Live,').waitFor();
}));

for (const width of [1280, 400])
  for (const theme of ['light', 'dark'])
    test(`every page at ${width} px, ${theme}`, () => visit('', { width, theme }, async (page) => {
      const pages = { cluster: 'all ready', decisions: 'web-', queue: 'too-big', testbeds: 'Slot timeline', 'decisions/default/too-big': 'No node fits' };
      for (const [where, text] of Object.entries(pages)) {
        await page.evaluate((to) => { location.hash = `#/${to}`; }, where);
        await page.getByText(text).first().waitFor();
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wider <= 0, `${where} is ${wider} px too wide`);
        if (process.env.BERTH_SHOTS) await page.screenshot({ path: `${process.env.BERTH_SHOTS}/live-${where.replaceAll('/', '-')}-${width}-${theme}.png` });
      }
    }));

const LARGE = 5000;

async function fluid(t, page, where) {
  const frames = await frameTimes(page);
  t.diagnostic(`${where}: ${frames.count} frames, p50 ${frames.at(0.5).toFixed(1)} ms, p95 ${frames.at(0.95).toFixed(1)} ms, p99 ${frames.at(0.99).toFixed(1)} ms, longest ${frames.at(1).toFixed(1)} ms`);
  assert.ok(frames.count > 20);
  assert.ok(frames.at(0.5) < 100, `half of the frames of ${where} take longer than 100 ms`); // sixfold of what a quiet machine shows
  assert.ok(frames.at(0.95) < 250, `every twentieth frame of ${where} takes longer than 250 ms`);
}

test('5,000 nodes: every page stays fluid while everything changes', { timeout: 5 * LONG }, async (t) => {
  const { url, stop } = await serve({ dist: path.join(process.env.BERTH_UI_DIST ?? ''), nodes: LARGE });
  for (const where of ['cluster', 'decisions', 'decisions/batch/etl-orders-xl-9xk2p', 'queue', 'testbeds']) {
    const { page, close } = await open(browser);
    await page.goto(`${url}#/${where}`);
    await page.locator('canvas, tbody tr').first().waitFor({ timeout: LONG });
    await fluid(t, page, where);
    await close();
  }
  stop();
});

test('5,000 nodes of a real cluster are on one page, each to be opened, and it stays fluid', { timeout: 5 * LONG }, async (t) => {
  const large = await up({ nodes: LARGE });
  try {
    await visitor(() => ({ browser, url: large.url }))('', {}, async (page) => {
      await page.locator('.strip').getByText('5,000', { exact: true }).waitFor();
      await page.getByText('all ready').waitFor();
      await fluid(t, page, 'cluster');
      await tile(page).click({ position: { x: 120, y: 20 } });
      await page.getByRole('complementary').getByText(/^Ready/).waitFor();
    });
  } finally {
    await large.stop();
  }
});
