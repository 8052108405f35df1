// SPDX-License-Identifier: Apache-2.0
// The Testbeds page: schedulings are built by clicks and by keys, slots change colour while one
// looks, what is wrong is said with what to do.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { launch } from './browser.mjs';
import { up } from './cluster.mjs';
import { LONG, visitor } from './visit.mjs';

const GROUP = '/apis/batchjob.gcr.io/v1alpha1/namespaces/default';
let cluster;
let browser;
const visit = visitor(() => ({ browser, url: cluster.url }));

before(async () => {
  cluster = await up({ nodes: 12, apply: [path.join(import.meta.dirname, 'manifests', 'testbeds.yaml')] });
  const nodes = (await cluster.api('GET', '/api/v1/nodes')).items.map((node) => node.metadata.name);
  for (const [i, label] of ['lab', 'lab', 'lab', 'side'].entries())
    await cluster.api('PATCH', `/api/v1/nodes/${nodes[i]}`, { metadata: { labels: { [`berth.test/${label}`]: String(i) } } });
  browser = await launch();
}, { timeout: 5 * LONG });
after(async () => {
  await browser?.close();
  await cluster?.stop();
});

const bed = (page, name) => page.getByRole('region', { name: `Testbed ${name}`, exact: true });
const scheduling = (page, name) => page.getByRole('region', { name: `Scheduling ${name}`, exact: true });
const slots = (page, name, state) => bed(page, name).locator(`.slot.${state}`);
const jobRow = (page, name) => page.locator('tr.pick').filter({ hasText: name });
const count = (page, selector, n) => page.waitForFunction(([what, wanted]) => document.querySelectorAll(what).length === wanted, [selector, n]);
const draftRows = (page) => page.getByRole('table', { name: 'Slot timeline as a table', includeHidden: true }).locator('tr').filter({ hasText: 'draft' });
const spec = async (name) => (await cluster.api('GET', `${GROUP}/schedulings/${name}`)).spec;
const names = (all) => all.map((one) => one.name);

/** All slots of both testbeds are held and free. */
async function ready(page) {
  await bed(page, 'lab').waitFor();
  await bed(page, 'side').waitFor();
  await count(page, '.slot.free', 8);
  await page.evaluate(() => { window.sameLife = true; });
}
/** Follows what was created to its end without a reload, then deletes it by name. */
async function watched(page, name, testbed, free) {
  await scheduling(page, name).waitFor();
  await slots(page, testbed, 'occupied').first().waitFor();
  await scheduling(page, name).waitFor({ state: 'detached' });
  await count(page, '.slot.free', 8);
  await page.getByRole('button', { name: /past$/ }).click();
  await page.getByRole('button', { name: `Delete ${name}` }).click();
  const dialog = page.getByRole('dialog', { name: `Delete ${name}?` });
  await dialog.getByRole('button', { name: `Delete ${name}` }).click();
  await scheduling(page, name).waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => window.sameLife), true, 'the page was loaded again');
  await assert.rejects(cluster.api('GET', `${GROUP}/schedulings/${name}`), /not found/);
  assert.equal(await slots(page, testbed, 'free').count(), free);
}

test('ESI-104: a queue is built by clicks, tried, created, watched and deleted', { timeout: 3 * LONG }, () => visit('#/testbeds', {}, async (page) => {
  await ready(page);
  const builder = page.getByRole('region', { name: 'New scheduling' });
  await builder.getByLabel('Name', { exact: true }).fill('clicked-queue');
  await builder.getByLabel('Testbed').selectOption({ label: 'lab' });
  await builder.getByRole('radio', { name: 'Queue' }).click();
  for (const job of ['crawl', 'sort-10g']) {
    await builder.getByRole('combobox', { name: 'Add a job by name' }).fill(job);
    await page.getByRole('option', { name: job }).click();
  }
  await builder.getByRole('button', { name: 'One slot more for crawl' }).click();
  await builder.getByRole('button', { name: 'sort-10g earlier' }).click();
  await builder.getByText(/Dry run: starts now/).waitFor();
  await draftRows(page).first().waitFor({ state: 'attached' });
  await builder.getByRole('button', { name: 'Create clicked-queue' }).click();
  await scheduling(page, 'clicked-queue').waitFor();
  const made = await spec('clicked-queue');
  assert.deepEqual([names(made.queueBased), made.testbed.name, made.slotBased], [['sort-10g', 'crawl', 'crawl'], 'lab', undefined]);
  assert.equal(await builder.getByLabel('Name', { exact: true }).inputValue(), 'clicked-queue-2');
  await watched(page, 'clicked-queue', 'lab', 6);
}));

