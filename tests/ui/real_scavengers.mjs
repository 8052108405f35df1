// SPDX-License-Identifier: Apache-2.0
// The pictures of the Scavengers page in docs/: a real `berth up` whose ordinary load comes and goes,
// with windows of minutes so that a few of them are enough.
//   BERTH=build/dev/src/cli/berth node tests/ui/real_scavengers.mjs docs/images [SECONDS]
import path from 'node:path';
import { launch, page as open } from './browser.mjs';
import { up } from './cluster.mjs';

const [, , out = 'docs/images', seconds = '300'] = process.argv;
const OURS = '/apis/berth.dev/v1alpha1';
const cluster = await up({ nodes: 12 });
const wait = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const tolerant = (call) => call.catch(() => undefined);

for (const name of ['physics', 'chem', 'render', 'shop']) await cluster.api('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
await cluster.api('POST', `${OURS}/scavengerpolicies`, { apiVersion: 'berth.dev/v1alpha1', kind: 'ScavengerPolicy', metadata: { name: 'default' }, spec: { windowMin: '30s', defaultDuration: '90s' } });
const [node] = (await cluster.api('GET', '/api/v1/nodes')).items;
const size = Number.parseInt(node.status.allocatable.cpu, 10);
const job = (ns, name, cpu, duration, replicas = 1) => cluster.api('POST', `${OURS}/namespaces/${ns}/scavengerjobs`, { apiVersion: 'berth.dev/v1alpha1', kind: 'ScavengerJob', metadata: { name }, spec: { duration, job: { completionMode: 'Indexed', completions: replicas, parallelism: replicas, template: { metadata: { annotations: { 'berth.dev/duration': '1h' } }, spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 1, containers: [{ name: 'c', image: 'sim:1', resources: { requests: { cpu: String(cpu) } } }] } } } } });
const quarter = Math.max(1, Math.floor(size / 4));
for (let i = 0; i < 8; ++i) await job('physics', `mc-ising-${String(31 + i)}`, quarter, '60s');
for (let i = 0; i < 6; ++i) await job('chem', `lammps-melt-${11 + i}`, Math.max(1, Math.floor(size / 2)), '90s');
for (let i = 0; i < 6; ++i) await job('render', `blender-ep4-f09${11 + i}`, quarter, '120s', 2);
await job('chem', 'gromacs-villin-4', size, '180s', 2);
await job('chem', 'gromacs-villin-3', Math.floor(size * 0.9), '180s', 3);

const deployment = (name, replicas) => ({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec: { replicas, selector: { matchLabels: { app: name } }, template: { metadata: { labels: { app: name } }, spec: { terminationGracePeriodSeconds: 1, containers: [{ name, image: `${name}:1`, resources: { requests: { cpu: String(quarter) } } }] } } } });
await cluster.api('POST', '/apis/apps/v1/namespaces/shop/deployments', deployment('checkout', 10));
const end = Date.now() + Number(seconds) * 1000;
for (let round = 0; Date.now() < end; ++round) {
  // A day of ten minutes, and a burst that wants all there is.
  const load = 14 + Math.round(8 * Math.sin(round / 4)) + (round % 12 === 7 ? 22 : 0);
  await tolerant(cluster.api('PATCH', '/apis/apps/v1/namespaces/shop/deployments/checkout', { spec: { replicas: load } }));
  // Those of physics report their checkpoints, by the annotation.
  const pods = (await cluster.api('GET', '/api/v1/namespaces/physics/pods')).items.filter((pod) => pod.status.phase === 'Running');
  for (const [i, pod] of pods.entries()) if ((i + round) % 3 === 0) await tolerant(cluster.api('PATCH', `/api/v1/namespaces/physics/pods/${pod.metadata.name}`, { metadata: { annotations: { 'berth.dev/checkpoint': new Date().toISOString() } } }));
  await wait(10_000);
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
await picture('page-scavengers', '#/scavengers?range=1h');
if (process.env.BERTH_SHOTS) {
  await picture('page-scavengers-dark', '#/scavengers?range=1h', { theme: 'dark' });
  await picture('page-scavengers-400', '#/scavengers?range=1h', { width: 400 });
}
await browser.close();
await cluster.stop();
