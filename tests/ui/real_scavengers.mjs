// SPDX-License-Identifier: Apache-2.0
// The pictures of the Scavengers page in docs/: a real `berth up` whose ordinary load comes and goes. It lives
// sixty times as fast, so that five minutes of anybody's time are five hours of its own.
//   BERTH=build/dev/src/cli/berth node tests/ui/real_scavengers.mjs docs/images [SECONDS]
import path from 'node:path';
import { launch, page as open } from './browser.mjs';
import { up } from './cluster.mjs';

const [, , out = 'docs/images', seconds = '300'] = process.argv;
const OURS = '/apis/berth.dev/v1alpha1';
const SPEED = 60;
const cluster = await up({ nodes: 24, speed: `x${SPEED}` });
const wait = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const tolerant = (call) => call.catch(() => undefined);

const namespace = (name) => cluster.api('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const first = Date.parse((await namespace('physics')).metadata.creationTimestamp), since = Date.now();
/** On the clock of the cluster. */
const now = () => new Date(first + (Date.now() - since) * SPEED);
for (const name of ['chem', 'render', 'bio', 'shop']) await namespace(name);

const [node] = (await cluster.api('GET', '/api/v1/nodes')).items;
const size = Number.parseInt(node.status.allocatable.cpu, 10);
const quarter = Math.max(1, Math.floor(size / 4));
const half = Math.max(1, Math.floor(size / 2));
/** It runs for hours, and checkpoints every so many minutes of the cluster's time. */
const programs = [];
async function job(ns, name, cpu, minutes, replicas = 1, reports = true) {
  await cluster.api('POST', `${OURS}/namespaces/${ns}/scavengerjobs`, { apiVersion: 'berth.dev/v1alpha1', kind: 'ScavengerJob', metadata: { name }, spec: { duration: '30m', checkpoint: { interval: `${minutes}m` }, job: { completionMode: 'Indexed', completions: replicas, parallelism: replicas, template: { metadata: { annotations: { 'berth.dev/duration': '12h' } }, spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 1, containers: [{ name: 'c', image: 'sim:1', resources: { requests: { cpu: String(cpu) } } }] } } } } });
  if (reports) programs.push({ ns, name, minutes, last: 0 });
}
for (let i = 0; i < 9; ++i) await job('physics', `mc-ising-0${31 + i}`, quarter, 6 + i);
for (let i = 0; i < 6; ++i) await job('chem', `lammps-melt-${11 + i}`, half, 12 + i);
for (let i = 0; i < 6; ++i) await job('render', `blender-ep4-f09${11 + i}`, quarter, 9 + i, 2);
for (let i = 0; i < 4; ++i) await job('bio', `fold-p53-r24${i}`, half, 14, 1, false);
await job('chem', 'gromacs-villin-3', half, 20, 4);
await job('chem', 'gromacs-villin-4', size, 20, 3);
await job('bio', 'ocean-nemo-r4', Math.floor(size * 0.9), 25, 3);

const deployment = (name, replicas) => ({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec: { replicas, selector: { matchLabels: { app: name } }, template: { metadata: { labels: { app: name } }, spec: { terminationGracePeriodSeconds: 1, containers: [{ name, image: `${name}:1`, resources: { requests: { cpu: String(quarter) } } }] } } } });
await cluster.api('POST', '/apis/apps/v1/namespaces/shop/deployments', deployment('checkout', 30));
const end = Date.now() + Number(seconds) * 1000;
for (let round = 0; Date.now() < end; ++round) {
  // Waves of two hours, and a burst now and then.
  const load = 44 + Math.round(14 * Math.sin(round / 8)) + (round % 16 === 10 ? 12 : 0);
  await tolerant(cluster.api('PATCH', '/apis/apps/v1/namespaces/shop/deployments/checkout', { spec: { replicas: load } }));
  for (const one of programs) {
    if (now() - one.last < one.minutes * 60_000) continue;
    one.last = now();
    const pods = (await cluster.api('GET', `/api/v1/namespaces/${one.ns}/pods`)).items.filter((pod) => pod.status.phase === 'Running' && pod.metadata.name.startsWith(`${one.name}-`));
    if (pods.length > 0) await tolerant(cluster.api('PATCH', `/api/v1/namespaces/${one.ns}/pods/${pods[0].metadata.name}`, { metadata: { annotations: { 'berth.dev/checkpoint': now().toISOString() } } }));
  }
  await wait(5000);
}

const browser = await launch();
async function picture(name, hash, options = {}) {
  const { page, errors, close } = await open(browser, options);
  await page.goto(cluster.url);
  await page.getByText('Live,').waitFor();
  await page.evaluate((to) => { location.hash = to; }, hash);
  await page.getByText('Reclaimed and lost').waitFor();
  await page.waitForTimeout(4000);
  await page.screenshot({ path: path.join(out, `${name}.png`) });
  if (errors.length > 0) console.log(name, errors);
  await close();
}
await picture('page-scavengers', '#/scavengers?range=6h');
if (process.env.BERTH_SHOTS) {
  await picture('page-scavengers-dark', '#/scavengers?range=6h', { theme: 'dark' });
  await picture('page-scavengers-400', '#/scavengers?range=6h', { width: 400 });
}
await browser.close();
await cluster.stop();
