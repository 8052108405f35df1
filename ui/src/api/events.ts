// SPDX-License-Identifier: Apache-2.0
// Server-sent events out of a body that comes in pieces. The browser's own EventSource cannot send
// a token, so the stream is a fetch.

export interface ServerEvent {
  event: string;
  data: string;
  id: string;
}

/** Feed it text as it comes; it calls back once a whole event is there. */
export class EventReader {
  private rest = '';
  private event = '';
  private data: string[] = [];
  private id = '';

  constructor(private readonly on: (event: ServerEvent) => void) {}

  feed(text: string): void {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) this.line(line.endsWith('\r') ? line.slice(0, -1) : line);
  }

  private line(line: string): void {
    if (line === '') {
      if (this.data.length > 0) this.on({ event: this.event || 'message', data: this.data.join('\n'), id: this.id });
      this.event = '';
      this.data = [];
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.event = value;
    else if (field === 'data') this.data.push(value);
    else if (field === 'id') this.id = value;
  }
}
