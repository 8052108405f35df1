// SPDX-License-Identifier: Apache-2.0
// What an explanation says, in words and in order. The answer stands first and in a sentence.
import type { Explanation, Part, ScoreColumn } from '../api/types';
import { count, counted, few, memoryText } from '../parts/format';

const names: Record<string, string> = {
  NodeResourcesFit: 'resources fit',
  NodeResourcesBalancedAllocation: 'balanced use',
  ImageLocality: 'image locality',
  InterPodAffinity: 'pod affinity',
  PodTopologySpread: 'spread',
  NodeAffinity: 'node affinity',
  TaintToleration: 'taints',
  NodeUnschedulable: 'cordoned',
  NodeName: 'named node',
  NodePorts: 'ports',
  VolumeBinding: 'volumes',
  VolumeZone: 'volume zone',
  VolumeRestrictions: 'volume in use',
  NodeVolumeLimits: 'volume limits',
  DynamicResources: 'devices',
  NodeDeclaredFeatures: 'features',
};
/** A plugin as people call it; its own name where we have no word. */
export function plugin(name: string): string {
  return names[name] ?? name;
}
/** The same where it said no. */
export function refuser(name: string): string {
  return name === 'NodeResourcesFit' ? 'resources' : plugin(name);
}
export function Plugin(name: string): string {
  const text = plugin(name);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export interface Step {
  plugin: string;
  nodes: number;
  /** Its reason where it has one alone for all of them, else the plugin. */
  says: string;
}

/** How many nodes each filter was first to refuse, in the order they ran. */
export function funnelOf(explanation: Explanation): Step[] {
  const nodes = explanation.filters.map(() => 0);
  const reasons = explanation.filters.map(() => new Set<number>());
  explanation.first.forEach((at, row) => {
    if (at < 0) return;
    nodes[at] = (nodes[at] ?? 0) + 1;
    reasons[at]?.add(explanation.filters[at]?.verdict[row] ?? 0);
  });
  return explanation.filters
    .map((filter, i) => {
      const [only, ...others] = [...(reasons[i] ?? [])];
      const text = only && others.length === 0 ? (explanation.reasons[only - 1] ?? '') : '';
      return { plugin: filter.plugin, nodes: nodes[i] ?? 0, says: /^Insufficient [^,]*$/.test(text) ? text.toLowerCase() : refuser(filter.plugin) };
    })
    .filter((step) => step.nodes > 0);
}

/** An amount with its unit, as a person would say it. */
export function amount(resource: string, value: number): string {
  if (resource === 'cpu') return counted2(value / 1000, 'core');
  if (resource === 'memory' || resource === 'ephemeral-storage') return memoryText(value);
  return counted2(value, resource === 'pods' ? 'pod' : resource.slice(resource.lastIndexOf('/') + 1));
}
function counted2(n: number, thing: string): string {
  return `${few(n)} ${thing}${n === 1 || !/^(core|pod|gpu)$/.test(thing) ? '' : 's'}`;
}
export function resourceTitle(resource: string): string {
  return ({ cpu: 'CPU', memory: 'Memory', 'ephemeral-storage': 'Scratch', pods: 'Pods' } as Record<string, string>)[resource] ?? resource.slice(resource.lastIndexOf('/') + 1);
}

/** How much of what the pod asks for a node lacks: by resource, what is short. */
export function shortOf(explanation: Explanation, row: number): { resource: string; by: number; share: number }[] {
  const short: { resource: string; by: number; share: number }[] = [];
  for (const asked of explanation.pod.asks) {
    const free = explanation.free.find((one) => one.resource === asked.resource)?.amount[row];
    if (free !== undefined && free < asked.amount) short.push({ resource: asked.resource, by: asked.amount - free, share: (asked.amount - free) / asked.amount });
  }
  return short;
}

export function refusals(explanation: Explanation, row: number): { plugin: string; reason: string; first: boolean }[] {
  return explanation.filters.flatMap((filter, i) => {
    const verdict = filter.verdict[row] ?? 0;
    return verdict === 0 ? [] : [{ plugin: filter.plugin, reason: explanation.reasons[verdict - 1] ?? '', first: explanation.first[row] === i }];
  });
}

/** Nodes that refuse, nearest first: fewest filters against it, then least short. */
export function closest(explanation: Explanation): number[] {
  const rows = explanation.names.map((_, row) => row).filter((row) => (explanation.first[row] ?? -1) >= 0);
  const rank = new Map(
    rows.map((row) => {
      const said = refusals(explanation, row);
      const resources = said.length === 1 && said[0]?.plugin === 'NodeResourcesFit';
      const short = shortOf(explanation, row).reduce((sum, one) => sum + one.share, 0);
      return [row, (said.length - 1) * 10 + (resources ? 0 : 5) + Math.min(4, short)] as const;
    }),
  );
  return rows.sort((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0) || a - b);
}

// kube-scheduler's words where they are long; whole ones are in the title.
const brief: Record<string, string> = {
  "node(s) didn't match Pod's node affinity/selector": 'Not the labels it asks for',
  "node(s) didn't match pod topology spread constraints": 'Its spread would be too uneven',
  "node(s) didn't match pod topology spread constraints (missing required label)": 'No label to spread by',
  "node(s) didn't match pod anti-affinity rules": 'Holds a pod that it stays away from',
  "node(s) didn't match pod affinity rules": 'Holds no pod that it follows',
  "node(s) didn't satisfy existing pods anti-affinity rules": 'Holds a pod that keeps it away',
  "node(s) didn't have free ports for the requested pod ports": 'Its port is taken',
};

/** The reason of one row, with the figures where it is about room and there is some. */
export function reasonText(explanation: Explanation, row: number, figures = true): string {
  const said = refusals(explanation, row);
  const main = said.find((one) => one.first) ?? said[0];
  if (!main) return '';
  const also = said.filter((one) => one !== main).map((one) => refuser(one.plugin));
  let text = main.reason;
  const short = shortOf(explanation, row)[0];
  if (main.plugin === 'NodeResourcesFit' && short) {
    const asked = explanation.pod.asks.find((one) => one.resource === short.resource)?.amount ?? 0;
    const bare = (value: number) => amount(short.resource, value).replace(/ cores?$/, '');
    text = `Insufficient ${short.resource}${figures ? `: asks ${bare(asked)}, free ${bare(asked - short.by)}` : ''}`;
  } else {
    text = brief[text] ?? text.replace(/^node\(s\) (had |have |were )?/, '').replace(/^./, (c) => c.toUpperCase());
  }
  return also.length > 0 ? `${text}; also ${also.join(', ')}` : text;
}

const lacks: Record<string, string> = {
  TaintToleration: 'have taints that it does not tolerate',
  NodeAffinity: 'are not where it asks to be',
  NodeUnschedulable: 'are cordoned',
  PodTopologySpread: 'would spread it too unevenly',
  InterPodAffinity: 'have the wrong neighbours',
  NodePorts: 'have its port taken',
  VolumeBinding: 'cannot have its volume',
  NodeName: 'are not the one it names',
};

/** The sentence. */
export function verdict(explanation: Explanation): Part[] {
  const all = explanation.names.length;
  const { pod } = explanation;
  if (explanation.outcome === 'failed') return [{ text: `It cannot be placed: ${explanation.message}` }];
  if (explanation.outcome === 'refused') return [{ text: all === 0 ? 'There is no node.' : `Refused before any node was looked at: ${explanation.message}` }];
  if (explanation.outcome === 'nowhere') {
    const worst = [...funnelOf(explanation)].sort((a, b) => b.nodes - a.nodes)[0];
    const near = closest(explanation)[0];
    const parts: Part[] = [];
    if (worst?.plugin === 'NodeResourcesFit') {
      const tally = new Map<string, number>();
      explanation.first.forEach((at, row) => {
        if (at >= 0 && explanation.filters[at]?.plugin === 'NodeResourcesFit') for (const one of shortOf(explanation, row)) tally.set(one.resource, (tally.get(one.resource) ?? 0) + 1);
      });
      const most = [...tally].sort((a, b) => b[1] - a[1])[0];
      parts.push({ text: `No node fits: ${count(most?.[1] ?? worst.nodes)} of ${count(all)} lack ${most ? resourceTitle(most[0]).replace(/^(Memory|Scratch|Pods)$/, (t) => t.toLowerCase()) : 'room'}` });
    } else if (worst) parts.push({ text: `No node fits: ${count(worst.nodes)} of ${count(all)} ${lacks[worst.plugin] ?? `are refused by ${worst.plugin}`}` });
    const short = near === undefined ? undefined : shortOf(explanation, near)[0];
    if (near !== undefined && short && refusals(explanation, near).length === 1) parts.push({ text: '; ' }, { name: explanation.names[near] ?? '' }, { text: ` comes closest, ${amount(short.resource, short.by)} short` });
    parts.push({ text: '.' });
    return parts;
  }
  const fit = explanation.feasible.length;
  const start = `${count(fit)} of ${counted(all, 'node')} ${fit === 1 ? 'fits' : 'fit'}; `;
  const order = ranking(explanation);
  const [best, second] = order;
  if (best === undefined) return [{ text: start }];
  const place = pod.node ? order.findIndex((i) => explanation.names[explanation.feasible[i] ?? -1] === pod.node) : -1;
  if (pod.node && explanation.chosen !== pod.node) {
    const lead: Part[] = [{ text: start }, { name: explanation.chosen }, { text: ' would win now' }];
    const at = place >= 0 ? order[place] : undefined;
    if (at === undefined) return [...lead, { text: ', and ' }, { name: pod.node }, { text: ' does not fit any more.' }];
    const behind = (explanation.totals[best] ?? 0) - (explanation.totals[at] ?? 0);
    return behind === 0
      ? [...lead, { text: ', and ' }, { name: pod.node }, { text: ' is just as good.' }]
      : [...lead, { text: ', ' }, { name: pod.node }, { text: ` is ${counted(behind, 'point')} behind.` }];
  }
  const verb = pod.node ? ' won' : ' would win';
  if (second === undefined) return [{ text: `Only ` }, { name: explanation.chosen }, { text: ` of ${counted(all, 'node')} fits.` }];
  const margin = (explanation.totals[best] ?? 0) - (explanation.totals[second] ?? 0);
  if (margin === 0) return [{ text: start }, { name: explanation.chosen }, { text: `${verb} a draw of equals.` }];
  const mostly = compare(explanation, best, second)[0];
  return [{ text: start }, { name: explanation.chosen }, { text: `${verb} by ${counted(margin, 'point')}${mostly ? `, mostly ${plugin(mostly.plugin)}` : ''}.` }];
}

/** Indexes into `feasible`, best first; the chosen one leads its equals. */
export function ranking(explanation: Explanation): number[] {
  const chosen = explanation.feasible.findIndex((row) => explanation.names[row] === explanation.chosen);
  return explanation.feasible
    .map((_, i) => i)
    .sort((a, b) => (explanation.totals[b] ?? 0) - (explanation.totals[a] ?? 0) || Number(b === chosen) - Number(a === chosen) || a - b);
}

export interface Difference {
  plugin: string;
  weight: number;
  points: number;
}

/** What tells two nodes apart, what is in favour of the first leading. */
export function compare(explanation: Explanation, a: number, b: number): Difference[] {
  return explanation.scores
    .map((score) => ({ plugin: score.plugin, weight: score.weight, points: (score.points[a] ?? 0) - (score.points[b] ?? 0) }))
    .sort((x, y) => y.points - x.points);
}

/** The weight below which the second would win; null where no single weight decides. */
export function turningPoint(explanation: Explanation, a: number, b: number): { plugin: string; weight: number; now: number } | null {
  const margin = (explanation.totals[a] ?? 0) - (explanation.totals[b] ?? 0);
  const best = compare(explanation, a, b)[0];
  if (!best || best.points <= 0 || best.weight <= 0 || margin <= 0) return null;
  const weight = best.weight * (1 - margin / best.points);
  return weight > 0 ? { plugin: best.plugin, weight, now: best.weight } : null;
}

/** Plugins whose points differ between nodes, and those that treat all alike. */
export function telling(explanation: Explanation): { telling: ScoreColumn[]; alike: { plugin: string; points: number }[] } {
  const differs = (score: ScoreColumn) => score.points.some((points) => points !== score.points[0]);
  return {
    telling: explanation.scores.filter(differs),
    alike: explanation.scores.filter((score) => !differs(score)).map((score) => ({ plugin: score.plugin, points: score.points[0] ?? 0 })),
  };
}
