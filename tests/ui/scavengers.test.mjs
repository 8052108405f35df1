// SPDX-License-Identifier: Apache-2.0
// The Scavengers page: an empty one says what to type, jobs start and wait while one looks, a pod of
// ordinary priority takes the room, and it comes back.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch } from './browser.mjs';
import { up } from './cluster.mjs';
import { LONG, visitor } from './visit.mjs';

const GROUP = '/apis/berth.dev/v1alpha1/namespaces/default/scavengerjobs';
let cluster;
let browser;
const visit = visitor(() => ({ browser, url: cluster.url }));

before(async () => {
  cluster = await up({ nodes: 2 });
  browser = await launch();
}, { timeout: 5 * LONG });
after(async () => {
  await browser?.close();
  await cluster?.stop();
});

const region = (page, name) => page.getByRole('region', { name, exact: true });
const row = (page, where, name) => region(page, where).locator('tr.pick').filter({ hasText: name });
/** Cores of a node that a test may count on. */
async function cores() {
  const [node] = (await cluster.api('GET', '/api/v1/nodes')).items;
  return Number.parseInt(node.status.allocatable.cpu, 10);
}
const scavenger = (name, cpu) => cluster.api('POST', GROUP, { apiVersion: 'berth.dev/v1alpha1', kind: 'ScavengerJob', metadata: { name }, spec: { job: { template: { metadata: { annotations: { 'berth.dev/duration': '1h' } }, spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 1, containers: [{ name: 'c', image: 'sim:1', resources: { requests: { cpu: String(cpu) } } }] } } } } });

test('an empty page says what would fill it, and the command to type', { timeout: LONG }, () => visit('#/scavengers', {}, async (page) => {
  await page.getByText('No scavenger jobs yet').waitFor();
  await page.getByText(/kubectl apply -f/).waitFor();
}));

test('jobs start and wait while one looks, and one that is selected says why', { timeout: 3 * LONG }, () => visit('#/scavengers', {}, async (page) => {
  const each = await cores();
  await page.evaluate(() => { window.sameLife = true; });
  await scavenger('early', Math.floor(each / 2));
  await row(page, 'Running', 'early').waitFor();
  await scavenger('wide', 2 * each);
  await row(page, 'Waiting', 'wide').waitFor();
  await row(page, 'Waiting', 'wide').getByText(/short|no node fits/).waitFor();
  await row(page, 'Waiting', 'wide').click();
  await region(page, 'Why').getByText(/It has waited for/).waitFor();
  assert.match(page.url(), /job=default%2Fwide/);
  await page.keyboard.press('Escape');
  await region(page, 'Why').getByText(/victim/).first().waitFor();
  assert.equal(await page.evaluate(() => window.sameLife), true, 'the page was loaded again');
}));

test('rows and the chart are read by keys', { timeout: 2 * LONG }, () => visit('#/scavengers?range=1h', {}, async (page) => {
  await row(page, 'Running', 'early').waitFor();
  await row(page, 'Running', 'early').focus();
  await page.keyboard.press('Enter');
  await region(page, 'Why').getByText(/It has run for/).waitFor();
  const chart = page.getByRole('img', { name: /Utilisation, reclaimed and lost/ });
  await chart.focus();
  await page.keyboard.press('End');
  await page.getByRole('status').getByText(/core-hours/).waitFor();
}));

test('a pod that wants the room takes it, and the job runs again when it has left', { timeout: 4 * LONG }, () => visit('#/scavengers', {}, async (page) => {
  const each = await cores();
  const pod = (name) => cluster.api('POST', '/api/v1/namespaces/default/pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers: [{ name: 'c', image: 'web:1', resources: { requests: { cpu: String(Math.ceil(each * 0.8)) } } }] } });
  await row(page, 'Running', 'early').waitFor();
  await pod('web-0');
  await pod('web-1');
  // It waits until there is room again.
  await row(page, 'Waiting', 'early').waitFor();
  await row(page, 'Waiting', 'early').getByText('1×').waitFor();
  await page.locator('.readout').filter({ hasText: 'Interrupted' }).getByText('1', { exact: true }).waitFor();
  for (const name of ['web-0', 'web-1']) await cluster.api('DELETE', `/api/v1/namespaces/default/pods/${name}`);
  await row(page, 'Running', 'early').waitFor();
  await row(page, 'Running', 'early').getByText('1×').waitFor();
}));

test('at 400 px everything is there, one below the other', { timeout: 2 * LONG }, () => visit('#/scavengers', { width: 400 }, async (page) => {
  await region(page, 'Running').getByRole('button', { name: /early/ }).waitFor();
  await row(page, 'Waiting', 'wide').waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 400, `the page is ${wide} px wide`);
}));
