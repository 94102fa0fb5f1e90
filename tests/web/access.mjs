// Tokens: nothing is shown without one; one that may read looks and changes nothing; a new tab
// asks the others; it is nowhere that outlives the tabs.
import { check, given, open, run, settled } from './browser.mjs';

const expected = (page) => { page.errors = page.errors.filter((one) => !/401|403/.test(one)); };

await run(async (browser) => {
  const page = await open(browser, `jobs/${given.job}`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  check(!(await page.locator('body').innerText()).includes(given.shown), 'nothing of a job is shown without a token');
  await page.getByLabel('Token').fill('pawl_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.hint.err').waitFor();
  await page.getByLabel('Token').fill(given.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: given.shown }).waitFor();
  await settled(page);
  check(await page.getByRole('button', { name: 'Cancel…' }).isDisabled(), 'a token that may only read can not cancel');
  check(await page.getByRole('button', { name: 'Edit and run again' }).isDisabled(), 'nor add');
  const refused = await page.evaluate(async ({ id, secret }) => (await fetch(new URL(`../api/v1/jobs/${id}/cancel`, document.baseURI), { method: 'POST', headers: { Authorization: `Bearer ${secret}` } })).status, { id: given.job, secret: given.token });
  check(refused === 403, `the API answers ${refused} to a change`);
  check(!(await page.evaluate((id) => fetch(new URL(`../api/v1/jobs/${id}`, document.baseURI)).then((r) => r.ok), given.job)), 'without a token the API gives nothing');
  const other = await page.context().newPage();
  other.errors = [];
  await other.goto(`${given.url}queues`);
  await other.getByRole('heading', { name: 'Queues', exact: true }).waitFor();
  check(!page.url().includes(given.token) && (await page.context().cookies()).length === 0, 'not in the URL, not in a cookie');
  check(!(await page.evaluate((secret) => JSON.stringify({ ...localStorage }).includes(secret), given.token)), 'not in permanent storage');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await other.getByRole('heading', { name: 'Sign in' }).waitFor();
  expected(page);
  check(page.errors.length === 0, page.errors.join('\n'));
});
