// SPDX-License-Identifier: Apache-2.0
// Objects by name as a stream tells of them: changes come in any order between kinds, and a stream
// that begins anew tells everything again.

export interface Named {
  namespace: string;
  name: string;
}

export function keyOf(one: Named): string {
  return `${one.namespace}/${one.name}`;
}

export class Collection<T extends Named> {
  private readonly known = new Map<string, { seq: number; object: T }>();
  /** Of a stream that began anew: what has not been told again yet. */
  private stale: Set<string> | null = null;
  /** In order; the same list until something changes. */
  private list: T[] | null = null;

  /** False: it is older than what is known. */
  put(seq: number, object: T): boolean {
    const key = keyOf(object);
    this.stale?.delete(key);
    const before = this.known.get(key);
    if (before && before.seq > seq) return false;
    this.known.set(key, { seq, object });
    this.list = null;
    return true;
  }
  remove(object: Named): void {
    this.known.delete(keyOf(object));
    this.list = null;
  }
  restart(): void {
    this.stale = new Set(this.known.keys());
  }
  /** What was not told again is gone. */
  settled(): void {
    for (const key of this.stale ?? []) this.known.delete(key);
    this.stale = null;
    this.list = null;
  }
  get(key: string): T | undefined {
    return this.known.get(key)?.object;
  }
  /** By namespace and name. */
  all(): readonly T[] {
    return (this.list ??= [...this.known.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { object }]) => object));
  }
  get size(): number {
    return this.known.size;
  }
}
