// SPDX-License-Identifier: Apache-2.0
// pawl - add jobs to a pawl daemon and work on them. One file, nothing but Node.
//
//   import { Client, Worker } from 'pawl';
//
//   const client = new Client('http://127.0.0.1:7420');    // or https://HOST, unix:PATH
//   const id = await client.add('mail', { to: 'ann' });    // text, bytes, or a JSON value
//   console.log((await client.wait(id)).result);
//
//   const mail = async (job) => `sent to ${job.json().to}`;
//   await new Worker(client, { mail }, 4).run();           // until SIGTERM
//
// An add is sent with a key of its own, so that it can be sent again after a lost answer
// without adding twice. new Client('fake:') keeps jobs in memory, new Client('inline:') also
// runs them at once: for the tests of your application.
import http from 'node:http';
import https from 'node:https';
import os from 'node:os';
import { randomUUID } from 'node:crypto';

export const VERSION = '0.2.0';
export const FINAL = ['done', 'failed', 'rejected', 'cancelled'];
const AGAIN = [429, 502, 503, 504]; // refused for now: nothing was done
const PAUSE_MAX_MS = 5000;          // between two tries when the daemon names none

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// --- What can go wrong ---------------------------------------------------------------

// The daemon refused. `code` is a stable word such as `job_not_found`; `status` is that of
// HTTP, 0 if nobody answered. Of addMany: `ids` has null where a job was refused, and
// `errors` has [index, problem].
export class PawlError extends Error {
  constructor(code, detail, status = 0, more = {}) {
    super(`${detail} [${code}]${more.hint ? `: ${more.hint}` : ''}`);
    this.name = 'PawlError';
    Object.assign(this, { code, detail, status, ids: [], errors: [], sent: false }, more);
  }
}

// What a handler throws to end its job other than by a result or an error.
class Outcome extends Error {}

// Try the job again after its usual delay; counts as a try.
export class Retry extends Outcome {
  exitcode = 175;
}

// Never try the job again.
export class Fail extends Outcome {
  exitcode = 400;
}

// Not now: try again in `seconds`. Where the daemon knows `again_in` it costs no try and the
// time is kept; otherwise this is a Retry.
export class Snooze extends Retry {
  constructor(seconds, why = 'snoozed') {
    super(why);
    this.after = seconds;
  }
}

// --- Values ---------------------------------------------------------------------------

// JSON with whole numbers of any size: those that no double has are a BigInt.
const MARK = `${randomUUID()}:`; // before the digits of such a number, meanwhile a text

export function parse(text) {
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g,
    (token) => (/^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token))
      ? `"${MARK}${token}"` : token));
  if (marked === text) return JSON.parse(text);
  return JSON.parse(marked, (_, value) => (typeof value === 'string' && value.startsWith(MARK)
    ? BigInt(value.slice(MARK.length)) : value));
}

export function stringify(value) {
  if (typeof value === 'bigint') return String(value);
  if (value && typeof value === 'object' && !(value.toJSON instanceof Function)) {
    if (Array.isArray(value)) return `[${value.map((v) => stringify(v) ?? 'null').join()}]`;
    return `{${Object.entries(value).filter(([, v]) => stringify(v) !== undefined)
      .map(([k, v]) => `${JSON.stringify(k)}:${stringify(v)}`).join()}}`;
  }
  return JSON.stringify(value);
}

// Text as it is, bytes as base64, any other value as JSON text.
function newJob(type, payload, fields) {
  const made = { type, ...fields };
  if (payload instanceof Uint8Array) made.payload_base64 = Buffer.from(payload).toString('base64');
  else if (payload !== undefined && payload !== null)
    made.payload = typeof payload === 'string' ? payload : stringify(payload);
  return made;
}

const payloadOf = (fields) => (typeof fields.payload_base64 === 'string'
  ? Buffer.from(fields.payload_base64, 'base64') : fields.payload ?? null);

function textOrBytes(data) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return data;
  }
}

// --- The connection ---------------------------------------------------------------------

function refusal(status, data) {
  if (status < 400) return null;
  let problem = {};
  try { problem = JSON.parse(data.toString()) ?? {}; } catch { /* not the daemon's own words */ }
  return new PawlError(problem.code ?? `http_${status}`,
    problem.detail ?? problem.title ?? `status ${status}`, status, { hint: problem.hint });
}

const again = (error) => error.code === 'daemon_unreachable' || AGAIN.includes(error.status)
  || error.code === 'idempotency_in_progress';

