// SPDX-License-Identifier: Apache-2.0
/** Shows a <dialog> as soon as it is there, and closes it where somebody clicks beside it. */
export function modal(node: HTMLDialogElement): { destroy(): void } {
  node.showModal();
  const beside = (event: MouseEvent) => {
    if (event.target === node) node.close();
  };
  node.addEventListener('click', beside);
  return { destroy: () => node.removeEventListener('click', beside) };
}
