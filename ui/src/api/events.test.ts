// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { EventReader, type ServerEvent } from './events';

const text = ': hello\nevent: map\nid: 7\ndata: {"a":\ndata: 1}\n\nevent: beat\r\ndata: 2\r\n\r\nevent: empty\n\n';

it('finds the same events wherever the body is cut', () => {
  const whole: ServerEvent[] = [];
  new EventReader((e) => whole.push(e)).feed(text);
  expect(whole.map((e) => [e.event, e.data, e.id])).toEqual([['map', '{"a":\n1}', '7'], ['beat', '2', '7']]);
  for (let cut = 1; cut < text.length; ++cut) {
    const cutUp: ServerEvent[] = [];
    const reader = new EventReader((e) => cutUp.push(e));
    reader.feed(text.slice(0, cut));
    reader.feed(text.slice(cut));
    expect(cutUp).toEqual(whole);
  }
});

it('keeps back an event whose end has not come', () => {
  const got: ServerEvent[] = [];
  const reader = new EventReader((e) => got.push(e));
  reader.feed('event: map\ndata: 1\n');
  expect(got).toEqual([]);
});
