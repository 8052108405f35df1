// SPDX-License-Identifier: Apache-2.0
// Testbeds, jobs and schedulings that are always the same, as /external/v1 serves them: those of the
// design's pictures, or very many.
const minute = 60_000;
const NS = 'default';
const at = (now, minutes) => new Date(now + minutes * minute).toISOString();
const ref = (name) => ({ name, namespace: NS });

function testbed(name, nodes, perNode, cpu, memory, states, extra = {}) {
  const slotsByNode = {};
  nodes.forEach((node, n) => {
    slotsByNode[node] = Array.from({ length: perNode }, (_, i) => {
      const position = i * nodes.length + n;
      const state = states(position);
      return { position, nodeName: node, nodeId: n, slotPositionOnNode: i, state, class: 'default', reservedFor: '', podName: `ghostpod-${name}-on-${node}-${i}`, podUId: `u-${name}-${position}`, ...(state === 'ERROR' ? { problem: 'no room: 1.4 cores are free, a slot needs 2' } : {}) };
    });
  });
  return { name, namespace: NS, resourceVersion: '100', state: 'RUNNING', numberOfNodes: nodes.length, numberOfSlotsPerNode: perNode, slotsByNode, size: nodes.length * perNode, resourcesPerSlot: { cpu, memory }, sharing: 'Exclusive', ...extra };
}
const named = (from, count) => Array.from({ length: count }, (_, i) => `n${from + i}`);

/** What has ended, by job: [from, to, slots, successful]. In minutes from now. */
const past = {
  wordcount: [[-42, -33.1, [0, 1, 2, 3, 4, 5], true]],
  terasort: [[-32, -13.6, [0, 1, 2, 3, 4, 5], true]],
  pagerank: [[-41, -22.6, [6, 7, 8, 9], true]],
  'tpcds-q14a': [[-38, -19.1, [10, 11], true], [-21, -9.1, [6, 7], true]],
  'kmeans-3': [[-17.9, -10.6, [9, 10], false]],
};
const running = { 'tpcds-q64': [-12.5, 9, [0, 1, 2, 3]], 'kmeans-3': [-8, 14, [4, 5, 6]], 'nexmark-q5': [-14, 30, [0, 1]] };
const spark = 'SparkApplication';
const jobs = [
  ['tpcds-q64', spark, 'Running', 22, 18], ['kmeans-3', spark, 'Running', 19, 31], ['pagerank', spark, 'Submitted', 18, 27], ['tpcds-q72', spark, 'InQueue', 24, 9], ['tpcds-q14a', spark, 'InQueue', 12, 22],
  ['nexmark-q5', 'FlinkDeployment', 'Running', 44, 4], ['nexmark-q8', 'FlinkDeployment', 'InQueue', 31, 6], ['wordcount', spark, 'Completed', 9, 40], ['terasort', spark, 'Completed', 18, 35],
  ['bayes-2', spark, 'Ready', 16, 12], ['sort-10g', spark, 'Ready', 8, 14], ['join-h9', spark, 'Ready', 10, 7],
];

function job(now, [name, kind, state, mean, runs]) {
  const flink = kind !== spark;
  const bed = flink ? 'flink-lab' : 'spark-lab';
  const drawn = past[name] ?? [];
  const older = Array.from({ length: Math.max(0, runs - drawn.length) }, (_, i) => ({ run: i + 1, start: at(now, -2000 - 60 * i), stop: at(now, -2000 - 60 * i + mean), successful: true, scheduling: 'earlier', testbed: bed, slotIds: [0], replication: 1 }));
  const scheduledEvents = [...older, ...drawn.map(([from, to, slotIds, successful], i) => ({ run: older.length + i + 1, start: at(now, from), stop: at(now, to), successful, scheduling: 'nightly-42', testbed: bed, slotIds, replication: slotIds.length }))];
  const [since, , slots] = running[name] ?? (state === 'Submitted' ? [-0.2, 18, [7, 8]] : []);
  return {
    name, namespace: NS, resourceVersion: '90', state, kind, externalScheduler: {}, scheduledEvents,
    ...(slots ? { run: { run: runs + 1, ...(state === 'Running' ? { start: at(now, since) } : { submitted: at(now, since) }), testbed: bed, slotIds: slots } } : {}),
    ...(['Running', 'Submitted', 'InQueue', 'Completed'].includes(state) ? { activeScheduling: { name: flink ? 'flink-eve' : 'nightly-42', namespace: NS } } : {}),
  };
}
const repeated = (pairs) => pairs.flatMap(([name, count]) => Array.from({ length: count }, () => name));
const condition = (type, status, reason, message, remedy) => ({ type, status, reason, message, ...(remedy ? { remedy } : {}), lastTransitionTime: '2026-01-01T00:00:00Z' });