test('ESI-104: slots are chosen by clicks', { timeout: 3 * LONG }, () => visit('#/testbeds', {}, async (page) => {
  await ready(page);
  const builder = page.getByRole('region', { name: 'New scheduling' });
  await builder.getByLabel('Name', { exact: true }).fill('clicked-slots');
  await builder.getByLabel('Testbed').selectOption({ label: 'lab' });
  await builder.getByRole('radio', { name: 'Slots' }).click();
  await builder.getByRole('radio', { name: 'Relaxed' }).click();
  for (const job of ['wordcount', 'sort-10g']) {
    await builder.getByRole('combobox', { name: 'Add a job by name' }).fill(job);
    await page.getByRole('option', { name: job }).click();
  }
  await builder.getByText('Choose slots for wordcount.').waitFor();
  for (const cell of ['wordcount, slot 1: free', 'wordcount, slot 4: free', 'sort-10g, slot 5: free', 'sort-10g, slot 2: free', 'sort-10g, slot 0: free', 'sort-10g, slot 0: chosen'])
    await builder.getByRole('gridcell', { name: cell }).click();
  await builder.getByText(/Dry run: starts now/).waitFor();
  await draftRows(page).first().waitFor({ state: 'attached' });
  await builder.getByRole('button', { name: 'Create clicked-slots' }).click();
  await scheduling(page, 'clicked-slots').waitFor();
  const { slotBased } = await spec('clicked-slots');
  assert.deepEqual([slotBased.mode, slotBased.jobs.map((job) => [job.name.name, job.slotIds])], ['relaxed', [['wordcount', [1, 4]], ['sort-10g', [2, 5]]]]);
  await watched(page, 'clicked-slots', 'lab', 6);
}));

test('ESI-104: a queue is built by keys alone', { timeout: 3 * LONG }, () => visit('#/testbeds', {}, async (page) => {
  await ready(page);
  await page.keyboard.press('n');
  await page.waitForFunction(() => document.activeElement?.id === 'draft-name');
  await page.keyboard.type('typed-queue');
  await page.keyboard.press('Tab');
  await page.keyboard.type('side');
  // Jobs are rows of a table: arrows move, a adds.
  await jobRow(page, 'crawl').focus();
  await page.keyboard.press('a');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('a');
  await page.getByRole('combobox', { name: 'Add a job by name' }).focus();
  await page.keyboard.type('word');
  await page.getByRole('option', { name: 'wordcount' }).waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Shift+Tab');
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label')?.startsWith('2: wordcount'));
  await page.keyboard.press('+');
  await page.keyboard.press('Alt+ArrowUp');
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === '1: wordcount with 2 slots');
  await page.getByText(/Dry run: starts now/).waitFor();
  await page.keyboard.press('Control+Enter');
  await scheduling(page, 'typed-queue').waitFor();
  const made = await spec('typed-queue');
  assert.deepEqual([names(made.queueBased), made.testbed.name], [['wordcount', 'wordcount', 'crawl', 'crawl'], 'side']);
  await watched(page, 'typed-queue', 'side', 2);
}));

test('ESI-104: slots are chosen by keys alone', { timeout: 3 * LONG }, () => visit('#/testbeds', {}, async (page) => {
  await ready(page);
  await page.keyboard.press('n');
  await page.waitForFunction(() => document.activeElement?.id === 'draft-name');
  await page.keyboard.type('typed-slots');
  await page.keyboard.press('Tab');
  await page.keyboard.type('lab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowRight');
  await page.getByRole('radio', { name: 'Slots', checked: true }).waitFor();
  await page.getByRole('combobox', { name: 'Add a job by name' }).focus();
  for (const job of ['crawl', 'sort']) {
    await page.keyboard.type(job);
    await page.getByRole('option', { name: job }).waitFor();
    await page.keyboard.press('Enter');
  }
  await page.keyboard.press('Shift+Tab');
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label')?.startsWith('crawl, slot 0'));
  for (const key of ['Space', 'ArrowRight', 'ArrowRight', 'Space', 'ArrowDown', 'Space', 'End', 'Space']) await page.keyboard.press(key);
  await page.getByText(/Dry run: starts now/).waitFor();
  await page.keyboard.press('Control+Enter');
  await scheduling(page, 'typed-slots').waitFor();
  const { slotBased } = await spec('typed-slots');
  assert.deepEqual([slotBased.mode, slotBased.jobs.map((job) => [job.name.name, job.slotIds])], ['strict', [['crawl', [0, 2]], ['sort-10g', [2, 5]]]]);
  await watched(page, 'typed-slots', 'lab', 6);
}));

