// SPDX-License-Identifier: Apache-2.0
// Scavenger jobs that are always the same, as /api/v1/scavengers serves them: those of the design's
// pictures, or very many.
const minute = 60_000;
const hour = 60 * minute;
const CORE_HOUR = 3_600_000; // in thousandths of a core-second

/** name, namespace, cores, nodes, running for min, cost in core-hours, minutes a tooth, reports, interrupted, minutes ago that it was. */
const running = [
  ['pi-digits-7', 'physics', 2, 1, 300, 0.1, 6, true, 0],
  ['mc-ising-044', 'physics', 4, 1, 44, 0.27, 16, true, 1, 60],
  ['hyperopt-lgbm-88', 'ml-train', 12, 3, 130, 0.4, 30, false, 1],
  ['blender-ep4-f0913', 'render', 8, 1, 45, 0.67, 10, true, 1, 57],
  ['lammps-melt-12', 'chem', 16, 2, 200, 1.07, 15, true, 0],
  ['blender-ep4-f0912', 'render', 8, 1, 48, 1.07, 10, true, 3, 57],
  ['mc-ising-051', 'physics', 4, 1, 19, 1.27, 22, true, 1, 39],
  ['hyperopt-lgbm-87', 'ml-train', 12, 3, 71, 2.2, 30, false, 2, 78],
  ['lammps-melt-11', 'chem', 16, 2, 260, 3.2, 15, true, 1],
  ['gromacs-villin-3', 'chem', 32, 4, 390, 5.87, 30, false, 2],
  ['fold-p53-r248q', 'bio', 24, 3, 55, 10, 30, false, 4, 68],
  ['ocean-nemo-r4', 'climate', 48, 6, 560, 30.4, 38, false, 5],
];
const waiting = [
  ['ocean-nemo-r2', 'climate', 48, 7, 'Threshold', 27, 130], ['fold-p53-y220c', 'bio', 24, 4, 'Threshold', 3, 38], ['gromacs-villin-4', 'chem', 32, 2, 'Threshold', 11, 61],
  ['blender-ep4-f0914', 'render', 8, 1, 'starting', 0, 6], ['hyperopt-lgbm-89', 'ml-train', 12, 0, 'Turn', 0, 22], ['lammps-melt-13', 'chem', 16, 0, 'Turn', 0, 14],
  ['lammps-melt-14', 'chem', 16, 0, 'Turn', 0, 14], ['mc-ising-052', 'physics', 4, 0, 'OverQuota', 0, 3], ['mc-ising-053', 'physics', 4, 0, 'OverQuota', 0, 3],
];

function ran(now, [name, namespace, cores, nodes, long, cost, tooth, reported, interrupted, fell]) {
  const window = tooth * minute;
  const rate = cores * 1000;
  const into = reported ? (cost * hour) / cores : window * 0.05;
  const basis = (since) => ({ since, rate, window: reported ? 4 * hour : window, steps: 3, reported, restart: reported ? 0 : Math.max(0, Math.round((cost * CORE_HOUR))) });
  const begun = now - long * minute;
  const track = [];
  const run = (from, to) => {
    for (let at = from; at < to; at += reported ? window : to - from) {
      const end = Math.min(to, at + (reported ? window : to - from));
      track.push({ from: at, to: end, basis: { ...basis(at), restart: 0 } });
    }
  };
  if (fell) {
    run(now - 95 * minute, now - fell * minute);
    const last = track[track.length - 1];
    const since = reported ? last.to - last.from : 0.6 * window;
    last.lost = reported ? (rate * since) / 1000 : (rate * (window / 3) * (interrupted % 3)) / 1000;
  }
  const since = now - into;
  if (reported && since > begun) run(Math.max(begun, now - 95 * minute), since);
  track.push({ from: reported ? since : Math.max(begun, now - 95 * minute), basis: { ...basis(reported ? since : begun), restart: 0 } });
  return { namespace, name, uid: `u-${name}`, state: 'running', cores: cores * 1000, members: nodes, nodes, since: begun, interrupted, cost: reported ? basis(since) : { ...basis(begun), window: 100 * 24 * hour }, track, lost: interrupted * cost * 1800, useful: (cores * long) * 60, ...(reported ? { checkpoint: { last: since, count: Math.floor(long / tooth), advised: '6m20s' } } : {}) };
}
function waits(now, [name, namespace, cores, interrupted, reason, short, age], turn) {
  const common = { namespace, name, uid: `u-${name}`, cores: cores * 1000, members: 1, nodes: 0, since: now - age * minute, interrupted, track: [], lost: 0, useful: 0 };
  if (reason === 'starting') return { ...common, state: 'starting' };
  return { ...common, state: 'waiting', waits: { turn: turn + 1, reason, message: reason === 'OverQuota' ? `cpu: 40 of 40 in use by ${namespace}, ${cores} more asked for` : `cpu: 2219 of 2240 in use, ${cores} more asked for`, ...(short ? { short: short * 1000 } : {}) } };
}

