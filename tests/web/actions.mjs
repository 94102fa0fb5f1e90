// Each action does what it says, and shows it.
import { check, given, open, run, settled, tell } from './browser.mjs';

const jobOf = async (page, id) => page.evaluate(async (one) => (await fetch(new URL(`../api/v1/jobs/${one}`, document.baseURI))).json(), id);
const queueOf = async (page, name) => page.evaluate(async (one) => (await fetch(new URL(`../api/v1/queues/${one}`, document.baseURI))).json(), name);

async function until(page, look, what) {
  for (let i = 0; i < 600; i++) {
    if (await look()) return;
    await page.waitForTimeout(100);
  }
  throw new Error(`never: ${what}`);
}

async function visit(page, path) {
  await page.goto(given.url + path);
  await settled(page);
}

async function addJob(page) {
  await visit(page, 'jobs/new');
  const fields = { Name: 'made by hand ‮', Queue: 'forms', Priority: '7', Delay: '1h', Retries: '3', 'Retry delay': '9s', 'Longest run': '10m', Tags: 'one, two', Group: 'of-forms' };
  await page.getByRole('button', { name: 'A type', exact: true }).click();
  await page.getByLabel('Type', { exact: true }).fill('echo');
  const payload = '{"big":9007199254740993,"text":"<script>alert(1)</script>"}';
  await page.getByLabel('Payload', { exact: true }).fill(payload);
  for (const [label, text] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(text);
  await page.getByRole('button', { name: 'Add a job' }).click();
  await page.waitForURL(/jobs\/[0-9a-z]{13}$/);
  const job = await jobOf(page, page.url().split('/').pop());
  const expected = { type: 'echo', payload, name: fields.Name, queue: 'forms', priority: 7, max_retries: 3, retry_delay: 'PT9S', max_run_time: 'PT10M', group: 'of-forms', state: 'deferred' };
  for (const [name, value] of Object.entries(expected)) check(job[name] === value, `${name} is ${JSON.stringify(job[name])}, not ${JSON.stringify(value)}`);
  check(job.tags.join() === 'one,two', `tags are ${job.tags}`);
  await settled(page);
  check((await page.locator('.tree').innerText()).includes('9007199254740993'), 'a 64-bit number is exact');
  check((await page.locator('h1').innerText()).includes('U+202E'), 'a mark of direction is shown by its number');
  return job;
}

async function editAgain(page, job) {
  await page.getByRole('button', { name: 'Edit and run again' }).click();
  await page.waitForURL(/jobs\/new/);
  await page.getByLabel('Priority', { exact: true }).fill('8');
  await page.getByRole('button', { name: 'Add a job' }).click();
  await page.waitForURL(/jobs\/[0-9a-z]{13}$/);
  const again = await jobOf(page, page.url().split('/').pop());
  for (const name of ['type', 'payload', 'name', 'queue', 'max_retries', 'retry_delay', 'max_run_time', 'group']) check(again[name] === job[name], `${name} survives: ${again[name]}`);
  check(again.priority === 8, 'what was edited is sent');
  await page.goto(`${given.url}jobs/${job.id}`);
  await settled(page);
}

async function holdAndRelease(page, id) {
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('button', { name: 'Hold', exact: true }).click();
  await page.locator('h1 .s-held').waitFor();
  check((await jobOf(page, id)).state === 'held', 'held');
  await page.getByRole('button', { name: 'Release', exact: true }).first().click();
  await page.locator('h1 .s-deferred').waitFor();
}

async function changePriority(page, id) {
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('button', { name: 'Change the priority…' }).click();
  await page.getByRole('dialog').getByLabel('Priority').fill('-3');
  await page.getByRole('button', { name: 'Change the priority', exact: true }).click();
  await until(page, async () => (await jobOf(page, id)).priority === -3, 'the priority is -3');
  await page.locator('.facts').getByText('−3').waitFor();
}

async function followLog(page) {
  await visit(page, `jobs/${given.talks}`);
  await page.locator('.log').getByText('line 1', { exact: true }).waitFor();
  await tell('say');
  await page.locator('.log').getByText('said later').waitFor();
  await page.locator('.log .an-1').getByText('in red').waitFor();
  await page.getByLabel('Find in the log').fill('LATER');
  await page.locator('.log mark').waitFor();
}

async function cancelRunning(page) {
  await visit(page, `jobs/${given.talks}`);
  await page.getByRole('button', { name: 'Cancel…' }).click();
  await page.getByLabel('Reason').fill('seen enough');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.locator('h1 .s-cancelled').waitFor();
  const job = await jobOf(page, given.talks);
  check(job.state === 'cancelled' && job.reason === 'seen enough', `it is ${job.state}: ${job.reason}`);
}

async function retryAllThatMatch(page) {
  await visit(page, `jobs?q=${encodeURIComponent('state:failed type:again')}`);
  await page.locator('tbody input[type=checkbox]').first().click();
  await page.getByRole('button', { name: 'Select all that match' }).click();
  await page.getByRole('button', { name: 'Retry…' }).click();
  await page.getByRole('heading', { name: 'Retry 3 jobs?' }).waitFor();
  await tell('mend');
  await page.getByRole('button', { name: 'Retry 3 jobs' }).click();
  await page.getByText('3 done, 0 refused.').waitFor();
  await page.getByText('No job matches.').waitFor();
}

async function pauseQueue(page) {
  await visit(page, 'queues/steady');
  await page.getByRole('button', { name: 'Pause…' }).click();
  await page.getByLabel('Reason').fill('a look <b>inside</b>');
  await page.getByLabel('For how long').fill('2h');
  await page.getByRole('button', { name: 'Pause the queue' }).click();
  await page.locator('h1 .s-paused').waitFor();
  const queue = await queueOf(page, 'steady');
  check(queue.paused && queue.pause_reason === 'a look <b>inside</b>' && queue.paused_until, 'paused with reason and end');
  await page.getByText('a look <b>inside</b>').first().waitFor();
  await page.getByRole('button', { name: 'Resume', exact: true }).first().click();
  await until(page, async () => !(await queueOf(page, 'steady')).paused, 'it is resumed');
}

async function editQueue(page) {
  await visit(page, 'queues/steady');
  await page.getByRole('button', { name: 'Edit limits' }).click();
  const values = { Slots: '3', Rate: '10/s', 'Lowest priority': '-5', 'Highest priority': '9', 'Default priority': '4', Aging: '2' };
  for (const [label, text] of Object.entries(values)) await page.getByRole('dialog').getByLabel(label, { exact: true }).fill(text);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const queue = await queueOf(page, 'steady');
  await page.locator('.kv').getByText('10 in 1 s').waitFor();
  check(queue.slots === 3 && queue.rate.jobs === 10 && queue.priority_min === -5 && queue.priority_max === 9 && queue.default_priority === 4 && queue.aging === 2, JSON.stringify(queue));
  await page.getByRole('button', { name: 'Edit limits' }).click();
  for (const [label, text] of Object.entries(values)) check((await page.getByRole('dialog').getByLabel(label, { exact: true }).inputValue()) === text, `${label} survives a round trip`);
  await page.getByRole('dialog').getByLabel('Slots', { exact: true }).fill('many');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').getByRole('alert').waitFor();
  await page.keyboard.press('Escape');
  page.errors.length = 0; // the browser notes the refusal, which was the point
}

async function clearQueue(page) {
  await visit(page, 'queues/steady');
  await page.getByRole('button', { name: 'Clear…' }).click();
  const button = page.getByRole('dialog').getByRole('button', { name: /^Cancel 2 jobs/ });
  check(await button.isDisabled(), 'the name must be typed first');
  await page.getByLabel('Type steady to go on').fill('steady');
  await button.click();
  await until(page, async () => ((await queueOf(page, 'steady')).jobs.cancelled ?? 0) === 2, 'both are cancelled');
}

const api = async (page, path) => page.evaluate(async (one) => (await fetch(new URL(`../api/v1/${one}`, document.baseURI))).json(), path);

async function changeSettings(page) {
  await visit(page, 'settings');
  await page.getByLabel('Jobs at once').fill('9');
  await page.getByLabel('First retry after').fill('7s');
  await page.locator('.card', { hasText: 'Jobs at once' }).getByRole('button', { name: 'Save' }).click();
  await page.getByText('Jobs at once 9, was 6').waitFor();
  check((await api(page, 'config')).max_concurrent_jobs === 9, 'nine may run');
  check((await page.getByLabel('First retry after').inputValue()) === '7s', 'what is not saved yet stays');
}

async function editHandler(page) {
  await visit(page, 'handlers/new/edit');
  await page.getByLabel('Type', { exact: true }).fill('greet');
  await page.getByLabel('Body').fill('read who; echo "R: 200 hello $who"');
  await page.getByLabel('Payload').fill('world');
  await page.getByRole('button', { name: 'Run it once' }).click();
  await page.getByText('ok 200').waitFor();
  await page.getByText('hello world').first().waitFor();
  await page.getByRole('button', { name: 'Save as a new version' }).click();
  await page.waitForURL(/handlers\/greet$/);
  await settled(page);
  await page.getByLabel('Body').fill('read who; echo "R: 200 good day $who"');
  await page.getByLabel('max_retries').fill('4');
  await page.getByRole('button', { name: 'Save as a new version' }).click();
  await page.getByText('Saved version 2').waitFor();
  const handler = await api(page, 'handlers/greet');
  check(handler.version === 2 && handler.max_retries === 4 && handler.body.includes('good day'), JSON.stringify(handler));
  await page.getByRole('button', { name: 'Make it the newest' }).first().waitFor();
  await page.getByRole('button', { name: 'What changed' }).first().click();
  await page.locator('.diff .more').getByText('good day').waitFor();
  await page.getByRole('button', { name: 'Make it the newest' }).first().click();
  await until(page, async () => (await api(page, 'handlers/greet')).body.includes('hello'), 'it went back');
}

async function drainNode(page) {
  await visit(page, 'nodes');
  await page.getByRole('button', { name: /^Drain / }).click();
  await page.getByLabel('Reason').fill('new disks');
  await page.getByRole('button', { name: 'Drain the node' }).click();
  await page.getByText('Drains: new disks').waitFor();
  check((await api(page, 'nodes')).items[0].drain.reason === 'new disks', 'it drains');
  await page.getByRole('main').getByRole('button', { name: 'Resume' }).click();
  await until(page, async () => !(await api(page, 'nodes')).items[0].drain, 'it goes on');
}

async function definitions(page) {
  await visit(page, 'schedules');
  await page.getByText('Mon–Fri at 02:30').waitFor();
  await page.getByRole('button', { name: 'Pause nightly' }).click();
  await until(page, async () => (await api(page, 'schedules/nightly')).paused, 'the schedule is paused');
  await page.getByRole('button', { name: 'Run nightly now' }).click();
  await until(page, async () => (await api(page, 'jobs?q=schedule:nightly')).items.length === 1, 'it ran once');
  await visit(page, 'alerts');
  await page.getByRole('button', { name: 'New rule' }).click();
  await page.getByLabel('Name').fill('many');
  await page.getByLabel('When').fill('failures(*) > 2 in 10m');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.locator('td.prime', { hasText: 'many' }).waitFor();
  check((await api(page, 'alert-rules/many')).when === 'failures(*) > 2 in 10m', 'the rule is there');
  await visit(page, 'audit');
  await page.getByText('alert_rule many').waitFor();
}

/** Last, because from the first token on the daemon asks everyone for one: this tab has it then. */
async function makeAndRevoke(page) {
  await visit(page, 'tokens');
  for (const name of ['boss', 'guest']) {
    await page.getByRole('button', { name: 'New token' }).click();
    await page.getByLabel('Name').fill(name);
    if (name === 'boss') await page.getByLabel('admin: everything').click();
    await page.getByRole('button', { name: 'Make the token' }).click();
    await page.getByRole('heading', { name: `Token ${name}` }).waitFor();
    check((await page.locator('dialog code').innerText()).length > 20, 'the secret is shown');
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.locator('td.prime', { hasText: name }).waitFor();
  }
  await page.getByRole('button', { name: 'Revoke guest…' }).click();
  await page.getByRole('button', { name: 'Revoke the token' }).click();
  await page.locator('td.prime', { hasText: 'guest' }).waitFor({ state: 'detached' });
}

async function keyboard(page) {
  await visit(page, 'jobs');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.getByText('1 selected').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('q');
  await page.waitForURL(/queues$/);
  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'Keyboard' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await page.keyboard.type(given.failed);
  await page.keyboard.press('Enter');
  await page.waitForURL(new RegExp(`jobs/${given.failed}$`));
}

await run(async (browser) => {
  const page = await open(browser, '');
  await settled(page);
  const job = await addJob(page);
  await editAgain(page, job);
  await holdAndRelease(page, job.id);
  await changePriority(page, job.id);
  await followLog(page);
  await cancelRunning(page);
  await retryAllThatMatch(page);
  await pauseQueue(page);
  await editQueue(page);
  await clearQueue(page);
  await changeSettings(page);
  await editHandler(page);
  await drainNode(page);
  await definitions(page);
  await keyboard(page);
  await makeAndRevoke(page);
  page.errors = page.errors.filter((one) => !/401/.test(one)); // between the first token and its use
  check(page.errors.length === 0, page.errors.join('\n'));
});
