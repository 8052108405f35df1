// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { newest } from '../api/scavengers.svelte';
import type { ScavengerHistory, ScavengerWire, VictimWire } from '../api/scavenger_types';
import { bands, bars, nice, rangeNamed, ticks } from './chart';
import { byCost, byTurn, causeText, doorText, lossText, short, stockText, waitsText } from './model';
import { draw, SPAN } from './sawtooth';

const minute = 60_000;
const hour = 60 * minute;
const now = 100 * hour;
const job = (name: string, more: Partial<ScavengerWire> = {}): ScavengerWire => ({ namespace: 'ns', name, uid: name, state: 'running', cores: 4000, members: 1, nodes: 1, since: now - hour, interrupted: 0, track: [], lost: 0, useful: 0, ...more });
const basis = (ago: number, rate = 1000, more = {}) => ({ since: now - ago, rate, window: 4 * hour, steps: 3, reported: true, restart: 0, ...more });
const names = (jobs: readonly ScavengerWire[]) => jobs.map((one) => one.name);

it('lists who runs by what an interruption would cost now', () => {
  const jobs = [job('dear', { cost: basis(50 * minute) }), job('cheap', { cost: basis(minute) }), job('none'), job('waits', { state: 'waiting' }), job('asked', { state: 'reclaiming', cost: basis(2 * minute) })];
  expect(names(byCost(jobs, now))).toEqual(['none', 'cheap', 'asked', 'dear']);
});
it('lists who waits by turn, whoever starts first', () => {
  const waits = (turn: number) => ({ state: 'waiting' as const, waits: { turn, reason: 'Turn' as const, message: '' } });
  expect(names(byTurn([job('b', waits(2)), job('a', waits(1)), job('new', { state: 'waiting' }), job('s', { state: 'starting' }), job('r')]))).toEqual(['s', 'a', 'b', 'new']);
});
it('says in three words what a job waits for', () => {
  const text = (reason: string, more = {}) => waitsText(job('a', { state: 'waiting', waits: { turn: 1, reason: reason as 'Turn', message: '', ...more } }), now);
  expect(text('Threshold', { short: 27_000 })).toBe('27 cores short');
  expect(text('Threshold', { short: 1000 })).toBe('1 core short');
  expect(text('Threshold', { resource: 'memory' })).toBe('memory short');
  expect(text('OverQuota')).toBe('quota ns');
  expect(text('Backoff', { until: now + 20_000 })).toBe('in 20 s');
  expect(text('Turn')).toBe('its turn');
  expect(waitsText(job('a', { state: 'starting' }), now)).toBe('starting');
});

const candidate = (name: string, cost: number, chosen = false) => ({ namespace: 'ns', name, node: 'n1', cores: 4000, cost, chosen });
const victim = (more: Partial<VictimWire> = {}): VictimWire => ({ id: 1, time: now, door: 'scheduler', for: { namespace: 'shop', name: 'checkout-7d9f8b6c5-9mzlq' }, node: 'n1', cost: 756_000, exact: true, nodes: 2, candidates: [candidate('a', 756_000, true), candidate('b', 3_852_000)], ...more });

it('says why a victim was chosen, and no more than is known', () => {
  expect(lossText(victim())).toBe('It lost 0.21 core-hours; no other choice would have lost less.');
  expect(lossText(victim({ exact: false }))).toMatch(/no cheaper choice was found in time/);
  expect(lossText(victim({ candidates: [candidate('a', 756_000, true)] }))).toMatch(/nobody else could have made room/);
  expect(lossText(victim({ candidates: [candidate('a', 1, true), candidate('b', 1, true), candidate('c', 2)] }))).toMatch(/^Together they lost/);
  expect(lossText(victim({ cost: 0 }))).toBe('It lost nothing.');
});
it('says who chose where it was not the scheduler', () => {
  expect(doorText(victim({ door: 'operator' }))).toMatch(/^The operator chose/);
  expect(doorText(victim({ door: 'extender' }))).toMatch(/^The extender chose/);
  expect(doorText(victim())).toBe('');
  expect(doorText(victim({ door: 'operator', for: undefined, because: 'cpu: 9 of 10 in use' }))).toBe('The regulator chose.');
  expect(lossText(victim({ for: undefined, candidates: [candidate('a', 756_000, true)] }))).toMatch(/no other choice would have lost less\.$/);
});
it('compares with a stock scheduler only where that would have lost more', () => {
  expect(stockText(victim({ stockCost: 3_852_000 }))).toBe('A stock scheduler would have lost 5.1 times as much.');
  expect(stockText(victim({ cost: 0, stockCost: 3_600_000 }))).toBe('A stock scheduler would have lost 1.00 core-hours.');
  expect(stockText(victim({ stockCost: 756_000 }))).toBe('');
  expect(stockText(victim())).toBe('');
  expect(short('checkout-7d9f8b6c5-9mzlq')).toBe('checkout-…-9mzlq');
  expect(causeText('NodeLost', 11)).toBe('11 jobs lost their node');
});
it('keeps each victim once, newest first', () => {
  const at = (id: number, time: number) => victim({ id, time });
  expect(newest([at(3, 30), at(2, 20)], [at(2, 20), at(1, 10)]).map((one) => one.id)).toEqual([3, 2, 1]);
});

