// SPDX-License-Identifier: Apache-2.0
// The system's theme, or the one that was switched to. `version` moves when colours change: what is
// drawn on a canvas is drawn again.
const KEY = 'berth.theme';
const system = matchMedia('(prefers-color-scheme: dark)');

class Theme {
  version = $state(0);
  private chosen = $state<string | null>(localStorage.getItem(KEY));

  constructor() {
    this.show();
    system.addEventListener('change', () => ++this.version);
  }
  get dark(): boolean {
    void this.version;
    return this.chosen ? this.chosen === 'dark' : system.matches;
  }
  toggle(): void {
    const next = this.dark ? 'light' : 'dark';
    // Back to what the system says is no choice any more.
    this.chosen = (next === 'dark') === system.matches ? null : next;
    if (this.chosen) localStorage.setItem(KEY, this.chosen);
    else localStorage.removeItem(KEY);
    this.show();
    ++this.version;
  }
  private show(): void {
    if (this.chosen) document.documentElement.dataset['theme'] = this.chosen;
    else delete document.documentElement.dataset['theme'];
  }
}

export const theme = new Theme();