class Http {
  constructor(url, options) {
    this.retryFor = options.retryFor;
    this.token = options.token;
    this.timeout = options.timeout;
    if (url.startsWith('unix:')) this.where = { socketPath: url.slice(5) };
    else {
      const parts = new URL(url);
      if (!['http:', 'https:'].includes(parts.protocol))
        throw new TypeError(`not http://, https://, unix:PATH, fake: or inline: ${url}`);
      this.where = { protocol: parts.protocol, port: parts.port || undefined,
        hostname: parts.hostname.replace(/^\[|\]$/g, '') };
    }
    this.kind = this.where.protocol === 'https:' ? https : http;
    this.agent = new this.kind.Agent({ keepAlive: true, ...options.tls });
  }

  // One try: { status, headers, data }, or an error that says whether it was sent.
  once(method, path, body, headers, fresh) {
    return new Promise((resolve, reject) => {
      let sent = false;
      const failed = (why) => reject(new PawlError('daemon_unreachable',
        `no answer: ${why.message}`, 0, { sent, kept: request.reusedSocket }));
      const request = this.kind.request({ ...this.where, method, path, headers,
        agent: fresh ? false : this.agent, timeout: this.timeout * 1000 }, (answer) => {
        const parts = [];
        answer.on('data', (part) => parts.push(part));
        answer.on('error', failed);
        answer.on('end', () => (answer.complete ? resolve({ status: answer.statusCode,
          headers: answer.headers, data: Buffer.concat(parts) })
          : failed(new Error('the answer ended early'))));
      });
      const ready = this.kind === https ? 'secureConnect' : 'connect';
      request.on('socket', (socket) => {
        if (!socket.connecting) sent = true;
        else socket.once(ready, () => { sent = true; });
      });
      request.on('error', failed);
      request.on('timeout', () => request.destroy(new Error('it took too long')));
      request.end(body);
    });
  }

  // repeat: it may be sent again although it may have been done. but: a code with which it
  // is not sent again, unless it may have been done.
  async call(method, path, { body, key, repeat = true, retryFor = this.retryFor, but } = {}) {
    const headers = { Host: this.where.hostname ? undefined : 'localhost',
      'User-Agent': `pawl-node/${VERSION}` };
    if (headers.Host === undefined) delete headers.Host;
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    let bytes;
    if (body !== undefined) {
      bytes = Buffer.from(stringify(body));
      headers['Content-Type'] = 'application/json';
      headers['Content-Length'] = bytes.length;
    }
    if (/^\/api\/v1\/jobs(\?|$)/.test(path)) headers.Prefer = 'return=minimal'; // only its id
    if (key) headers['Idempotency-Key'] = key;
    const until = performance.now() + retryFor * 1000;
    let [pause, done] = [50, false];
    for (;;) {
      let [error, wait, answer] = [];
      try {
        answer = await this.once(method, path, bytes, headers, !repeat);
        error = refusal(answer.status, answer.data);
        wait = answer.headers['retry-after'];
      } catch (why) {
        if (why.sent && !repeat) throw why;
        error = why;
        done ||= why.sent;
        // The daemon may have hung up on a connection that had been kept: a new one at once.
        if (why.kept) continue;
      }
      if (!error) return answer;
      if (!again(error) || (error.code === but && !done)) throw error;
      const ms = /^\d+$/.test(wait ?? '') ? wait * 1000 : pause * (0.5 + Math.random() / 2);
      if (performance.now() + ms > until) throw error;
      await sleep(ms);
      pause = Math.min(pause * 2, PAUSE_MAX_MS);
    }
  }
}

// --- Adding and asking -----------------------------------------------------------------------

// url: http://HOST:PORT, https://HOST, unix:PATH, fake: or inline:
// (default: $PAWL_SERVER, else http://127.0.0.1:7420); token: $PAWL_TOKEN unless given.
// options: tenant; timeout (seconds for one answer, 60); retryFor (seconds during which a
// request that got no answer, or a 429 or 503, is sent again, 30); keyless (true: where the
// daemon cannot take keys, because it is cut off from its store, add without one; a lost
// answer is then an error, not tried again); tls (options of an https.Agent).
export class Client {
  constructor(url, token, options = {}) {
    this.url = url || process.env.PAWL_SERVER || 'http://127.0.0.1:7420';
    this.tenant = options.tenant;
    this.keyless = options.keyless ?? false;
    if (this.url === 'fake:' || this.url === 'inline:') this.fake = new Fake(this.url);
    else this.http = new Http(this.url, { retryFor: 30, timeout: 60, ...options,
      token: token || process.env.PAWL_TOKEN });
  }

