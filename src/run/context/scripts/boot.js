// SPDX-License-Identifier: Apache-2.0
// The Node side of a warm context: docs/reference/contexts.md says what it speaks.
'use strict';
(() => {
  const fs = require('fs');
  const vm = require('vm');
  const REPLY = Number(process.env.PAWL_REPLY_FD);
  const AsyncFunction = Object.getPrototypeOf(async function () {}).constructor;
  const handlers = new Map();
  const sources = new Set(); // what our own code is called in stories of errors
  const NEWLINE = 10;
  const SHORT = 1024;
  let current = '';

  class Outcome extends Error {
    constructor(code, message) {
      super(message === undefined ? '' : String(message));
      this.code = code;
    }
  }

  function write(data) {
    for (let at = 0; at < data.length;) at += fs.writeSync(REPLY, data, at);
  }

  // A short text costs half of what the same bytes would.
  function writeText(text) {
    const done = text.length < SHORT ? fs.writeSync(REPLY, text) : 0;
    if (done < Buffer.byteLength(text)) write(Buffer.from(text).subarray(done));
  }

  // What a value says: a string or bytes.
  function toText(value) {
    if (value === undefined || value === null) return '';
    if (typeof value === 'string' || value instanceof Uint8Array) return value;
    return JSON.stringify(value) || '';
  }

  // One line, or its head and a count where the text does not fit into a line.
  function say(head, text) {
    if (typeof text === 'string' && !text.includes('\n') && !text.startsWith('<<')) {
      writeText(`${head}${text}\n`);
      return;
    }
    const bytes = Buffer.from(text);
    if (bytes.includes(NEWLINE) || (bytes[0] === 60 && bytes[1] === 60)) {
      write(Buffer.concat([Buffer.from(`${head}<<${bytes.length}\n`), bytes]));
    } else {
      write(Buffer.concat([Buffer.from(head), bytes, Buffer.from('\n')]));
    }
  }

  // How far a file has come that jobs print into. A look behind its end tells whether it
  // has grown, for half of what its size costs; not every user may look.
  class Printed {
    constructor(fd) {
      this.fd = fd;
      this.bytes = 0;
      this.eye = -1;
      this.glance = Buffer.alloc(1);
      try {
        if (fs.fstatSync(fd).isFile()) this.eye = fs.openSync(`/proc/self/fd/${fd}`, 'r');
      } catch {
        this.eye = -1;
      }
    }

    grown() {
      if (this.eye >= 0 && !fs.readSync(this.eye, this.glance, 0, 1, this.bytes)) return false;
      const before = this.bytes;
      this.bytes = fs.fstatSync(this.fd).size;
      return this.bytes !== before;
    }
  }

  // What a body can ask for.
  const pawl = {
    retry(message) { throw new Outcome(100, message); },
    fail(message) { throw new Outcome(400, message); },
    add(type, payload) {
      if (!/^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$/.test(type))
        throw new TypeError(`pawl.add: ${JSON.stringify(type)} is not the name of a type`);
      say(`J: ${current} ${type}|`, toText(payload));
    },
    progress(percent, message) {
      const text = message === undefined ? '' : String(message).replace(/\n/g, ' ');
      write(Buffer.from(`P: ${current} ${Math.trunc(percent)} ${text}\n`));
    },
  };
  globalThis.require = require;
  globalThis.pawl = pawl;

  // Scripts share the context's global scope: what `before` declares, bodies see.
  function script(handler, part) {
    const code = handler[part];
    if (!code) return undefined;
    const filename = `${handler.name} ${part}`;
    sources.add(filename);
    return vm.runInThisContext(code, { filename });
  }

  // Once in a context; again with the next batch if it failed.
  async function prepare(handler) {
    if (handler.run) return;
    await script(handler, 'before');
    // Compiled as a script first: only that tells the line of a syntax error.
    const head = '(async function (payload, job) {';
    const made = new vm.Script(`${head}${handler.body}\n})`,
      { filename: handler.name, columnOffset: -head.length });
    new AsyncFunction('payload', 'job', handler.body); // a body must not close the function
    handler.run = made.runInThisContext();
  }

  // The line of the handler's own code that a line of a story is about, or undefined.
  function lineOf(text) {
    for (const name of sources) {
      const at = text.indexOf(`${name}:`);
      const found = at < 0 ? null : /^(\d+)/.exec(text.slice(at + name.length + 1));
      if (found) return found[1];
    }
    return undefined;
  }

  // One line for the job; the whole story goes to its log.
  function complaint(error, where) {
    const story = error && error.stack ? error.stack : String(error);
    process.stderr.write(story + '\n');
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const found = story.split('\n').map(lineOf).find((line) => line);
    const line = found ? ` (line ${found})` : '';
    return `${where}${text}${line}`;
  }

  async function beginBatch(handler) {
    try {
      await prepare(handler);
      await script(handler, 'beforeEach');
    } catch (error) {
      return complaint(error, 'before the job: ');
    }
    return '';
  }

  async function endBatch(handler) {
    try {
      await script(handler, 'afterEach');
    } catch (error) {
      complaint(error, '');
    }
  }

  async function run(handler, job, trouble) {
    if (trouble) return [500, trouble];
    let payload = job.payload;
    if (payload === undefined || payload === null) {
      payload = Buffer.from(job.payload_base64 || '', 'base64').toString();
    }
    try {
      return [200, toText(await handler.run(payload, job))];
    } catch (error) {
      if (error instanceof Outcome) return [error.code, error.message];
      return [500, complaint(error, '')];
    }
  }

  let batch = null;
  let trouble = '';
  const out = new Printed(1);
  const err = new Printed(2);

  async function serve(line) {
    const job = JSON.parse(line);
    if (typeof job.handler === 'object') {
      handlers.set(job.handler.name, job.handler);
      sources.add(job.handler.name);
      return;
    }
    const { id, last } = job; // the body may do with its job what it likes
    current = id;
    if (!batch) {
      batch = handlers.get(job.handler);
      trouble = await beginBatch(batch);
    }
    const [code, text] = await run(batch, job, trouble);
    if (last) {
      await endBatch(batch);
      batch = null;
    }
    const more = out.grown();
    if (err.grown() || more) writeText(`O: ${id} ${out.bytes} ${err.bytes}\n`);
    say(`R: ${id} ${code} `, text);
  }

  const lines = [];
  let rest = '';
  let busy = false;
  let ended = false;

  async function pump() {
    if (busy) return;
    busy = true;
    for (let at = 0; at < lines.length; at++) {
      await serve(lines[at]);
      if (at === 4096) {
        lines.splice(0, at + 1);
        at = -1;
      }
    }
    lines.length = 0;
    busy = false;
    if (!ended) return;
    if (batch) await endBatch(batch);
    process.exit(0);
  }

  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop();
    for (const part of parts) lines.push(part);
    pump();
  });
  process.stdin.on('end', () => {
    ended = true;
    pump();
  });
})();
