// A browser for the tests of the dashboard: Debian's Chromium, driven by playwright-core.
// A scenario is a file of this folder that calls run(); what it needs comes as JSON in its
// first argument, what the test around it must do (restart the daemon) is asked for by tell().
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const need = createRequire(fileURLToPath(new URL('../../web/', import.meta.url)));
const { chromium } = need('playwright-core');
const axe = readFileSync(need.resolve('axe-core/axe.min.js'), 'utf8');

export const given = JSON.parse(process.argv[2] ?? '{}');
const SECONDS = 90;
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'];
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Asks the test around the scenario for something, and waits until it is done. */
export async function tell(what) {
  console.log(`tell ${what}`);
  return (await lines.next()).value;
}

export function check(so, what) {
  if (!so) throw new Error(what);
}

/** A page of the dashboard that notes every error of its console. */
export async function open(browser, path, { theme = 'light', width = 1280, before } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, locale: 'en-GB', timezoneId: 'UTC' });
  const page = await context.newPage();
  page.setDefaultTimeout(SECONDS * 1000);
  page.errors = [];
  page.on('console', (message) => { if (message.type() === 'error') page.errors.push(`${message.text()} ${message.location().url}`); });
  page.on('pageerror', (error) => page.errors.push(String(error.stack)));
  await page.addInitScript((name) => { try { localStorage.setItem('pawl.theme', name); } catch { /* about:blank */ } }, theme);
  if (before) await before(page);
  await page.goto(given.url + path);
  return page;
}

/** Waits until the page has drawn what it asked for. */
export async function settled(page) {
  // waitForFunction would need eval, which the content policy forbids.
  const drawn = () => page.evaluate(() => Boolean(document.querySelector('main h1')) && !document.querySelector('[aria-busy=true]'));
  for (let i = 0; !(await drawn()); i++) {
    check(i < SECONDS * 10, 'the page never settles');
    await page.waitForTimeout(100);
  }
  await page.waitForTimeout(150);
}

/** What axe finds wrong, in words. */
export async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate((rules) => window.axe.run(document, { runOnly: rules, resultTypes: ['violations'] }), RULES);
  return found.violations.map((one) => `${one.id}: ${one.help}\n${one.nodes.slice(0, 4).map((node) => `    ${node.html.slice(0, 200)} ${node.any[0]?.message ?? node.failureSummary ?? ''}`).join('\n')}`);
}

/** Does the scenario with a browser; its exit status says how it went. */
export async function run(scenario) {
  const browser = await chromium.launch({ executablePath: given.chromium, args: FLAGS, timeout: SECONDS * 1000 });
  let failed = null;
  try {
    await scenario(browser);
  } catch (error) {
    failed = error;
    for (const context of browser.contexts()) for (const page of context.pages()) {
      console.error(`page ${page.url()}\n${(await page.locator('body').innerText().catch(() => '')).slice(0, 1500)}\nerrors: ${page.errors?.join('\n')}`);
      if (given.shots) await page.screenshot({ path: `${given.shots}/failed.png` }).catch(() => {});
    }
    console.error(error.stack);
  }
  await browser.close();
  process.exit(failed ? 1 : 0);
}
