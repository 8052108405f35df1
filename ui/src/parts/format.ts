// SPDX-License-Identifier: Apache-2.0
// Quantities, times and names as people read them.

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

export function count(n: number): string {
  return whole.format(n);
}

/** "1 node", "2 nodes". */
export function counted(n: number, thing: string): string {
  return `${count(n)} ${thing}${n === 1 ? '' : 's'}`;
}

/** Cores from millicores, with as many digits as matter. */
export function cores(millicores: number): string {
  const value = millicores / 1000;
  if (Math.abs(value) >= 1000) return count(value);
  return value.toFixed(Math.abs(value) >= 100 ? 0 : 2);
}

/** Shorter: "12", "1.4", "0.25". */
export function few(value: number): string {
  if (Math.abs(value) >= 100) return count(value);
  return String(Number(value.toFixed(Math.abs(value) >= 10 ? 1 : 2)));
}

const units = ['MiB', 'GiB', 'TiB', 'PiB'] as const;
export interface Amount {
  value: string;
  unit: string;
}

/** From MiB to the unit that leaves one to three digits before the point. */
export function memory(mebibytes: number): Amount {
  let value = mebibytes;
  let unit = 0;
  while (Math.abs(value) >= 1000 && unit + 1 < units.length) {
    value /= 1024;
    ++unit;
  }
  return { value: unit === 0 || value >= 100 ? count(value) : value.toFixed(1), unit: units[unit] ?? '' };
}

export function memoryText(mebibytes: number): string {
  const { value, unit } = memory(mebibytes);
  return `${value} ${unit}`;
}

export function gib(mebibytes: number): string {
  const value = mebibytes / 1024;
  return value >= 100 ? count(value) : value.toFixed(1);
}

export function percent(part: number, of: number, digits = 0): string {
  return of > 0 ? ((100 * part) / of).toFixed(digits) : '0';
}

/** A span of time: "0.4 s", "18 min", "6 d". */
export function span(ms: number): string {
  const s = Math.max(0, ms) / 1000;
  if (s < 1) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} d`;
}

/** How long something took: "35 µs", "1.9 ms", "2.1 s". */
export function took(us: number): string {
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 1_000_000) return `${(us / 1000).toFixed(1)} ms`;
  return `${(us / 1_000_000).toFixed(1)} s`;
}

export function clock(ms: number, fraction = false): string {
  const at = new Date(ms);
  const two = (n: number) => String(n).padStart(2, '0');
  const text = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return fraction ? `${text}.${String(at.getMilliseconds()).padStart(3, '0')}` : text;
}

/** Hours and minutes. */
export function hours(ms: number): string {
  return clock(ms).slice(0, 5);
}

/** "a", "a and b", "a, b and c". */
export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words[words.length - 1]}`;
}

export function exact(ms: number): string {
  return new Date(ms).toLocaleString();
}

/** Both ends of a name that is cut in its middle; the tail keeps what tells pods apart. */
export function ends(name: string, tail = 6): [string, string] {
  return name.length <= tail + 4 ? [name, ''] : [name.slice(0, -tail), name.slice(-tail)];
}