  // Closes connections that are kept open.
  close() {
    this.http?.agent.destroy();
  }

  // Of a fake: the jobs so far.
  get jobs() {
    return this.fake?.jobs;
  }

  path(path) {
    return `/api/v1${path}${this.tenant ? `?tenant=${encodeURIComponent(this.tenant)}` : ''}`;
  }

  // Adds a job; resolves to its id. fields: queue, priority, delay, max_retries, …, and
  // idempotencyKey.
  async add(type, payload, { idempotencyKey, ...fields } = {}) {
    if (this.fake) return this.fake.add(type, payload, idempotencyKey, fields);
    const { data } = await this.send(newJob(type, payload, fields), idempotencyKey);
    return JSON.parse(data).id;
  }

  // Adds many jobs, { type, payload, …fields } each, in one request; resolves to their ids in
  // order. If some were refused, throws PawlError with `ids` and `errors`; the others are added.
  async addMany(jobs, { idempotencyKey } = {}) {
    if (this.fake) return this.fake.addMany(jobs);
    if (!jobs.length) return [];
    const made = jobs.map(({ type, payload, ...fields }) => newJob(type, payload, fields));
    const { data } = await this.send(made, idempotencyKey);
    const told = data.toString().split('\n').filter(Boolean).map((line) => JSON.parse(line))
      .filter((line) => 'line' in line);
    if (told.length !== jobs.length)
      throw new PawlError('daemon_unreachable', 'the answer is not whole', 0, { sent: true });
    const errors = told.filter((line) => line.error).map((line) => [line.line - 1, line.error]);
    const ids = told.map((line) => line.id ?? null);
    if (errors.length)
      throw new PawlError(errors[0][1].code,
        `${errors.length} of ${ids.length} jobs were refused: ${errors[0][1].detail}`, 422,
        { ids, errors });
    return ids;
  }

  // The same by the name that it has in other languages.
  add_many(...all) {
    return this.addMany(...all);
  }

  async send(body, key = randomUUID()) {
    try {
      return await this.http.call('POST', this.path('/jobs'),
        { body, key, but: this.keyless ? 'store_unavailable' : undefined });
    } catch (why) {
      if (!this.keyless || why.code !== 'store_unavailable') throw why;
    }
    return this.http.call('POST', this.path('/jobs'), { body, repeat: false });
  }

  // The job: an object with the fields of the reference, and `payload` as it was sent.
  async get(id) {
    if (this.fake) return this.fake.get(id);
    const { data } = await this.http.call('GET', this.path(`/jobs/${id}`));
    const job = parse(data.toString());
    return { ...job, payload: payloadOf(job) };
  }

  // Its result: text, or a Buffer if it is no text; null if there is none.
  async result(id) {
    if (this.fake) return this.fake.get(id).result;
    try {
      return textOrBytes((await this.http.call('GET', this.path(`/jobs/${id}/result`))).data);
    } catch (why) {
      if (why.code === 'result_not_found') return null;
      throw why;
    }
  }

  // Waits until the job is final; resolves to it with its `result`. Throws PawlError
  // `timeout` when the seconds are over.
  async wait(id, timeout = Infinity) {
    const until = performance.now() + timeout * 1000;
    for (let pause = 20; ; pause = Math.min(pause * 1.5, 1000)) {
      const job = await this.get(id);
      if (FINAL.includes(job.state))
        return this.fake ? job : { ...job, result: job.result_size ? await this.result(id) : null };
      const left = until - performance.now();
      if (left <= 0 || this.fake)
        throw new PawlError('timeout', `job ${id} is still ${job.state}`);
      await sleep(Math.min(pause, left));
    }
  }

  // Asks for the job's end; resolves to the job. One that is cancelled already stays so.
  async cancel(id, reason) {
    if (this.fake) return this.fake.cancel(id);
    try {
      const { data } = await this.http.call('POST', this.path(`/jobs/${id}/cancel`),
        { body: reason ? { reason } : {} });
      return parse(data.toString());
    } catch (why) {
      if (why.code !== 'invalid_state') throw why;
      const job = await this.get(id);
      if (job.state !== 'cancelled' && !job.cancelling) throw why;
      return job;
    }
  }

