// SPDX-License-Identifier: Apache-2.0
// The pictures of docs/: the pages of a real `berth up` with some life in it.
//   BERTH=build/dev/src/cli/berth node tests/ui/real_pictures.mjs docs/images
import path from 'node:path';
import { launch, page as open } from './browser.mjs';
import { up } from './cluster.mjs';

const [, , out = 'docs/images'] = process.argv;
const GROUP = '/apis/batchjob.gcr.io/v1alpha1/namespaces/default';
const cluster = await up({ nodes: 60, apply: [path.join(import.meta.dirname, 'manifests', 'waiting.yaml')] });
const wait = (seconds) => new Promise((resolve) => { setTimeout(resolve, seconds * 1000); });
const ours = (kind, name, spec) => cluster.api('POST', `${GROUP}/${{ Testbed: 'testbeds', BatchJob: 'batchjobs', Scheduling: 'schedulings' }[kind]}`, { apiVersion: 'batchjob.gcr.io/v1alpha1', kind, metadata: { name }, spec });

const create = (where, object) => cluster.api('POST', where, object);
const nodes = (await cluster.api('GET', '/api/v1/nodes')).items.map((node) => node.metadata.name);
const reserved = nodes.slice(50, 56);
for (const node of reserved) await cluster.api('PATCH', `/api/v1/nodes/${node}`, { spec: { taints: [{ key: 'dedicated', value: 'db', effect: 'NoSchedule' }] } });
for (const name of ['shop', 'batch', 'ml', 'analytics']) await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
await create('/apis/scheduling.k8s.io/v1/priorityclasses', { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'important' }, value: 500, preemptionPolicy: 'Never' });
const pods = (name, requests, more = {}) => ({ containers: [{ name, image: `${name}:1`, resources: { requests, limits: Object.fromEntries(Object.entries(requests).filter(([what]) => what.includes('/'))) } }], ...more });
const deployment = (namespace, name, replicas, spec) => create(`/apis/apps/v1/namespaces/${namespace}/deployments`, { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec: { replicas, selector: { matchLabels: { app: name } }, template: { metadata: { labels: { app: name } }, spec } } });

