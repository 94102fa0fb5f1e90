// Text of strangers stays text: nothing of it runs, becomes an element, or hides.
import { check, given, open, run, settled } from './browser.mjs';

await run(async (browser) => {
  const page = await open(browser, 'jobs?q=tag:hostile', { before: (it) => it.addInitScript(() => { window.alert = () => { window.owned = true; }; }) });
  await settled(page);
  const look = async (where) => {
    check(!(await page.evaluate(() => window.owned)), `a text ran at ${where}`);
    check((await page.locator('main img, main iframe, main script, main object').count()) === 0, `a text became an element at ${where}`);
    check(page.errors.length === 0, `${where}: ${page.errors.join('\n')}`);
  };
  await look('the list');
  const shown = await page.locator('tbody').innerText();
  check(shown.includes('<script>') && shown.includes('<img src=x'), 'the list shows tags as text');
  check(!/[‪-‮⁦-⁩]/.test(shown), 'marks of direction are shown by their number');
  for (const id of given.jobs) {
    await page.goto(`${given.url}jobs/${id}`);
    await settled(page);
    await page.getByRole('button', { name: 'Bytes', exact: true }).click({ timeout: 500 }).catch(() => {});
    await look(id);
    const width = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(width <= 1, `job ${id} scrolls sideways by ${width}`);
  }
  await page.goto(`${given.url}jobs/${given.long}`);
  await settled(page);
  await page.getByRole('button', { name: /^show all/ }).first().waitFor();
  check((await page.locator('body').innerText()).length < 200000, 'a line of a million characters is cut');
});
