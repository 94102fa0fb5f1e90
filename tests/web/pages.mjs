// Every page: opens without an error of the console and without anything that axe finds, in
// light, in dark and at the width of a phone. {name} in a path stands for what the test made.
import { check, given, open, run, settled, violations } from './browser.mjs';

const PAGES = [
  ['overview', ''],
  ['jobs', 'jobs'],
  ['jobs that match', 'jobs?q=state:failed,rejected'],
  ['no jobs that match', 'jobs?q=tag:none'],
  ['a job that failed', 'jobs/{failed}'],
  ['a job that runs', 'jobs/{running}'],
  ['a job with relations', 'jobs/{child}'],
  ['add a job', 'jobs/new'],
  ['queues', 'queues'],
  ['a queue', 'queues/{queue}'],
  ['a paused queue', 'queues/{paused}'],
  ['errors', 'errors'],
  ['alerts', 'alerts'],
  ['groups', 'groups'],
  ['a group', 'groups/{group}'],
  ['schedules', 'schedules'],
  ['processors', 'processors'],
  ['handlers', 'handlers'],
  ['a handler', 'handlers/again'],
  ['a new handler', 'handlers/new/edit'],
  ['nodes', 'nodes'],
  ['resources', 'resources'],
  ['settings', 'settings'],
  ['tenants and tokens', 'tokens'],
  ['audit', 'audit'],
  ['no such page', 'nothing/here'],
];

const LOOKS = [{ theme: 'light' }, { theme: 'dark' }, { theme: 'light', width: 390 }];

const filled = (path) => path.replace(/\{(\w+)\}/g, (whole, name) => encodeURIComponent(given[name]));

await run(async (browser) => {
  const wrong = [];
  await Promise.all(LOOKS.map(async (look) => {
    const page = await open(browser, filled(PAGES[0][1]), look);
    for (const [name, path] of PAGES) {
      await page.goto(given.url + filled(path));
      await settled(page);
      const found = [...page.errors.splice(0), ...(await violations(page))];
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (wide > 1) found.push(`the page scrolls sideways by ${wide} px`);
      if (found.length) wrong.push(`${name} (${look.theme} ${look.width ?? 1280}):\n  ${found.join('\n  ')}`);
    }
    await page.context().close();
  }));
  check(wrong.length === 0, wrong.join('\n'));
});
