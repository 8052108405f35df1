// SPDX-License-Identifier: Apache-2.0
// Arrow keys move the focus among the cells of a grid, which is one tab stop: to the nearest cell in
// that direction. Home and End go to the ends of the row.
interface Box {
  x: number;
  y: number;
}

const middle = (element: HTMLElement): Box => {
  const box = element.getBoundingClientRect();
  return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
};

/** Which of `all` is nearest to `from` in a direction; -1: none is there. */
export function nearest(all: readonly Box[], from: Box, dx: number, dy: number): number {
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  all.forEach((one, i) => {
    const along = (one.x - from.x) * dx + (one.y - from.y) * dy;
    const aside = Math.abs((one.x - from.x) * dy) + Math.abs((one.y - from.y) * dx);
    if (along <= 2) return;
    const far = along + 4 * aside;
    if (far < least) {
      least = far;
      best = i;
    }
  });
  return best;
}

const directions: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export function moveInGrid(event: KeyboardEvent): void {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const cells = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[data-cell]')];
  const at = cells.indexOf(document.activeElement as HTMLElement);
  const here = cells[at];
  if (!here) return;
  const boxes = cells.map(middle);
  const from = boxes[at] as Box;
  let to = -1;
  const direction = directions[event.key];
  if (direction) to = nearest(boxes, from, ...direction);
  else if (event.key === 'Home' || event.key === 'End') {
    const row = boxes.map((box, i) => ({ box, i })).filter(({ box }) => Math.abs(box.y - from.y) < 4).sort((a, b) => a.box.x - b.box.x);
    to = (event.key === 'Home' ? row[0] : row[row.length - 1])?.i ?? -1;
  } else return;
  event.preventDefault();
  const next = cells[to];
  if (!next) return;
  here.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