const history = (more: Partial<ScavengerHistory> = {}): ScavengerHistory => ({ from: now - hour, step: minute, to: now, ordinary: [], scavengers: [], reclaimed: [], lost: [], causes: [], totals: { reclaimed: 0, lost: 0, interrupted: 0, jobs: 0 }, ...more });

it('puts steps together to bars of core-hours an hour that end now', () => {
  const all = bars(history({ reclaimed: Array.from({ length: 60 }, () => 1) }), Array.from({ length: 60 }, () => 1), 7 * minute);
  expect(all[all.length - 1]).toEqual({ from: now - 7 * minute, to: now, rate: 60 });
  expect(all[0]?.to).toBe(all[1]?.from);
  expect(all.reduce((sum, one) => sum + (one.rate * (one.to - one.from)) / hour, 0)).toBeCloseTo(60);
});
it('draws nothing where nobody looked', () => {
  const path = bands([0, 0, null, 0], [1, 1, null, 0.5], (i) => i, (v) => 1 - v);
  expect(path.match(/M/g)).toHaveLength(2);
  expect(path).toBe('M0.0 0.0L1.0 0.0L2.0 0.0L2.0 1.0L1.0 1.0L0.0 1.0ZM3.0 0.5L4.0 0.5L4.0 1.0L3.0 1.0Z');
});
it('has axes that end on a number one can read', () => {
  expect([0, 0.07, 17, 480, 1001].map(nice)).toEqual([1, 0.1, 20, 600, 2000]);
  expect(ticks(history(), 4).map((one) => one.at)).toEqual([now - hour, now - 0.75 * hour, now - 0.5 * hour, now - 0.25 * hour, now]);
  expect(ticks(history(), 4).pop()?.text).toBe('now');
  expect([rangeNamed('7d'), rangeNamed('x')]).toEqual(['7d', '24h']);
});

it('draws slopes for a job that reports, steps for one that does not, and a gap where it waited', () => {
  const slope = draw([{ from: now - 30 * minute, basis: basis(30 * minute) }], now, 94, 25);
  expect(slope.line).toBe('M60 23L90 3');
  expect(slope.dot).toEqual({ x: 90, y: 3 });
  const steps = draw([{ from: now - 30 * minute, basis: basis(30 * minute, 1000, { reported: false, window: 30 * minute }) }], now, 94, 25);
  expect(steps.line).toMatch(/^M60 23L70 23L70 13L80 13L80 3L90 3/);
  const gap = draw([{ from: now - 60 * minute, to: now - 40 * minute, basis: basis(60 * minute), lost: 1_200_000 }, { from: now - 20 * minute, basis: basis(20 * minute) }], now, 94, 25);
  expect(gap.line.match(/M/g)).toHaveLength(2);
  expect(gap.crosses).toEqual([{ x: 50, y: 3 }]);
});
it('leaves out what is older than it shows, and bounds what it draws', () => {
  expect(draw([{ from: now - 3 * SPAN, to: now - 2 * SPAN, basis: basis(3 * SPAN) }], now, 94, 25).line).toBe('');
  const teeth = draw([{ from: now - SPAN, basis: basis(SPAN, 1000, { window: 100 }) }], now, 94, 25);
  expect(teeth.line.length).toBeLessThan(5000);
});
