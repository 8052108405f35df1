// SPDX-License-Identifier: Apache-2.0
// How long frames take while the pointer moves over a page and everything on it is scrolled.
export async function frameTimes(page) {
  await page.evaluate(() => {
    window.frames_ = [];
    let last = performance.now();
    const tick = (now) => {
      window.frames_.push(now - last);
      last = now;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  const scrollable = await page.evaluate(() => {
    const all = [...document.querySelectorAll('main *')].filter((one) => one.scrollHeight > one.clientHeight + 40 && /auto|scroll/.test(getComputedStyle(one).overflowY));
    all.forEach((one, i) => { one.dataset.scrolled = String(i); });
    return all.length;
  });
  for (let i = 0; i < 120; ++i) {
    await page.mouse.move(40 + (i * 7) % 800, 260 + (i * 3) % 400);
    if (scrollable > 0 && i % 3 === 0)
      await page.evaluate(({ which, by }) => { document.querySelector(`[data-scrolled="${which}"]`)?.scrollBy(0, by); }, { which: i % scrollable, by: i < 90 ? 160 : -400 });
  }
  const frames = (await page.evaluate(() => window.frames_)).sort((a, b) => a - b);
  return { count: frames.length, at: (share) => frames[Math.floor((frames.length - 1) * share)] };
}
