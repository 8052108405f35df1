// SPDX-License-Identifier: Apache-2.0
// A cluster that is always the same, served as the gateway serves one: what screenshots are compared
// on, at sizes that a test cannot start, and what one develops against.
//   node tests/ui/pictured.mjs ui/dist 200 8080
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { picturedScavengers } from './pictured_scavengers.mjs';
import { picturedExternal } from './pictured_testbeds.mjs';

const kinds = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

/** Numbers that look drawn and are the same each time. */
export function drawn(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export function picturedMap(nodes) {
  const random = drawn(7);
  const zones = ['eu1-a', 'eu1-b', 'eu1-c', 'eu1-d'];
  const racks = Array.from({ length: Math.ceil(nodes / 48) }, (_, i) => `rack-${i}`);
  const columns = { cpu: [], cpuAsked: [], memory: [], memoryAsked: [], pods: [], podsThere: [], gpu: [], gpuAsked: [], state: [], cpuUsed: [], memoryUsed: [] };
  const names = [];
  const zone = [];
  const rack = [];
  for (let i = 0; i < nodes; ++i) {
    const at = Math.floor((i * 4) / nodes);
    names.push(`n${i}`);
    zone.push(at);
    rack.push(Math.floor(i / 48));
    let asked = Math.min(1, Math.max(0.02, 0.45 + 0.25 * at * (at < 3 ? 0.4 : 0.1) + (random() + random() - 1) * 0.45));
    if (rack[i] % 13 === 5) asked = 0.97;
    const used = asked * (0.25 + random() * 0.6);
    columns.cpu.push(15890);
    columns.cpuAsked.push(Math.round(15890 * asked));
    columns.memory.push(62259);
    columns.memoryAsked.push(Math.round(62259 * Math.min(1, asked * (0.7 + random() * 0.5))));
    columns.pods.push(110);
    columns.podsThere.push(Math.round(30 * asked));
    columns.gpu.push(i % 25 === 0 ? 8 : 0);
    columns.gpuAsked.push(i % 50 === 0 ? 6 : 0);
    columns.cpuUsed.push(Math.round(15890 * used));
    columns.memoryUsed.push(Math.round(62259 * used * 0.8));
    columns.state.push(i % 709 === 171 ? 1 : i % 811 === 96 ? 2 : i === 188 || i === 189 || (i > 2640 && i < 2671) ? 4 : 0);
  }
  return {
    layout: 1, names,
    labels: { 'topology.kubernetes.io/zone': { values: zones, of: zone }, 'topology.example/rack': { values: racks, of: rack } },
    columns,
  };
}

const minute = 60_000;
const waiting = [
  ['active', 'shop', 'checkout-7d9f8b6c5-pl7wd', 1, 1000, '', '', 'next scheduling cycle', 0, 400],
  ['active', 'search', 'search-indexer-5f6c9d7b8-t4x9q', 1, 500, 'Insufficient cpu on 171 nodes', 'NodeResourcesFit', 'woken: a pod on n64 ended', 4, 6 * minute],
  ['active', 'batch', 'report-daily-29184420-k2m8x', 1, 0, '', '', 'next scheduling cycle', 0, 2000],
  ['backoff', 'ingest', 'ingest-worker-58c7d6b9f', 2, 500, 'Insufficient cpu on 188 nodes', 'NodeResourcesFit', 'backoff 8 s', 4, 3 * minute, 3000, 8000],
  ['backoff', 'platform', 'loki-write-2', 1, 800, '2 claims not yet bound', 'VolumeBinding', 'backoff 4 s', 3, minute, 1000, 4000],
  ['backoff', 'ml-train', 'vit-finetune-worker-2', 1, 100, 'Conflict: n61 changed meanwhile', 'DefaultBinder', 'backoff 2 s', 2, 9000, 1000, 2000],
  ['unschedulable', 'ml-train', 'llm-pretrain-worker', 4, 100, 'Insufficient nvidia.com/gpu on 196 nodes', 'NodeResourcesFit', 'a node or pod with GPUs', 11, 41 * minute, 2 * minute],
  ['unschedulable', 'batch', 'etl-orders-xl-9xk2p', 1, 0, 'Insufficient cpu on 131, 3 other causes', 'NodeResourcesFit', 'a pod to end or a node to grow', 6, 18 * minute, 4 * minute],
  ['unschedulable', 'analytics', 'trino-worker-7b9c6d5f8', 2, 200, 'Insufficient memory on 196 nodes', 'NodeResourcesFit', 'a pod to end or a node to grow', 5, 12 * minute, 3 * minute],
  ['unschedulable', 'shop', 'orders-cache-2', 1, 1000, 'Zone eu1-d would exceed skew 1', 'PodTopologySpread', 'a pod or node in eu1-b', 3, 7 * minute, 5 * minute],
  ['unschedulable', 'ingest', 'kafka-broker-5', 1, 800, 'Volume in eu1-d, nodes there cordoned', 'VolumeBinding', 'a node in eu1-d', 8, 26 * minute, minute],
  ['unschedulable', 'platform', 'prometheus-k8s-1', 1, 800, 'prometheus-k8s-0 keeps it off 4 nodes', 'InterPodAffinity', 'a node labelled role=infra', 4, 9 * minute, 2 * minute],
  ['unschedulable', 'search', 'vector-rerank-6d8f7c9b5-h5n2v', 1, 500, 'Taint dedicated=gpu is not tolerated', 'TaintToleration', 'a taint or toleration to change', 2, 4 * minute, 5 * minute],
  ['gated', 'batch', 'tpcds-q72-exec', 3, 0, 'Gate berth.dev/slots', 'SchedulingGates', 'its gates to be removed', 0, 14 * minute],
  ['gated', 'ml-train', 'bert-distill-worker', 2, 100, 'Gate kueue.x-k8s.io/admission', 'SchedulingGates', 'its gates to be removed', 0, 52 * minute],
];

export function picturedQueue(now) {
  const random = drawn(3);
  const groups = waiting.map(([place, namespace, name, count, priority, cause, plugin, waitsFor, attempts, age, next, pause]) => ({
    place, namespace, name, pod: count > 1 ? `${name}-0` : name, count, priority, scheduler: 'default-scheduler', cause, plugin, waitsFor,
    attempts, since: now - age, ...(next ? { next: now + next } : {}), ...(pause ? { pause } : {}),
  }));
  const counts = { active: 0, backoff: 0, unschedulable: 0, gated: 0 };
  for (const group of groups) counts[group.place] += group.count;
  const series = (at, by) => Array.from({ length: 120 }, (_, i) => Math.max(0, Math.round(at + Math.sin(i / 9) * by + random() * by))).concat(at);
  return {
    counts, oldest: now - 52 * minute, groups, more: 0,
    moves: [
      { time: now - 3000, event: 'AssignedPodDelete', woken: 1, waiting: 11, pod: 'search/search-indexer-5f6c9d7b8-t4x9q' },
      { time: now - 24_000, event: 'UnschedulableTimeout', woken: 1, waiting: 11, pod: 'batch/etl-orders-xl-9xk2p', outcome: 'still unschedulable' },
      { time: now - 112_000, event: 'NodeUpdate', woken: 0, waiting: 11 },
    ],
    history: { step: 30_000, active: series(3, 2), backoff: series(4, 3), unschedulable: series(11, 4), gated: series(5, 1), placed: series(19, 6) },
  };
}

const filters = ['NodeUnschedulable', 'NodeName', 'TaintToleration', 'NodeAffinity', 'NodeResourcesFit', 'VolumeBinding', 'PodTopologySpread', 'InterPodAffinity'];

export function picturedDecisions(now) {
  const base = { nodes: 200, stages: [{ stage: 'PreFilter', us: 200 }, { stage: 'Filter', us: 1100 }, { stage: 'Score', us: 700 }, { stage: 'Bind', us: 3500 }] };
  return [
    { ...base, id: 9, time: now - 24_000, namespace: 'batch', name: 'etl-orders-xl-9xk2p', uid: 'u1', outcome: 'unschedulable', node: '', us: 1900, attempt: 6, fit: 0, rejected: [{ plugin: 'NodeUnschedulable', nodes: 3 }, { plugin: 'TaintToleration', nodes: 36 }, { plugin: 'NodeAffinity', nodes: 30 }, { plugin: 'NodeResourcesFit', nodes: 131 }], message: '0/200 nodes are available: 131 Insufficient cpu, …', stages: base.stages.slice(0, 2) },
    { ...base, id: 8, time: now - 130_000, namespace: 'shop', name: 'checkout-7d9f8b6c5-x2k4q', uid: 'u2', outcome: 'placed', node: 'n17', us: 5600, attempt: 3, fit: 64, rejected: [{ plugin: 'NodeUnschedulable', nodes: 3 }, { plugin: 'TaintToleration', nodes: 36 }, { plugin: 'NodeAffinity', nodes: 48 }, { plugin: 'NodeResourcesFit', nodes: 49 }], message: '' },
    { ...base, id: 7, time: now - 200_000, namespace: 'batch', name: 'report-daily-29184420-k2m8x', uid: 'u3', outcome: 'error', node: '', us: 900, attempt: 1, fit: 3, rejected: [], message: 'running Reserve plugin "VolumeBinding": the claim changed meanwhile', stages: [] },
  ];
}

export function picturedExplanation(map, name, now) {
  const random = drawn(11);
  const pending = name.startsWith('etl');
  const asks = pending ? [{ resource: 'cpu', amount: 12000 }, { resource: 'memory', amount: 24576 }, { resource: 'pods', amount: 1 }] : [{ resource: 'cpu', amount: 2000 }, { resource: 'memory', amount: 4096 }, { resource: 'pods', amount: 1 }];
  const n = map.names.length;
  const free = map.columns.cpu.map((has, i) => has - map.columns.cpuAsked[i]);
  if (pending) free.forEach((value, i) => { if (value >= 12000 && i % 11 !== 0) free[i] = 5000 + (i * 37) % 5600; });
  const columns = filters.map((plugin) => ({ plugin, verdict: Array.from({ length: n }, () => 0) }));
  const reasons = ['node(s) were unschedulable', 'node(s) had untolerated taint(s) {dedicated: db}', "node(s) didn't match Pod's node affinity/selector", 'Insufficient cpu', "node(s) didn't match pod topology spread constraints"];
  const says = (plugin, row, reason) => { columns.find((one) => one.plugin === plugin).verdict[row] = reason; };
  for (let i = 0; i < n; ++i) {
    if (map.columns.state[i] !== 0) says('NodeUnschedulable', i, 1);
    if (i % 11 === 0) says('TaintToleration', i, 2);
    if (i % 7 === 3) says('NodeAffinity', i, 3);
    if (free[i] < asks[0].amount) says('NodeResourcesFit', i, 4);
    if (pending && i % 31 === 9) says('PodTopologySpread', i, 5);
  }
  const first = Array.from({ length: n }, (_, row) => columns.findIndex((one) => one.verdict[row] !== 0));
  const feasible = first.flatMap((at, row) => (at < 0 ? [row] : []));
  const score = (plugin, weight, of) => ({ plugin, weight, points: feasible.map((row) => Math.round(of(row) * weight)) });
  const scores = pending ? [] : [
    score('NodeResourcesFit', 1, (row) => (100 * free[row]) / 15890), score('NodeResourcesBalancedAllocation', 1, () => 60 + random() * 35),
    score('ImageLocality', 1, (row) => (row % 5 === 2 ? 71 : 0)), score('InterPodAffinity', 2, (row) => (row % 3 ? 100 : 60)), score('PodTopologySpread', 2, () => 50 + random() * 50),
    score('TaintToleration', 3, () => 100), score('NodeAffinity', 2, () => 0)];
  const totals = feasible.map((_, i) => scores.reduce((sum, one) => sum + one.points[i], 0));
  const best = totals.indexOf(Math.max(...totals));
  return {
    pod: { namespace: pending ? 'batch' : 'shop', name, uid: pending ? 'u1' : 'u2', phase: pending ? 'pending' : 'placed', node: pending ? '' : map.names[feasible[best]], since: now - (pending ? 18 : 120) * minute, priority: 0, scheduler: 'default-scheduler', owner: '', asks },
    time: now - 3000, outcome: pending ? 'nowhere' : 'fits', chosen: pending ? '' : map.names[feasible[best]],
    message: pending ? '0/200 nodes are available: …' : '', names: map.names, zones: map.names.map((_, i) => map.labels['topology.kubernetes.io/zone'].values[map.labels['topology.kubernetes.io/zone'].of[i]]),
    free: [{ resource: 'cpu', amount: free, of: map.columns.cpu }, { resource: 'memory', amount: map.columns.memory.map((has, i) => has - map.columns.memoryAsked[i]), of: map.columns.memory }, { resource: 'pods', amount: map.columns.pods.map((has, i) => has - map.columns.podsThere[i]), of: map.columns.pods }],
    filters: columns, first, reasons, feasible, totals, scores,
    changes: pending ? [
      { kind: 'ask-less', says: [{ text: 'Ask for 10.5 cores instead of 12' }], fits: ['n142'], fitsOn: 1, cost: '1 field, 1.5 cores less', patch: '{"spec":{"containers":[{"name":"etl","resources":{"requests":{"cpu":"10500m"}}}]}}' },
      { kind: 'tolerate', says: [{ text: 'Tolerate ' }, { name: 'dedicated=db:NoSchedule' }], fits: ['n88', 'n110', 'n132'], fitsOn: 3, cost: '1 toleration more', patch: '{"spec":{"tolerations":[]}}' },
      { kind: 'uncordon', says: [{ text: 'Uncordon ' }, { name: 'n188' }], fits: ['n188'], fitsOn: 1, cost: 'opens it to all pods', command: 'kubectl uncordon n188' },
      { kind: 'node', says: [{ text: 'Add a node like ' }, { name: 'n57' }], fits: ['a new node'], fitsOn: 1, cost: '15.9 cores, 60.8 GiB more' },
    ] : [],
    attempts: picturedDecisions(now).filter((one) => one.name === name),
  };
}

export function picturedNode(map, name, now) {
  const row = map.names.indexOf(name);
  if (row < 0) return null;
  const pods = [['postgres-orders-1', 4000, 16], ['checkout-7d9f8b6c5-x2k4q', 2000, 4], ['search-api-6c8d7f9b4-qv8zj', 2000, 6], ['ingest-worker-58c7d6b9f-c7n4v', 1500, 3], ['catalog-api-5b7f9d8c6-kw2ht', 1000, 2], ['mc-ising-017-0', 1000, 2], ['payments-backend-7c9b8d6f5-p6z8d', 750, 1.5], ['redis-sessions-0', 500, 4], ['cilium-w7q2n', 200, 0.5], ['fluent-bit-8x2lp', 100, 0.3], ['node-exporter-4fjz9', 100, 0.1], ['csi-node-rbd-hm5cz', 100, 0.1], ['kube-proxy-zl8tv', 100, 0.1]];
  const random = drawn(row);
  return {
    name, ready: map.columns.state[row] !== 1, cordoned: map.columns.state[row] === 4, pressure: [], labels: { 'topology.kubernetes.io/zone': 'eu1-a', 'node.kubernetes.io/instance-type': 'c16m64' },
    taints: [], kubelet: 'v1.36.4', created: now - 38 * 86_400_000, cpu: 15890, memory: 62259, podsAllowed: 110,
    pods: pods.map(([pod, cpu, gib], i) => ({ namespace: 'shop', name: pod, uid: `${name}-${i}`, cpu, memory: Math.round(gib * 1024), cpuUsed: Math.round(cpu * (0.3 + random() * 0.6)), memoryUsed: Math.round(gib * 700), priority: 0, since: now - (i + 1) * 7_200_000, owner: '', scavenger: pod.startsWith('mc-') })),
  };
}

export function serve({ dist, nodes = 200, port = 0, quiet = false }) {
  const external = picturedExternal(nodes > 400 ? { many: nodes, changes: !quiet } : {});
  const scavengers = picturedScavengers(nodes > 400 ? { many: 2 * nodes, changes: !quiet } : {});
  const map = picturedMap(nodes);
  const random = drawn(99);
  const streams = new Set();
  const send = (reply, event, data) => reply.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  const json = (reply, value) => {
    reply.writeHead(value === null ? 404 : 200, { 'content-type': 'application/json' });
    reply.end(JSON.stringify(value ?? { message: 'there is no such thing', reason: 'NotFound', code: 404 }));
  };
  const beat = () => ({ time: Date.now(), cluster: nodes > 400 ? 'prod-global' : 'prod-eu1', version: 'pictured' });
  // A change of one node in fifty, four times a second, unless it is to be still.
  const tick = setInterval(() => {
    if (quiet) return;
    const rows = Array.from({ length: Math.ceil(nodes / 50) }, () => Math.floor(random() * nodes));
    for (const row of rows) map.columns.cpuUsed[row] = Math.round(map.columns.cpuAsked[row] * (0.3 + random() * 0.6));
    const columns = Object.fromEntries(Object.entries(map.columns).map(([key, all]) => [key, rows.map((row) => all[row])]));
    for (const reply of streams) send(reply, 'rows', { layout: 1, rows, columns });
  }, 250);
  const beats = setInterval(() => { for (const reply of streams) send(reply, 'beat', beat()); }, 2000);
  const server = createServer(async (request, reply) => {
    const url = new URL(request.url, 'http://x');
    const parts = url.pathname.split('/').filter(Boolean).map(decodeURIComponent);
    const now = Date.now();
    if (parts[0] === 'external') return external.answer(request, reply, parts, json);
    if (parts[0] === 'api') {
      const [, , what, ...rest] = parts;
      if (what === 'stream') {
        reply.writeHead(200, { 'content-type': 'text/event-stream' });
        send(reply, 'beat', beat());
        send(reply, 'map', map);
        send(reply, 'queue', picturedQueue(now));
        send(reply, 'decisions', picturedDecisions(now));
        streams.add(reply);
        request.on('close', () => streams.delete(reply));
        return;
      }
      if (what === 'scavengers') return scavengers(request, reply, rest, url, json);
      if (what === 'nodes') return json(reply, picturedNode(map, rest[0], now));
      if (what === 'explain') return json(reply, picturedExplanation(map, rest[1], now));
      if (what === 'search') return json(reply, [{ kind: 'pod', namespace: 'shop', name: 'checkout-7d9f8b6c5-x2k4q', note: 'in shop, running on n17' }].filter((one) => one.name.includes(url.searchParams.get('q'))));
      return json(reply, null);
    }
    try {
      const file = parts.length <= 1 ? 'index.html' : parts.slice(1).join('/');
      const body = await readFile(path.join(dist, file));
      reply.writeHead(200, { 'content-type': kinds[path.extname(file)] ?? 'application/octet-stream' });
      reply.end(body);
    } catch {
      json(reply, null);
    }
  });
  return new Promise((resolve) => {
    server.listen(port, '127.0.0.1', () => {
      const stop = () => {
        clearInterval(tick);
        clearInterval(beats);
        server.closeAllConnections();
        server.close();
      };
      resolve({ url: `http://127.0.0.1:${server.address().port}/ui/`, stop });
    });
  });
}

if (process.argv[1] === import.meta.filename) {
  const [, , dist = 'ui/dist', nodes = '200', port = '8080'] = process.argv;
  console.log((await serve({ dist, nodes: Number(nodes), port: Number(port) })).url);
}
