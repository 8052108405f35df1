// SPDX-License-Identifier: Apache-2.0
// How spans of the timeline are drawn. Hatched is not there yet; a draft is hatched the other way.
import type { Colours } from '../parts/colours';
import { hours } from '../parts/format';
import { firstLane, ticks, type Lanes, type Span, type View } from './spans';

export const HEAD = 24;
const BAR = 14;
const HATCH = 6;
const CUT = 7;

export interface Frame {
  width: number;
  height: number;
  /** Where time begins; names stand left of it. */
  left: number;
  right: number;
  /** Where slots' numbers end. */
  slotEnd: number;
  nameStart: number;
  scroll: number;
  view: View;
  now: number;
  selected: string;
  font: string;
  sans: string;
}

export function xOf(frame: Frame, moment: number): number {
  return frame.left + ((moment - frame.view.start) / frame.view.window) * (frame.right - frame.left);
}
export function momentAt(frame: Frame, x: number): number {
  return frame.view.start + ((x - frame.left) / (frame.right - frame.left)) * frame.view.window;
}

function hatch(ctx: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, colour: string, down: boolean): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, w, h);
  ctx.clip();
  ctx.strokeStyle = colour;
  ctx.lineWidth = 2;
  ctx.beginPath();
  for (let at = -h; at < w + h; at += HATCH) {
    ctx.moveTo(x + at, down ? y : y + h);
    ctx.lineTo(x + at + h, down ? y + h : y);
  }
  ctx.stroke();
  ctx.restore();
}

/** The name where it fits whole; on a hatch it has a patch of its own. */
function label(ctx: CanvasRenderingContext2D, c: Colours, text: string, x: number, y: number, room: number, colour: string, patch: boolean): void {
  const width = ctx.measureText(text).width;
  if (width + (patch ? 8 : 9) > room) return;
  if (patch) {
    ctx.fillStyle = c['surface'];
    ctx.fillRect(x + 2, y + 2, width + 6, BAR - 4);
  }
  ctx.fillStyle = colour;
  ctx.fillText(text, x + 5, y + BAR / 2 + 0.5);
}

function cross(ctx: CanvasRenderingContext2D, colour: string, x: number, y: number): void {
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.8;
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(x + 6, y + 6);
  ctx.moveTo(x + 6, y);
  ctx.lineTo(x, y + 6);
  ctx.stroke();
}

function paintSpan(ctx: CanvasRenderingContext2D, c: Colours, frame: Frame, span: Span, y: number): void {
  const from = Math.max(frame.left, xOf(frame, span.from));
  const solidEnd = span.kind === 'running' ? frame.now : span.to;
  const to = Math.min(frame.right, solidEnd === Number.POSITIVE_INFINITY ? frame.right : xOf(frame, solidEnd));
  const far = span.kind === 'running' ? Math.min(frame.right, span.to === Number.POSITIVE_INFINITY ? frame.right : xOf(frame, span.to)) : to;
  if (far < frame.left || from > frame.right) return;
  const w = Math.max(to - from, 2);
  switch (span.kind) {
    case 'done':
      ctx.fillStyle = c['span-done'];
      ctx.beginPath();
      ctx.roundRect(from, y, w, BAR, 1);
      ctx.fill();
      label(ctx, c, span.job, from, y, w, c['on-done'], false);
      break;
    case 'failed':
    case 'broken':
      ctx.fillStyle = c['failed-mark'];
      ctx.beginPath();
      ctx.moveTo(from, y);
      ctx.lineTo(Math.max(from, from + w - CUT), y);
      ctx.lineTo(from + w, y + Math.min(CUT, w));
      ctx.lineTo(from + w, y + BAR);
      ctx.lineTo(from, y + BAR);
      ctx.fill();
      if (w >= 14) cross(ctx, c['on-failed'], from + 4, y + 4);
      if (span.kind === 'failed') label(ctx, c, span.job, from + 9, y, w - 9, c['on-failed'], false);
      break;
    case 'running':
      ctx.fillStyle = c['running-mark'];
      if (to > from) ctx.fillRect(from, y, w, BAR);
      label(ctx, c, span.job, from, y, w, c['on-running'], false);
      if (far > to) {
        ctx.strokeStyle = c['running-mark'];
        ctx.lineWidth = 1;
        ctx.setLineDash([3, 2]);
        ctx.beginPath();
        ctx.moveTo(Math.max(to, frame.left), y + 0.5);
        ctx.lineTo(far, y + 0.5);
        ctx.moveTo(Math.max(to, frame.left), y + BAR - 0.5);
        ctx.lineTo(far, y + BAR - 0.5);
        if (span.to !== Number.POSITIVE_INFINITY && far < frame.right) {
          ctx.moveTo(far - 0.5, y);
          ctx.lineTo(far - 0.5, y + BAR);
        }
        ctx.stroke();
        ctx.setLineDash([]);
      }
      break;
    case 'planned':
    case 'draft': {
      const colour = span.kind === 'draft' ? c['accent'] : c['running-mark'];
      ctx.fillStyle = c['surface'];
      ctx.fillRect(from, y, w, BAR);
      hatch(ctx, from + 0.5, y + 0.5, w - 1, BAR - 1, colour, span.kind === 'draft');
      ctx.strokeStyle = colour;
      ctx.lineWidth = 1;
      if (span.kind === 'draft') ctx.setLineDash([3, 2]);
      ctx.beginPath();
      ctx.roundRect(from + 0.5, y + 0.5, Math.max(1, w - 1), BAR - 1, 2);
      ctx.stroke();
      ctx.setLineDash([]);
      label(ctx, c, span.job, from, y, w, c['text'], true);
      break;
    }
  }
  if (frame.selected !== '' && span.key === frame.selected) {
    ctx.strokeStyle = c['text'];
    ctx.lineWidth = 2;
    ctx.strokeRect(from, y, w, BAR);
  }
}

