// The daemon goes and comes back: the page keeps what it shows, says so, and goes on by itself.
import { check, given, open, run, settled, tell } from './browser.mjs';

await run(async (browser) => {
  const page = await open(browser, 'jobs');
  await settled(page);
  await page.getByText(given.shown).first().waitFor();
  await tell('kill');
  await page.getByText('Connection lost at').waitFor();
  check(await page.getByText(given.shown).first().isVisible(), 'what it showed stays');
  await tell('start');
  await page.getByText('Connection lost at').waitFor({ state: 'detached' });
  await tell('add');
  await page.getByText('after the restart').first().waitFor();
  const errors = page.errors.filter((one) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|503/.test(one));
  check(errors.length === 0, errors.join('\n'));
});
