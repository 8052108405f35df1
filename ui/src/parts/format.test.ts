// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { cores, counted, ends, few, memoryText, percent, span, took } from './format';

describe('format', () => {
  it('writes cores with the digits that matter', () => {
    expect([cores(250), cores(15890), cores(159_200_000)]).toEqual(['0.25', '15.89', '159,200']);
    expect([few(0.25), few(10.5), few(2), few(412.4)]).toEqual(['0.25', '10.5', '2', '412']);
  });
  it('chooses the unit of memory that leaves few digits', () => {
    expect([memoryText(512), memoryText(62_259), memoryText(12_793_000)]).toEqual(['512 MiB', '60.8 GiB', '12.2 TiB']);
  });
  it('says spans in one unit', () => {
    expect([span(400), span(59_900), span(61_000), span(7_300_000), span(6 * 86_400_000)]).toEqual(
      ['0.4 s', '59 s', '1 min', '2 h', '6 d']);
    expect([took(35), took(1900), took(2_100_000)]).toEqual(['35 µs', '1.9 ms', '2.1 s']);
  });
  it('keeps the end of a name that is cut', () => {
    expect(ends('checkout-7d9f8b6c5-x2k4q')).toEqual(['checkout-7d9f8b6c5', '-x2k4q']);
    expect(ends('web')).toEqual(['web', '']);
  });
  it('takes nothing of nothing for nothing', () => {
    expect(percent(1, 0)).toBe('0');
    expect([counted(1, 'node'), counted(5000, 'node')]).toEqual(['1 node', '5,000 nodes']);
  });
});