  // What the worker asks for.

  async claim(what) {
    const { status, data } = await this.http.call('POST', this.path('/claims'),
      { body: what, retryFor: 0 });
    return status === 200 ? JSON.parse(data).jobs : [];
  }

  async tell(what, items, retryFor) {
    const { data } = await this.http.call('POST', this.path(`/claims/${what}`),
      { body: { items }, retryFor });
    return JSON.parse(data).items.map((item) => item.status);
  }
}

// Jobs in memory: `fake:` keeps them until a Worker runs, `inline:` runs them in add.
class Fake {
  constructor(url) {
    Object.assign(this, { url, jobs: [], handlers: {} });
  }

  async add(type, payload, key, fields) {
    const known = key && this.jobs.find((job) => job.key === key);
    if (known) return known.id;
    const job = { ...fields, type, payload: payloadOf(newJob(type, payload, {})), key,
      id: String(this.jobs.length + 1).padStart(13, '0'), state: 'ready', attempt: 0,
      error: null, result: null, cancelling: false };
    this.jobs.push(job);
    if (this.url === 'inline:') await this.runOne(job);
    return job.id;
  }

  async addMany(jobs) {
    const ids = [];
    for (const { type, payload, ...fields } of jobs)
      ids.push(await this.add(type, payload, undefined, fields));
    return ids;
  }

  async runOne(job) {
    if (!this.handlers[job.type])
      throw new PawlError('handler_not_found', `no handler for ${job.type}`);
    job.attempt += 1;
    const end = await perform(this.handlers[job.type], new Job(job, null));
    job.state = { 1: 'retrying', 2: 'done', 4: 'failed' }[Math.floor(end.exitcode / 100)]
      ?? 'rejected';
    job.error = end.error ?? null;
    if (end.result_base64 !== undefined) job.result = Buffer.from(end.result_base64, 'base64');
    else if (end.result !== undefined)
      job.result = typeof end.result === 'string' ? end.result : stringify(end.result);
    for (const child of end.jobs ?? []) await this.add(child.type, payloadOf(child));
  }

  // Runs what waits, and what that adds.
  async runAll() {
    for (const job of this.jobs) // grows meanwhile
      if (job.state === 'ready') await this.runOne(job);
  }

  get(id) {
    const job = this.jobs.find((known) => known.id === id);
    if (!job) throw new PawlError('job_not_found', `There is no such job: '${id}'`, 404);
    return { ...job };
  }

  cancel(id) {
    const job = this.jobs.find((known) => known.id === id);
    if (job && !FINAL.includes(job.state)) job.state = 'cancelled';
    return this.get(id);
  }
}

// --- Working ------------------------------------------------------------------------------

// A job in hand. `payload` is text or a Buffer; json() is its value; `signal` is aborted when
// someone asks for its end, or it is not ours any more.
export class Job {
  constructor(fields, worker) {
    this.fields = fields;
    this.worker = worker;
    this.id = fields.id;
    this.type = fields.type;
    this.attempt = fields.attempt;
    this.payload = payloadOf(fields);
    this.children = [];
    this.told = {};
    this.control = new AbortController();
  }

  get signal() {
    return this.control.signal;
  }

  get cancelled() {
    return this.signal.aborted;
  }

  json() {
    return parse(this.payload.toString());
  }

  // Tells how far the job is: with the next heartbeat, which comes at once.
  progress(percent, message) {
    this.told = { progress: Math.trunc(percent), ...(message === undefined ? {} : { message }) };
    this.worker?.beat();
  }

  // Adds a job together with the end of this one, if that is no retry.
  add(type, payload, fields = {}) {
    this.children.push(newJob(type, payload, fields));
  }

  item(more = {}) {
    return { id: this.id, attempt: this.attempt, token: this.fields.token, ...this.told, ...more };
  }
}

// The fields of a finish that tell what became of the job.
async function perform(handler, job) {
  try {
    const value = await handler(job);
    const end = { exitcode: 200 };
    if (value instanceof Uint8Array) end.result_base64 = Buffer.from(value).toString('base64');
    else if (value !== undefined && value !== null) end.result = value;
    if (job.children.length) end.jobs = job.children;
    return end;
  } catch (why) {
    if (!(why instanceof Outcome)) return { exitcode: 500, error: String(why?.message ?? why) };
    return { exitcode: why.exitcode, error: why.message || why.constructor.name,
      ...(why.after === undefined ? {} : { again_in: `PT${why.after}S` }) };
  }
}

