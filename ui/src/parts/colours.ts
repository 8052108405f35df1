// SPDX-License-Identifier: Apache-2.0
// What a canvas draws with: the tokens as the theme resolves them now. A custom property reads back
// as it is written, light-dark() and all, so an element is asked what colour it has.

const tokens = [
  'surface', 'text', 'text-2', 'text-3', 'line', 'line-strong', 'accent', 'q-0', 'q-1', 'q-2', 'q-3', 'q-4', 'q-5', 'q-6',
  'q-requested', 'q-measured', 'q-limit', 'failed-mark', 'waiting-mark', 'running-mark', 'done-mark', 'on-running', 'on-failed', 'on-done', 'span-done', 'slot-free', 'now', 'surface-hover',
] as const;
export type Token = (typeof tokens)[number];
export type Colours = Record<Token, string>;

let known: { version: number; colours: Colours } | undefined;

/** Asked of the page once a version of the theme: each answer costs a pass over its styles. */
export function colours(version: number): Colours {
  if (known?.version !== version) known = { version, colours: ask() };
  return known.colours;
}

function ask(): Colours {
  const probe = document.createElement('span');
  document.body.append(probe);
  const all = {} as Colours;
  for (const token of tokens) {
    probe.style.color = `var(--${token})`;
    all[token] = getComputedStyle(probe).color;
  }
  probe.remove();
  return all;
}