export function picturedTestbeds(now) {
  const sparkStates = (position) => (position <= 6 ? 'OCCUPIED' : position <= 8 ? 'RESERVED' : position === 9 ? 'ERROR' : 'FREE');
  const noRoom = { ...condition('Ready', 'False', 'NoRoom', 'n104 (1.4 cores are free, a slot needs 2)', 'Make the slots smaller or fewer, or move other pods off the nodes named.'), lastTransitionTime: at(now, -2.9) };
  return {
    testbeds: [
      testbed('spark-lab', named(101, 6), 2, '2', '6Gi', sparkStates, { conditions: [noRoom] }),
      testbed('flink-lab', named(107, 4), 2, '1', '4Gi', (position) => (position < 2 ? 'OCCUPIED' : 'FREE')),
      testbed('profiling', named(111, 1), 2, '750m', '6Gi', () => 'FREE'),
    ],
    jobs: jobs.map((one) => job(now, one)),
    schedulings: [
      {
        name: 'nightly-42', namespace: NS, resourceVersion: '95', state: 'Submitting', created: at(now, -51), acquiredTime: at(now, -51), testBed: 'spark-lab', slots: null,
        queue: repeated([['wordcount', 6], ['terasort', 6], ['tpcds-q64', 4], ['kmeans-3', 3], ['pagerank', 2], ['tpcds-q72', 3], ['tpcds-q14a', 2]]),
        jobStatus: [['wordcount', 'Completed'], ['terasort', 'Completed'], ['tpcds-q64', 'Running'], ['kmeans-3', 'Scheduled'], ['pagerank', 'Submitted'], ['tpcds-q72', 'InQueue'], ['tpcds-q14a', 'InQueue']].map(([name, state]) => ({ name, state })),
        conditions: [condition('Progressing', 'True', 'WaitingForCapacity', `${NS}/tpcds-q72 needs 3 slots, 1 of them are not free`, 'Wait until slots become free, or make the Testbed larger.')],
      },
      {
        name: 'flink-eve', namespace: NS, resourceVersion: '96', state: 'Submitting', created: at(now, -18), testBed: 'flink-lab', queue: null,
        slots: { mode: 'strict', jobs: [{ name: 'nexmark-q5', slots: [0, 1] }, { name: 'nexmark-q8', slots: [0, 1, 2, 3] }] },
        jobStatus: [{ name: 'nexmark-q8', state: 'InQueue' }, { name: 'nexmark-q5', state: 'Running' }],
      },
      {
        name: 'prof-0817', namespace: NS, resourceVersion: '97', state: 'Acquire', created: at(now, -2), testBed: 'profiling', slots: null, queue: ['kmeans-3', 'terasort'],
        jobStatus: [{ name: 'kmeans-3', state: 'Acquiring' }, { name: 'terasort', state: 'Acquiring' }],
        conditions: [condition('Acquired', 'False', 'JobHeld', `BatchJob ${NS}/kmeans-3 is held by ${NS}/nightly-42`, 'Wait, or delete the Scheduling that holds the job.')],
      },
      ...Array.from({ length: 41 }, (_, i) => ({ name: `nightly-${i + 1}`, namespace: NS, resourceVersion: '10', state: 'Completed', created: at(now, -1500 - 60 * i), completionTime: at(now, -1450 - 60 * i), testBed: 'spark-lab', slots: null, queue: ['wordcount'], jobStatus: [{ name: 'wordcount', state: 'Completed' }] })),
    ],
  };
}

const planned = (now, scheduling, name, slots, begin, finish, more = {}) => ({ job: ref(name), scheduling: ref(scheduling), draft: false, nth: 0, slots, begin: at(now, begin), finish: at(now, finish), openEnd: false, samples: 9, after: [], waits: null, ...more });

