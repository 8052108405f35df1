// SPDX-License-Identifier: Apache-2.0
// What a dry run says, in a sentence: when it begins and ends, who waits for what, who is delayed.
import type { Part } from '../api/types';
import type { TimelineWire } from '../api/external_types';
import { clock, counted, hours, listed, span } from '../parts/format';
import { slotNames } from './beds';
import type { Draft } from './draft';
import { MINUTE, SOON } from './spans';
import { shorter, time } from './work';

export interface DryText {
  /** The answer, in bold. */
  head: string;
  rest: Part[];
  /** It cannot be carried out as it is: what to do. */
  remedies: string[];
  bad: boolean;
}

/** By job: when it starts, in ms; NaN where nobody knows. */
export function starts(dry: TimelineWire): Map<string, number> {
  const all = new Map<string, number>();
  for (const run of dry.planned) if (run.draft && run.job && !all.has(run.job.name)) all.set(run.job.name, time(run.begin));
  return all;
}

function delayed(dry: TimelineWire, before: TimelineWire | undefined): Map<string, number> {
  const id = (run: TimelineWire['planned'][number]) => `${run.scheduling?.name} ${run.job?.name}`;
  const ends = new Map((before?.planned ?? []).map((run) => [id(run), time(run.finish)]));
  const late = new Map<string, number>();
  for (const run of dry.planned) {
    const was = ends.get(id(run));
    if (run.draft || was === undefined || !run.scheduling) continue;
    const by = time(run.finish) - was;
    if (by > MINUTE) late.set(run.scheduling.name, Math.max(by, late.get(run.scheduling.name) ?? 0));
  }
  return late;
}

export function dryText(dry: TimelineWire, draft: Draft, before: TimelineWire | undefined, namespace: string): DryText {
  const now = time(dry.now);
  const own = dry.planned.filter((run) => run.draft && run.job);
  const never = dry.waiting.filter((one) => one.draft);
  if (own.length === 0) {
    const why = never[0];
    return {
      head: 'Dry run: it does not start as things are.',
      rest: why ? [{ text: ` ${shorter(why.message, namespace)}.` }] : [],
      remedies: never.map((one) => one.remedy).filter(Boolean).slice(0, 1),
      bad: true,
    };
  }
  const begin = Math.min(...own.map((run) => time(run.begin)).filter((ms) => !Number.isNaN(ms)));
  const open = own.find((run) => run.openEnd || !run.finish);
  const end = Math.max(...own.map((run) => time(run.finish)).filter((ms) => !Number.isNaN(ms)), begin);
  const rest: Part[] = [];
  const say = (text: string) => rest.push({ text });
  const name = (text: string) => rest.push({ name: text });
  let waits = 0;
  for (const run of own) {
    const wait = time(run.begin) - now;
    if (!run.job || !(wait > SOON) || waits >= 2) continue;
    say(waits++ === 0 ? ' ' : '; ');
    name(run.job.name);
    const entry = draft.entries.find((one) => one.job === run.job?.name);
    const after = run.after.filter((one) => own.some((other) => other.job?.name === one.name));
    if (waits > 1 && after.length > 0) {
      say(' waits for ');
      name(after[0]?.name ?? '');
    } else if (draft.mode === 'slots' && entry) say(` waits ${span(wait)} for ${slotNames(entry.ids)}`);
    else say(` waits ${span(wait)} for ${counted(run.slots.length, 'free slot')}`);
  }
  const late = delayed(dry, before);
  for (const [scheduling, by] of late) {
    say(rest.length > 0 ? '; ' : ' ');
    name(scheduling);
    say(` ends ${span(by)} later`);
  }
  if (late.size === 0) {
    const others = [...new Set(dry.planned.filter((run) => !run.draft && run.scheduling).map((run) => run.scheduling?.name ?? ''))];
    if (others.length > 0) {
      say(rest.length > 0 ? '; ' : ' ');
      name(others[0] ?? '');
      say(others.length > 1 ? ' and others are not delayed' : ' is not delayed');
    }
  }
  if (rest.length > 0) say('.');
  if (never.length > 0) say(` ${listed(never.map((one) => shorter(one.message, namespace)).slice(0, 2))}.`);
  say(' Shown below as draft.');
  const starting = begin - now < SOON ? 'starts now' : begin - now < 10 * MINUTE ? `starts in ${span(begin - now)}` : `starts at ${hours(begin)}`;
  const ending = open ? `its end is not known: ${open.job?.name ?? ''} has not run before` : `ends about ${end - now < 10 * MINUTE ? clock(end) : hours(end)}`;
  return { head: `Dry run: ${starting}, ${ending}.`, rest, remedies: never.map((one) => one.remedy).filter(Boolean).slice(0, 1), bad: never.length > 0 };
}
