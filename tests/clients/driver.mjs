// SPDX-License-Identifier: Apache-2.0
// driver - the Node client, driven by scenarios.py: see there for what it is asked.
import fs from 'node:fs';
import readline from 'node:readline';
import { Client, Fail, parse, PawlError, Retry, Snooze, stringify, Worker }
  from '../../clients/node/pawl.mjs';

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

const handlers = {
  upper: (job) => job.payload.toUpperCase(),
  echo: (job) => job.payload,
  number: (job) => {
    const { n } = job.json();
    return { n: n + 1n };
  },
  wait: async (job) => {
    job.progress(10, 'waiting');
    while (!fs.existsSync(job.payload)) await sleep(20);
    return 'waited';
  },
  stoppable: async (job) => {
    job.progress(10, 'until told');
    await new Promise((resolve) => { job.signal.addEventListener('abort', resolve); });
    fs.writeFileSync(job.payload, '');
  },
  fail: () => { throw new Fail('no such thing'); },
  retry: (job) => {
    if (job.attempt === 1) throw new Retry('not yet');
    return 'second';
  },
  snooze: (job) => {
    if (job.attempt === 1) throw new Snooze(0.1, 'later');
    return 'woke';
  },
  crash: () => { throw new TypeError('broken'); },
  child: (job) => { job.add('echo', `of ${job.id}`, { priority: 7 }); },
};

const payloadOf = (ask) => ('base64' in ask ? Buffer.from(ask.base64, 'base64')
  : ask.json ?? ask.text);
const valueOf = (value) => (value === null || value === undefined ? null
  : typeof value === 'string' ? { text: value } : { base64: value.toString('base64') });
const shown = ({ id, state, error, attempt, payload, result }) => ({ id, state, error, attempt,
  payload: valueOf(payload), result: valueOf(result) });

let client;
let worker;
const answers = {
  open: (ask) => {
    client = new Client(ask.url, ask.token, { tenant: ask.tenant ?? undefined,
      retryFor: ask.retry_for ?? 30, keyless: ask.keyless });
    worker = new Worker(client, handlers);
    return null;
  },
  add: (ask) => client.add(ask.type, payloadOf(ask), { ...ask.fields, idempotencyKey: ask.key }),
  add_many: (ask) => client.addMany(ask.jobs.map((job) => ({ type: job.type,
    payload: payloadOf(job), ...job.fields }))),
  get: async (ask) => shown(await client.get(ask.id)),
  wait: async (ask) => shown(await client.wait(ask.id, ask.timeout)),
  cancel: async (ask) => (await client.cancel(ask.id)).state,
  run: async () => { await worker.run(); return null; },
};

if (process.argv[2] === 'client') {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let said;
    try {
      const ask = parse(line);
      said = { ok: await answers[ask.do](ask) };
    } catch (why) {
      if (!(why instanceof PawlError)) throw why;
      said = { error: { code: why.code, status: why.status, ids: why.ids } };
    }
    process.stdout.write(`${stringify(said)}\n`);
  }
  client.close();
} else {
  const ask = JSON.parse(process.argv[3]);
  await new Worker(new Client(ask.url, undefined, { tenant: ask.tenant }), handlers,
    ask.concurrency, { lease: ask.lease, poll: 0.5 }).run();
}
