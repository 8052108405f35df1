// SPDX-License-Identifier: Apache-2.0
/** How long a run takes, in one unit; nothing where nobody knows. */
export function lasted(ms: number): { value: string; unit: string } | null {
  if (!(ms >= 0)) return null;
  const s = ms / 1000;
  if (s < 100) return { value: s < 10 ? s.toFixed(1) : s.toFixed(0), unit: 's' };
  if (s < 100 * 60) return { value: (s / 60).toFixed(0), unit: 'min' };
  return { value: (s / 3600).toFixed(1), unit: 'h' };
}
export function lastedText(ms: number): string {
  const text = lasted(ms);
  return text ? `${text.value} ${text.unit}` : 'unknown';
}
