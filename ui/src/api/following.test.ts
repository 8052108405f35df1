// SPDX-License-Identifier: Apache-2.0
// What the page follows of gateways that do not tell all, or not everybody.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

const asked: string[] = [];
let answer: (url: URL) => Response | null;

/** Kept open where there is no answer. */
function open(signal?: AbortSignal | null): Response {
  return new Response(new ReadableStream({ start: (to) => signal?.addEventListener('abort', () => to.error(new Error('aborted'))) }));
}
function refused(code: number, message: string): Response {
  return new Response(JSON.stringify({ message }), { status: code });
}
async function soon(holds: () => boolean): Promise<void> {
  await vi.waitFor(() => expect(holds()).toBe(true));
}

beforeEach(() => {
  vi.resetModules();
  asked.length = 0;
  answer = () => null;
  const kept = new Map<string, string>();
  vi.stubGlobal('sessionStorage', { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => kept.set(key, value) });
  vi.stubGlobal('location', new URL('https://gateway.test/ui/'));
  vi.stubGlobal('fetch', (to: string, { signal }: RequestInit) => {
    asked.push(to.replace('https://gateway.test', ''));
    return Promise.resolve(answer(new URL(to)) ?? open(signal));
  });
});
afterEach(() => vi.unstubAllGlobals());

const ALL = '/external/v1/events?namespace=';
const nobodyMaySeeAll = (url: URL) => (url.searchParams.get('namespace') === '' ? refused(403, 'not all') : null);

it('shows its own namespace to a service account that may not see all', async () => {
  sessionStorage.setItem('berth.token', `e30.${btoa('{"sub":"system:serviceaccount:team-a:researcher"}')}.x`);
  answer = nobodyMaySeeAll;
  const { external } = await import('./external.svelte');
  external.start();
  await soon(() => asked.length === 2);
  expect(asked).toEqual([ALL, `${ALL}team-a`]);
  expect([external.namespace, external.problem]).toEqual(['team-a', null]);
});

it('asks others which one they mean, and remembers it for this tab', async () => {
  sessionStorage.setItem('berth.token', '0123abcd');
  answer = nobodyMaySeeAll;
  const { external } = await import('./external.svelte');
  external.start();
  await soon(() => external.problem !== null);
  expect(external.problem?.code).toBe(403);
  external.show('team-b');
  await soon(() => asked.at(-1) === `${ALL}team-b`);
  expect(external.problem).toBe(null);
  expect(sessionStorage.getItem('berth.namespace')).toBe('team-b');
});

it('asks a gateway without a scheduler once', async () => {
  vi.useFakeTimers();
  try {
    answer = () => refused(404, 'there is nothing at /api/v1/stream');
    const { live } = await import('./live.svelte');
    live.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toEqual(['/api/v1/stream']);
    expect([live.absent, live.lost]).toEqual([true, null]);
  } finally {
    vi.useRealTimers();
  }
});