const workloads = { checkout: [60, '2', '4Gi'], search: [40, '3', '12Gi'], catalog: [90, '500m', '2Gi'], payments: [30, '750m', '1536Mi'], ingest: [70, '1500m', '6Gi'], sessions: [12, '4', '24Gi'] };
for (const [name, [replicas, cpu, memory]] of Object.entries(workloads)) await deployment('shop', name, replicas, pods(name, { cpu, memory }));
// Who waits, and for what.
await deployment('ml', 'llm-pretrain', 4, pods('train', { cpu: '4', 'nvidia.com/gpu': '8' }, { priorityClassName: 'important' }));
await deployment('ml', 'bert-distill', 2, pods('train', { cpu: '1' }, { schedulingGates: [{ name: 'kueue.x-k8s.io/admission' }] }));
await deployment('analytics', 'trino-worker', 2, pods('trino', { cpu: '2', memory: '80Gi' }, { priorityClassName: 'important' }));
await deployment('shop', 'orders-cache', 4, pods('cache', { cpu: '500m' }, { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: { matchLabels: { app: 'orders-cache' } }, topologyKey: 'topology.kubernetes.io/zone' }] } } }));
await create('/api/v1/namespaces/shop/pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'loki-write-2' }, spec: pods('loki', { cpu: '500m' }, { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'loki-data-2' } }] }) });
const lab = { 'spark-lab': [nodes.slice(0, 6), '750m', '1Gi'], 'flink-lab': [nodes.slice(6, 10), '500m', '1Gi'], profiling: [nodes.slice(10, 11), '500m', '512Mi'] };
for (const [name, [own, cpu, memory]] of Object.entries(lab)) {
  for (const [i, node] of own.entries()) await cluster.api('PATCH', `/api/v1/nodes/${node}`, { metadata: { labels: { [`lab.example/${name}`]: String(i) } } });
  await ours('Testbed', name, { slotsPerNode: 2, nodeLabel: `lab.example/${name}`, resourcesPerSlot: { cpu, memory } });
}
await cluster.api('PATCH', `/api/v1/nodes/${nodes[41]}`, { spec: { unschedulable: true } });
const spark = (duration) => ({ sparkSpec: { image: 'app:1', driver: { annotations: { 'berth.dev/duration': duration } } } });
const flink = (duration) => ({ flinkSpec: { jarURI: 'local:///opt/job.jar', jobManager: { podTemplate: { metadata: { annotations: { 'berth.dev/duration': duration } } } } } });
const jobs = { wordcount: spark('16s'), terasort: spark('22s'), pagerank: spark('35s'), 'kmeans-3': spark('45s'), 'tpcds-q64': spark('70s'), 'tpcds-q72': spark('40s'), 'bayes-2': spark('25s'), 'sort-10g': spark('15s'), 'nexmark-q5': flink('60s'), 'nexmark-q8': flink('40s') };
for (const [name, spec] of Object.entries(jobs)) await ours('BatchJob', name, spec);
const queue = (pairs) => pairs.flatMap(([name, count]) => Array.from({ length: count }, () => ({ name })));
const schedule = (name, testbed, pairs) => ours('Scheduling', name, { testbed: { name: testbed }, queueBased: queue(pairs), ttlSecondsAfterFinished: 1 });
// Everything runs once, so that there is a past to foresee from.
await schedule('early-1', 'spark-lab', [['wordcount', 6], ['sort-10g', 4], ['bayes-2', 2]]);
await schedule('early-2', 'spark-lab', [['terasort', 4], ['pagerank', 2], ['tpcds-q72', 3], ['kmeans-3', 3]]);
await schedule('early-3', 'flink-lab', [['nexmark-q8', 4]]);
await wait(1);
await schedule('early-4', 'profiling', [['tpcds-q64', 2]]);
await wait(20); // by now all that fits has its place
await create('/api/v1/namespaces/batch/pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'etl-orders-xl' }, spec: pods('etl', { cpu: '12', memory: '24Gi' }) });
await wait(80);
await schedule('nightly-42', 'spark-lab', [['tpcds-q64', 4], ['kmeans-3', 3], ['pagerank', 2], ['tpcds-q72', 5], ['terasort', 2]]);
await wait(2); // older ones go first
await schedule('flink-eve', 'flink-lab', [['nexmark-q5', 2], ['nexmark-q8', 8]]);
await schedule('prof-0817', 'profiling', [['kmeans-3', 1], ['terasort', 1]]);
await wait(22);

const browser = await launch();
const entries = [['bayes-2', 4, [4, 5, 6, 11]], ['sort-10g', 3, [3, 7, 8]], ['wordcount', 2, [3, 4]]].map(([job, wide, ids]) => ({ job, wide, ids }));
const draft = JSON.stringify({ name: 'evening-7', testbed: 'default/spark-lab', mode: 'queue', strict: true, entries });
async function picture(name, hash, text, options = {}) {
  const { page, close } = await open(browser, options);
  await page.addInitScript((kept) => localStorage.setItem('berth.draft', kept), draft);
  await page.goto(cluster.url);
  await page.getByText('Live,').waitFor();
  await page.evaluate((to) => { location.hash = to; }, hash);
  await page.getByText(text).first().waitFor();
  await page.waitForTimeout(2500);
  await page.screenshot({ path: path.join(out, `${name}.png`) });
  await close();
}
await picture('page-testbeds', '#/testbeds?job=default%2Ftpcds-q64&range=6', /Dry run:/);
await picture('page-testbeds-400', '#/testbeds?range=6', 'Slot timeline', { width: 400 });
await picture('page-cluster', `#/cluster?node=${nodes[17]}`, /nodes/);
await picture('page-decision', '#/decisions/batch/etl-orders-xl', 'No node fits');
await picture('page-queue', '#/queue', 'llm-pretrain');
await browser.close();
await cluster.stop();
