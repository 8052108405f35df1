// SPDX-License-Identifier: Apache-2.0
// Arrow keys, Home and End move the focus among the rows of a table, which is one tab stop.
export function moveAmongRows(event: KeyboardEvent): void {
  const rows = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[data-row]')];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
  if (to === undefined || at < 0) return;
  rows[Math.max(0, Math.min(rows.length - 1, to))]?.focus();
  event.preventDefault();
}
