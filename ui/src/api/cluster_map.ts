// SPDX-License-Identifier: Apache-2.0
// The nodes as columns, kept up to date by the rows that change. Nothing here is drawn, and nothing
// is reactive: with 5,000 nodes a change costs what it touches.
import { CORDONED, NOT_READY, PRESSURE, type LabelColumn, type MapColumns, type MapRows, type MapSnapshot } from './types';

export type Column = keyof MapColumns;
const always = ['cpu', 'cpuAsked', 'memory', 'memoryAsked', 'pods', 'podsThere', 'gpu', 'gpuAsked', 'state'] as const;
const measured = ['cpuUsed', 'memoryUsed'] as const;

export type Resource = 'cpu' | 'memory' | 'pods' | 'gpu';
const of: Record<Resource, { has: Column; asked: Column; used?: Column }> = {
  cpu: { has: 'cpu', asked: 'cpuAsked', used: 'cpuUsed' },
  memory: { has: 'memory', asked: 'memoryAsked', used: 'memoryUsed' },
  pods: { has: 'pods', asked: 'podsThere' },
  gpu: { has: 'gpu', asked: 'gpuAsked' },
};

export interface Total {
  has: number;
  asked: number;
  /** -1: nothing measures it. */
  used: number;
}

export class ClusterMap {
  layout = -1;
  names: string[] = [];
  labels: Record<string, LabelColumn> = {};
  private columns: Partial<Record<Column, Float64Array>> = {};
  private rows = new Map<string, number>();

  get size(): number {
    return this.names.length;
  }
  get measured(): boolean {
    return this.columns.cpuUsed !== undefined;
  }

  set(snapshot: MapSnapshot): void {
    this.layout = snapshot.layout;
    this.names = snapshot.names;
    this.labels = snapshot.labels;
    this.rows = new Map(snapshot.names.map((name, row) => [name, row]));
    this.columns = {};
    for (const column of always) this.columns[column] = Float64Array.from(snapshot.columns[column]);
    for (const column of measured) {
      const values = snapshot.columns[column];
      if (values) this.columns[column] = Float64Array.from(values);
    }
  }

  /** False: it belongs to another layout, and a snapshot is on its way. */
  change(change: MapRows): boolean {
    if (change.layout !== this.layout) return false;
    for (const column of [...always, ...measured]) {
      const values = change.columns[column];
      if (!values) continue;
      const into = (this.columns[column] ??= new Float64Array(this.size).fill(-1));
      change.rows.forEach((row, i) => {
        into[row] = values[i] ?? 0;
      });
    }
    return true;
  }

  row(name: string): number | undefined {
    return this.rows.get(name);
  }
  at(column: Column, row: number): number {
    return this.columns[column]?.[row] ?? -1;
  }
  has(resource: Resource, row: number): number {
    return this.at(of[resource].has, row);
  }
  asked(resource: Resource, row: number): number {
    return this.at(of[resource].asked, row);
  }
  used(resource: Resource, row: number): number {
    const column = of[resource].used;
    return column ? this.at(column, row) : -1;
  }
  /** 0 to 1; nothing of nothing is 0. */
  fill(resource: Resource, row: number): number {
    const has = this.has(resource, row);
    return has > 0 ? Math.min(1, this.asked(resource, row) / has) : 0;
  }
  /** -1: not measured. */
  fillUsed(resource: Resource, row: number): number {
    const used = this.used(resource, row);
    const has = this.has(resource, row);
    return used >= 0 && has > 0 ? Math.min(1, used / has) : -1;
  }
  notReady(row: number): boolean {
    return (this.at('state', row) & NOT_READY) !== 0;
  }
  pressure(row: number): boolean {
    return (this.at('state', row) & PRESSURE) !== 0;
  }
  cordoned(row: number): boolean {
    return (this.at('state', row) & CORDONED) !== 0;
  }
  label(key: string, row: number): string {
    const column = this.labels[key];
    const at = column?.of[row] ?? -1;
    return at >= 0 ? (column?.values[at] ?? '') : '';
  }
  /** Any resource that some node has. */
  offers(resource: Resource): boolean {
    return this.columns[of[resource].has]?.some((value) => value > 0) ?? false;
  }
  total(resource: Resource, rows?: readonly number[]): Total {
    const has = this.columns[of[resource].has];
    const asked = this.columns[of[resource].asked];
    const column = of[resource].used;
    const used = column ? this.columns[column] : undefined;
    const sum = { has: 0, asked: 0, used: used ? 0 : -1 };
    const count = rows ? rows.length : this.size;
    for (let i = 0; i < count; ++i) {
      const row = rows ? (rows[i] ?? 0) : i;
      sum.has += has?.[row] ?? 0;
      sum.asked += asked?.[row] ?? 0;
      if (used) sum.used += Math.max(0, used[row] ?? 0);
    }
    return sum;
  }
}