function axis(ctx: CanvasRenderingContext2D, c: Colours, frame: Frame): void {
  const nowX = xOf(frame, frame.now);
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  ctx.font = `11px ${frame.sans}`;
  for (const at of ticks(frame.view, frame.right - frame.left, 90)) {
    const x = Math.round(xOf(frame, at)) + 0.5;
    ctx.strokeStyle = c['line'];
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(x, HEAD - 4);
    ctx.lineTo(x, frame.height);
    ctx.stroke();
    if (Math.abs(x - nowX) < 36) continue;
    ctx.fillStyle = c['text-2'];
    ctx.fillText(hours(at), Math.min(x, frame.width - 18), 9);
  }
}

function nowLine(ctx: CanvasRenderingContext2D, c: Colours, frame: Frame): void {
  const x = Math.round(xOf(frame, frame.now)) + 0.5;
  if (x < frame.left || x > frame.right) return;
  ctx.strokeStyle = c['now'];
  ctx.fillStyle = c['now'];
  ctx.lineWidth = 1;
  ctx.beginPath();
  ctx.moveTo(x, HEAD - 4);
  ctx.lineTo(x, frame.height);
  ctx.stroke();
  ctx.beginPath();
  ctx.moveTo(x - 3.5, HEAD - 8);
  ctx.lineTo(x + 3.5, HEAD - 8);
  ctx.lineTo(x, HEAD - 3);
  ctx.fill();
  ctx.font = `600 12px ${frame.sans}`;
  ctx.textAlign = 'center';
  ctx.fillText(hours(frame.now), x, 9);
}

/** Draws what is seen and no more. */
export function paint(ctx: CanvasRenderingContext2D, c: Colours, frame: Frame, { lanes, rules }: Lanes): void {
  ctx.clearRect(0, 0, frame.width, frame.height);
  axis(ctx, c, frame);
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, HEAD, frame.width, frame.height - HEAD);
  ctx.clip();
  const down = HEAD - frame.scroll;
  ctx.strokeStyle = c['line'];
  ctx.lineWidth = 1;
  for (const rule of rules) {
    ctx.beginPath();
    ctx.moveTo(frame.nameStart, down + rule + 0.5);
    ctx.lineTo(frame.right, down + rule + 0.5);
    ctx.stroke();
  }
  ctx.textBaseline = 'middle';
  for (let i = firstLane(lanes, frame.scroll); i < lanes.length; ++i) {
    const lane = lanes[i];
    if (!lane || down + lane.y > frame.height) break;
    const y = down + lane.y + 1;
    ctx.font = `11px ${frame.font}`;
    ctx.fillStyle = c['text-2'];
    ctx.textAlign = 'left';
    const room = frame.slotEnd - frame.nameStart - ctx.measureText(`#${lane.slot}`).width - 4;
    if (lane.named) ctx.fillText(fitted(ctx, lane.node, room), frame.nameStart, y + BAR / 2 + 0.5);
    ctx.fillStyle = c['text-3'];
    ctx.textAlign = 'right';
    ctx.fillText(`#${lane.slot}`, frame.slotEnd, y + BAR / 2 + 0.5);
    ctx.textAlign = 'left';
    for (const span of lane.spans) paintSpan(ctx, c, frame, span, y);
  }
  ctx.restore();
  nowLine(ctx, c, frame);
}

function fitted(ctx: CanvasRenderingContext2D, name: string, room: number): string {
  if (ctx.measureText(name).width <= room) return name;
  for (let keep = name.length - 1; keep > 2; --keep) {
    const text = `…${name.slice(name.length - keep)}`;
    if (ctx.measureText(text).width <= room) return text;
  }
  return '…';
}

/** What is under a point of the canvas. */
export function hit(frame: Frame, { lanes }: Lanes, x: number, y: number): { slot: number; node: string; span: Span | undefined } | null {
  const at = y - HEAD + frame.scroll;
  const lane = lanes[firstLane(lanes, at)];
  if (!lane || y < HEAD || at < lane.y) return null;
  const moment = momentAt(frame, x);
  const slack = frame.view.window / 500;
  const span = x < frame.left ? undefined : [...lane.spans].reverse().find((one) => one.from - slack <= moment && moment <= Math.max(one.to, one.kind === 'running' ? frame.now : 0) + slack);
  return { slot: lane.slot, node: lane.node, span };
}