test('a job that is selected is ringed wherever it is, and opened it shows its runs', { timeout: 3 * LONG }, () => visit('#/testbeds', {}, async (page) => {
  await ready(page);
  await cluster.api('POST', `${GROUP}/schedulings`, { apiVersion: 'batchjob.gcr.io/v1alpha1', kind: 'Scheduling', metadata: { name: 'rings' }, spec: { testbed: { name: 'lab' }, queueBased: ['long-join', 'long-join', 'crawl', 'crawl', 'crawl', 'crawl', 'crawl'].map((name) => ({ name })) } });
  await slots(page, 'lab', 'occupied').nth(1).waitFor();
  // What waits says for what.
  await scheduling(page, 'rings').getByText(/crawl needs 5 slots/).waitFor();
  await jobRow(page, 'long-join').click();
  await count(page, '.slot.selected', 2);
  assert.deepEqual(await page.locator('.slot').evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText)), [], 'a slot shows the whole name or both its ends');
  await scheduling(page, 'rings').locator('.chip.selected').waitFor();
  assert.match(page.url(), /job=default%2Flong-join/);
  await page.keyboard.press('Escape');
  await count(page, '.slot.selected', 0);
  await jobRow(page, 'crawl').click();
  await jobRow(page, 'crawl').click();
  await page.getByRole('dialog', { name: 'Job crawl' }).getByText('clicked-queue').first().waitFor();
  await page.keyboard.press('Escape');
  // The draft is foreseen behind what runs: long-join has never ended, so nobody knows when.
  await page.getByRole('region', { name: 'New scheduling' }).getByLabel('Testbed').selectOption({ label: 'lab' });
  await page.getByRole('combobox', { name: 'Add a job by name' }).fill('sort');
  await page.keyboard.press('Enter');
  await page.getByText(/Dry run:/).waitFor();
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('button', { name: 'Delete rings' }).click();
  await page.getByRole('dialog', { name: 'Delete rings?' }).getByText(/1 job is running and will be stopped; 1 waits and goes back to ready/).waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete rings' }).click();
  await scheduling(page, 'rings').waitFor({ state: 'detached' });
  await count(page, '.slot.free', 8);
}));

test('what is wrong is said with what to do', { timeout: 3 * LONG }, () => visit('#/testbeds', {}, async (page) => {
  await ready(page);
  await cluster.api('POST', `${GROUP}/testbeds`, { apiVersion: 'batchjob.gcr.io/v1alpha1', kind: 'Testbed', metadata: { name: 'bare' }, spec: { slotsPerNode: 2, nodeLabel: 'berth.test/none', resourcesPerSlot: { cpu: '1', memory: '1Gi' } } });
  await bed(page, 'bare').getByText('no node has the label berth.test/none').waitFor();
  await bed(page, 'bare').getByText(/Give the nodes that are to take part the label/).waitFor();
  await cluster.api('POST', `${GROUP}/schedulings`, { apiVersion: 'batchjob.gcr.io/v1alpha1', kind: 'Scheduling', metadata: { name: 'lost' }, spec: { testbed: { name: 'side' }, queueBased: [{ name: 'nobody' }] } });
  await scheduling(page, 'lost').getByText(/nobody does not exist/).waitFor();
  await scheduling(page, 'lost').getByText(/Create the BatchJob that is named/).waitFor();
  const builder = page.getByRole('region', { name: 'New scheduling' });
  await builder.getByLabel('Name', { exact: true }).fill('lost');
  await builder.getByText('The name is taken by a scheduling at work.').waitFor();
  await cluster.api('DELETE', `${GROUP}/schedulings/lost`);
  await cluster.api('DELETE', `${GROUP}/testbeds/bare`);
  await bed(page, 'bare').waitFor({ state: 'detached' });
}));

test('a draft survives a reload', () => visit('#/testbeds', {}, async (page) => {
  await ready(page);
  await page.getByRole('region', { name: 'New scheduling' }).getByLabel('Name', { exact: true }).fill('kept-7');
  await jobRow(page, 'sort-10g').focus();
  await page.keyboard.press('a');
  await page.reload();
  await page.getByRole('listitem', { name: '1: sort-10g with 1 slots' }).waitFor();
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'kept-7');
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('listitem').first().waitFor({ state: 'detached' });
}));

test('on a telephone the builder is a sheet, and nothing is too wide', () => visit('#/testbeds', { width: 400 }, async (page) => {
  await bed(page, 'lab').waitFor();
  await page.getByRole('button', { name: 'New scheduling' }).click();
  await page.getByLabel('Name', { exact: true }).fill('small-1');
  await page.getByRole('button', { name: 'Close' }).click();
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
}));