export function picturedTimeline(now, bed, body) {
  const own = { 'spark-lab': ['tpcds-q64', 'kmeans-3'], 'flink-lab': ['nexmark-q5'] }[bed] ?? [];
  const plans = {
    'spark-lab': [planned(now, 'nightly-42', 'pagerank', [7, 8], 0.6, 18.9), planned(now, 'nightly-42', 'tpcds-q72', [0, 1, 2], 9.4, 32.9, { after: [ref('tpcds-q64')] }), planned(now, 'nightly-42', 'tpcds-q14a', [3, 10], 9.4, 20.9)],
    'flink-lab': [planned(now, 'flink-eve', 'nexmark-q8', [0, 1, 2, 3], 30, 61, { after: [ref('nexmark-q5')] })],
    profiling: [planned(now, 'prof-0817', 'kmeans-3', [0], 14.5, 19.9), planned(now, 'prof-0817', 'terasort', [1], 14.5, 18.9)],
  }[bed] ?? [];
  // The jobs of a draft one after another, once the first slots are free.
  let begin = 14.5;
  const entries = body?.queue ? [...new Set(body.queue)].map((name) => [name, body.queue.filter((one) => one === name).length, null]) : (body?.slots?.jobs ?? []).map((one) => [one.name, one.slots.length, one.slots]);
  const free = [[4, 5, 6, 11], [7, 8, 3], [4, 5]];
  entries.forEach(([name, wide, slots], i) => {
    const mean = jobs.find(([known]) => known === name)?.[3] ?? 10;
    const own = slots ?? Array.from({ length: wide }, (_, n) => (free[i % 3]?.[n] ?? n));
    plans.push(planned(now, body.name, name, own, begin, begin + mean, { draft: true, after: i > 0 ? [ref(entries[i - 1][0])] : [ref('kmeans-3')] }));
    begin += i === 0 ? 7 : mean + 0.4;
  });
  return {
    testbed: ref(bed), now: at(now, 0), order: 'certain', orderShare: 1, draws: 200, waiting: [], assumes: [], planned: plans,
    running: own.map((name) => ({ job: ref(name), scheduling: ref('nightly-42'), draft: false, slots: running[name][2], since: at(now, running[name][0]), finish: at(now, running[name][1]), samples: 9, overdue: false })),
  };
}

/** Many nodes with two slots each, all of one testbed, half of them in use. */
export function manyTestbeds(now, nodes) {
  const wide = 50;
  const states = (position) => (position % 4 < 2 ? 'OCCUPIED' : position % 4 === 2 ? 'RESERVED' : 'FREE');
  const many = testbed('many', named(0, nodes), 2, '1', '2Gi', states);
  const all = Array.from({ length: Math.ceil((nodes * 2) / wide) }, (_, i) => {
    const slotIds = Array.from({ length: wide }, (__, n) => i * wide + n);
    const scheduledEvents = Array.from({ length: 10 }, (__, r) => ({ run: r + 1, start: at(now, -60 + r * 5), stop: at(now, -56 + r * 5), successful: r % 7 !== 3, scheduling: 'busy', testbed: 'many', slotIds, replication: wide }));
    return { name: `job-${i}`, namespace: NS, resourceVersion: '5', state: 'Running', kind: spark, externalScheduler: {}, scheduledEvents, run: { run: 11, start: at(now, -6), testbed: 'many', slotIds: slotIds.filter((slot) => slot % 4 < 2) } };
  });
  return { testbeds: [many], jobs: all, schedulings: [{ name: 'busy', namespace: NS, resourceVersion: '6', state: 'Submitting', created: at(now, -60), testBed: 'many', slots: null, queue: all.slice(0, 40).map((one) => one.name), jobStatus: all.slice(0, 40).map((one) => ({ name: one.name, state: 'Running' })) }] };
}

/** Answers below /external/v1; false: it is not there. */
export function picturedExternal({ many = 0, changes = false } = {}) {
  const begun = Date.now();
  const known = many > 0 ? manyTestbeds(begun, many) : picturedTestbeds(begun);
  let seq = 1000;
  const send = (reply, kind, resource, action = 'ADDED') => reply.write(`event: change\nid: t${seq}.j${seq}.s${seq}\ndata: ${JSON.stringify({ kind, action, seq: seq++, resource })}\n\n`);
  return {
    async answer(request, reply, parts, json) {
      if (parts[2] === 'events') {
        reply.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const [kind, all] of Object.entries(known)) for (const one of all) send(reply, kind, one);
        reply.write(`event: synced\ndata: {"action":"SYNCED","cursor":"t${seq}.j${seq}.s${seq}"}\n\n`);
        // A testbed whose slots keep changing, where somebody wants to see how that feels.
        const timer = changes ? setInterval(() => {
          const [one] = known.testbeds;
          for (const slots of Object.values(one.slotsByNode)) for (const slot of slots) slot.state = (slot.position + seq) % 3 === 0 ? 'FREE' : 'OCCUPIED';
          send(reply, 'testbeds', { ...one, resourceVersion: String(seq) }, 'MODIFIED');
        }, 500) : null;
        request.on('close', () => clearInterval(timer));
        return true;
      }
      const [, , , , kind, name, sub] = parts;
      if (kind === 'testbeds' && sub === 'timeline') return json(reply, picturedTimeline(Date.now(), name));
      if (kind === 'schedulings' && request.method === 'POST') {
        let text = '';
        for await (const piece of request) text += piece;
        const body = JSON.parse(text);
        return json(reply, picturedTimeline(Date.now(), body.testBed, body));
      }
      return json(reply, null);
    },
  };
}