// handlers: type → async function(job). What it returns is the result (nothing, text, bytes,
// or a JSON value). Retry, Fail, Snooze end the job so; anything else thrown is an error,
// tried again as the job says. options: queues (only these); lease (30 seconds, after which
// a worker that is not heard from has lost its jobs; renewed three times in that time); poll
// (2 seconds that one question for work waits: a stop takes at most as long); name; log (a
// function for what goes wrong, console.error).
export class Worker {
  constructor(client, handlers, concurrency = 1, options = {}) {
    Object.assign(this, { client, handlers, concurrency, lease: 30, poll: 2, log: console.error,
      jobs: new Set(), stopping: false, againIn: true }, options);
    this.what = { types: Object.keys(handlers), lease: `PT${this.lease}S`,
      worker: options.name ?? `${os.hostname()}:${process.pid}` };
    if (options.queues) this.what.queues = options.queues;
    if (client.fake) client.fake.handlers = handlers;
  }

  // Takes no more jobs. run() is over when those in hand are done.
  stop() {
    this.stopping = true;
    this.freed?.();
  }

  // A heartbeat now; at most 20 in a second.
  beat() {
    this.soon ??= setTimeout(() => { this.soon = undefined; this.renew(); }, 50);
  }

  // Works until stop(), SIGTERM or SIGINT. Of a fake client: until nothing waits.
  async run({ signals = true } = {}) {
    if (this.client.fake) return this.client.fake.runAll();
    const heard = () => { unlisten(); this.stop(); }; // a second signal ends the process
    const unlisten = () => ['SIGTERM', 'SIGINT'].forEach((name) => process.off(name, heard));
    if (signals) ['SIGTERM', 'SIGINT'].forEach((name) => process.on(name, heard));
    const beats = setInterval(() => this.renew(), (this.lease * 1000) / 3);
    try {
      while (!this.stopping) await this.take();
    } finally {
      while (this.jobs.size) await new Promise((resolve) => { this.freed = resolve; });
      clearInterval(beats);
      clearTimeout(this.soon);
      unlisten();
      this.client.close();
    }
    return undefined;
  }

  async take() {
    const free = this.concurrency - this.jobs.size;
    if (!free) {
      await new Promise((resolve) => { this.freed = resolve; });
      return;
    }
    const until = performance.now() + this.poll * 1000;
    try {
      const found = await this.client.claim({ ...this.what, max: free, wait: `PT${this.poll}S` });
      // A daemon that does not let us wait is not asked all the time.
      if (!found.length) await sleep(Math.max(0, until - performance.now()));
      for (const fields of found) {
        const job = new Job(fields, this);
        this.jobs.add(job);
        this.work(job);
      }
    } catch (why) {
      if (!again(why)) throw why;
      this.log(`pawl: ${why.message}; asking again`);
      await sleep(100 + Math.random() * 400);
    }
  }

  async work(job) {
    const end = await perform(this.handlers[job.type], job);
    try {
      await this.finish(job, end);
    } catch (why) {
      this.log(`pawl: the result of ${job.id} is lost: ${why.message}`);
    }
    this.jobs.delete(job);
    this.freed?.();
  }

  // Tells the result until a daemon has heard it, or the lease must be over.
  async finish(job, { again_in: againIn, ...end }) {
    const item = job.item(againIn && this.againIn ? { ...end, again_in: againIn } : end);
    try {
      return await this.client.tell('finish', [item], Math.max(this.lease, 600));
    } catch (why) {
      if (why.code === 'unknown_field' && item.again_in) {
        this.againIn = false; // a daemon before 0.2
        return this.finish(job, end);
      }
      if (![400, 413, 422].includes(why.status)) throw why;
      // It cannot take such a result, and never will.
      return this.client.tell('finish', [job.item({ exitcode: 500, error: why.message })]);
    }
  }

  // Tells that all jobs in hand are still being worked on; those that should end hear of it.
  async renew() {
    const jobs = [...this.jobs].filter((job) => !job.cancelled);
    if (!jobs.length) return;
    try {
      const words = await this.client.tell('renew', jobs.map((job) => job.item()), 0);
      words.forEach((word, k) => { if (word !== 'ok') jobs[k].control.abort(new Error(word)); });
    } catch (why) {
      this.log(`pawl: cannot renew: ${why.message}`);
    }
  }
}