export function picturedHistory(now, range) {
  const [long, step] = { '1h': [hour, minute], '6h': [6 * hour, 5 * minute], '24h': [24 * hour, 15 * minute], '7d': [168 * hour, 2 * hour], '30d': [720 * hour, 6 * hour] }[range] ?? [24 * hour, 15 * minute];
  const n = long / step;
  const at = Array.from({ length: n }, (_, i) => i / n);
  const ordinary = at.map((t) => 0.45 + 0.09 * Math.cos(2 * Math.PI * (t + 0.02)) + 0.008 * Math.sin(40 * t));
  const scavengers = at.map((t, i) => Math.min(0.16, 0.7 - ordinary[i]) + 0.008 * Math.sin(55 * t));
  const reclaimed = at.map((t) => ((t > 0.25 && t < 0.63 ? 570 : 480) * step) / hour);
  const shaken = Math.floor(n * 0.64);
  const lost = at.map((t, i) => ((i >= shaken && i < shaken + n / 24 ? 18 : i >= shaken + n / 24 && i < shaken + n / 12 ? 10 : Math.floor(t * 24) === 4 ? 8 : 3.4 + Math.sin(20 * t)) * step) / hour);
  const causes = [{ step: shaken, reason: 'NodeLost', jobs: 11, lost: 14.2 }, ...at.map((_, step_) => step_).filter((i) => i % 5 === 2).map((step_) => ({ step: step_, reason: 'Preempted', jobs: 1, lost: 0.3 }))];
  return { from: now - long, step, to: now, ordinary, scavengers, reclaimed, lost, causes, totals: { reclaimed: 12_317, lost: 112.3, interrupted: 57, jobs: 34, givenBack: { p50: 1800, p99: 4100, times: 57 } } };
}

const candidate = (now, name, namespace, cores, ago, cost, chosen = false) => ({ namespace, name, node: 'n23', cores: cores * 1000, checkpoint: now - ago * minute, cost: cost * CORE_HOUR, chosen });
export function picturedVictims(now) {
  const one = (i) => ({
    id: 57 - i, time: now - i * 25 * minute - 42_000, door: 'scheduler', for: { namespace: 'shop', name: 'checkout-7d9f8b6c5-9mzlq' }, node: 'n23', cost: 0.21 * CORE_HOUR, exact: true, nodes: 4,
    candidates: [candidate(now, 'mc-ising-031', 'physics', 4, 3, 0.21, true), candidate(now, 'blender-ep4-f0911', 'render', 8, 7, 0.93), candidate(now, 'lammps-melt-12', 'chem', 16, 4, 1.07), candidate(now, 'gromacs-villin-3', 'chem', 32, 11, 5.87)],
    stockCost: 1.07 * CORE_HOUR,
  });
  return Array.from({ length: 57 }, (_, i) => one(i));
}

function picturedJobs(now, many) {
  const small = many > 0 ? Array.from({ length: many }, (_, i) => [...running[i % 12].slice(0, 3), ...running[i % 12].slice(3)].map((value, n) => (n === 0 ? `${value}-${i}` : value))) : [...running, ...Array.from({ length: 20 }, (_, i) => [`sweep-seed-${100 + i}`, 'ml-train', 12, 1, 100 + 7 * i, 31 + 3 * i, 30, false, 0])];
  return [...small.map((row) => ran(now, row)), ...waiting.map((row, i) => waits(now, row, i))];
}

export function picturedScavengers({ many = 0, changes = false } = {}) {
  const send = (reply, event, data) => reply.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  return (request, reply, rest, url, json) => {
    const now = Date.now();
    if (rest[0] === 'history') return json(reply, picturedHistory(now, url.searchParams.get('range')));
    if (rest[2] === 'explanation') return json(reply, { subject: `ScavengerJob ${rest[0]}/${rest[1]}`, state: 'Running', well: true, cause: 'It runs for 44 min on 1 node; interrupted now it would lose 0.27 core-hours, what it did since its last checkpoint 4 min ago.', remedy: '', because: ['It was interrupted once: the scheduler preempted it 60 min ago for shop/checkout-7d9f8b6c5-x2k4q.'] });
    if (rest[0] !== 'stream') return json(reply, null);
    reply.writeHead(200, { 'content-type': 'text/event-stream' });
    const jobs = picturedJobs(now, many);
    send(reply, 'summary', { time: now, threshold: 70, capacity: 3_178_000, ordinary: 1_782_000, scavengers: 412_000, free: 21_000, history: 1 });
    send(reply, 'victims', picturedVictims(now));
    send(reply, 'jobs', jobs);
    // One job in fifty checkpoints, four times a second, where somebody wants to see how that feels.
    let round = 0;
    const timer = changes ? setInterval(() => {
      const put = jobs.filter((job, i) => job.cost?.reported && i % 50 === round % 50).map((job) => Object.assign(job, { cost: { ...job.cost, since: Date.now() } }));
      ++round;
      send(reply, 'changed', { put, gone: [] });
    }, 250) : null;
    request.on('close', () => clearInterval(timer));
    return true;
  };
}
