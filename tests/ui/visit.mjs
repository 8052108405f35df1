// SPDX-License-Identifier: Apache-2.0
// A tab on the page of a cluster; what is written to its console as an error fails the journey.
import assert from 'node:assert/strict';
import { page as open } from './browser.mjs';

export const LONG = Number(process.env.BERTH_JOURNEY_LIMIT ?? 60_000); // bounds a hang, says nothing about speed

/** `where` is asked when a journey begins: { browser, url }. */
export function visitor(where) {
  return async (hash, options, body, expected = /^$/) => {
    const { browser, url } = where();
    const { page, errors, close } = await open(browser, options);
    try {
      page.setDefaultTimeout(LONG);
      await page.goto(url);
      await page.getByText('Live,').waitFor();
      if (hash) await page.evaluate((to) => { location.hash = to; }, hash);
      await body(page);
      assert.deepEqual(errors.filter((one) => !expected.test(one)), []);
    } catch (error) {
      if (process.env.BERTH_SHOTS) await page.screenshot({ path: `${process.env.BERTH_SHOTS}/failed-${Date.now()}.png` });
      throw error;
    } finally {
      await close();
    }
  };
}
