// SPDX-License-Identifier: Apache-2.0
// How nodes are drawn: as tiles that are read like a bar chart, or, where there are many, as cells
// whose shade is the quantity. An exception takes the fill away and leaves a shape.
import type { ClusterMap, Resource } from '../api/cluster_map';
import type { Colours } from '../parts/colours';

export interface Size {
  width: number;
  height: number;
  gap: number;
}
export const TILE: Size = { width: 36, height: 44, gap: 4 };
export const CELL: Size = { width: 8, height: 8, gap: 1 };
export const CELLS_FROM = 400;

export type Shade = 'asked' | 'used' | 'idle';

/** What a cell's shade says, 0 to 1. */
export function shadeOf(map: ClusterMap, resource: Resource, shade: Shade, row: number): number {
  const asked = map.fill(resource, row);
  if (shade === 'asked') return asked;
  const used = Math.max(0, map.fillUsed(resource, row));
  return shade === 'used' ? used : Math.max(0, asked - used);
}

/** Seven steps of one ramp. */
export function step(value: number): 0 | 1 | 2 | 3 | 4 | 5 | 6 {
  if (value <= 0) return 0;
  return Math.min(6, 1 + Math.floor(value * 5.999)) as 1 | 2 | 3 | 4 | 5 | 6;
}

function hatch(ctx: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, colour: string): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, w, h);
  ctx.clip();
  ctx.strokeStyle = colour;
  ctx.lineWidth = 2;
  ctx.beginPath();
  for (let at = -h; at < w; at += 7) {
    ctx.moveTo(x + at, y + h);
    ctx.lineTo(x + at + h, y);
  }
  ctx.stroke();
  ctx.restore();
}

export function drawTile(ctx: CanvasRenderingContext2D, c: Colours, map: ClusterMap, resource: Resource, row: number, x: number, y: number, size: Size): void {
  const { width: w, height: h } = size;
  const cut = Math.min(10, w / 3);
  ctx.save();
  ctx.beginPath();
  if (map.notReady(row)) {
    ctx.moveTo(x + 2, y);
    ctx.lineTo(x + w - cut, y);
    ctx.lineTo(x + w, y + cut);
    ctx.lineTo(x + w, y + h);
    ctx.lineTo(x, y + h);
    ctx.lineTo(x, y + 2);
    ctx.closePath();
    ctx.fillStyle = c['failed-mark'];
    ctx.fill();
    ctx.restore();
    return;
  }
  ctx.roundRect(x, y, w, h, 2);
  ctx.clip();
  ctx.fillStyle = c['q-0'];
  ctx.fillRect(x, y, w, h);
  const fill = Math.round(h * map.fill(resource, row));
  const cordoned = map.cordoned(row);
  if (cordoned) hatch(ctx, x, y, w, h - fill, c['q-2']);
  ctx.fillStyle = c['q-requested'];
  ctx.fillRect(x, y + h - fill, w, fill);
  const used = map.fillUsed(resource, row);
  if (used >= 0) {
    const bar = Math.max(used > 0 ? 2 : 0, Math.round(h * used));
    ctx.fillStyle = c['q-measured'];
    ctx.fillRect(x + w / 2 - 3, y + h - bar, 6, bar);
  }
  if (map.pressure(row)) {
    ctx.fillStyle = c['waiting-mark'];
    ctx.beginPath();
    ctx.moveTo(x + w - 12, y);
    ctx.lineTo(x + w, y);
    ctx.lineTo(x + w, y + 12);
    ctx.fill();
  }
  ctx.restore();
  if (cordoned) {
    ctx.strokeStyle = c['q-4'];
    ctx.lineWidth = 1;
    ctx.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
  }
}

export function drawCell(ctx: CanvasRenderingContext2D, c: Colours, map: ClusterMap, resource: Resource, shade: Shade, row: number, x: number, y: number): void {
  const s = CELL.width;
  if (map.notReady(row)) {
    ctx.strokeStyle = c['failed-mark'];
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.moveTo(x + 1, y + 1);
    ctx.lineTo(x + s - 1, y + s - 1);
    ctx.moveTo(x + s - 1, y + 1);
    ctx.lineTo(x + 1, y + s - 1);
    ctx.stroke();
  } else if (map.pressure(row)) {
    ctx.fillStyle = c['waiting-mark'];
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(x + s, y);
    ctx.lineTo(x + s, y + s);
    ctx.fill();
  } else if (map.cordoned(row)) {
    ctx.strokeStyle = c['q-5'];
    ctx.lineWidth = 1;
    ctx.strokeRect(x + 0.5, y + 0.5, s - 1, s - 1);
    ctx.beginPath();
    ctx.moveTo(x, y + s);
    ctx.lineTo(x + s, y);
    ctx.stroke();
  } else {
    ctx.fillStyle = c[`q-${step(shadeOf(map, resource, shade, row))}`];
    ctx.fillRect(x, y, s, s);
  }
}
