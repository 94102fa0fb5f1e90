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

  function toBytes(value) {
    if (value === undefined || value === null) return Buffer.alloc(0);
    if (Buffer.isBuffer(value) || value instanceof Uint8Array) return Buffer.from(value);
    if (typeof value !== 'string') value = JSON.stringify(value);
    return Buffer.from(value === undefined ? '' : value);
  }

  // One line, or its head and a count where the text does not fit into a line.
  function say(head, text) {
    if (text.includes(NEWLINE) || (text[0] === 60 && text[1] === 60)) {
      write(Buffer.concat([Buffer.from(`${head}<<${text.length}\n`), text]));
    } else {
      write(Buffer.concat([Buffer.from(head), text, Buffer.from('\n')]));
    }
  }

  // What a body can ask for.
  const pawl = {
    retry(message) { throw new Outcome(100, message); },
    fail(message) { throw new Outcome(400, message); },
    add(type, payload) {
      if (!/^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$/.test(type))
        throw new TypeError(`pawl.add: ${JSON.stringify(type)} is not the name of a type`);
      say(`J: ${current} ${type}|`, toBytes(payload));
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
    if (trouble) return [500, toBytes(trouble)];
    let payload = job.payload;
    if (payload === undefined || payload === null) {
      payload = Buffer.from(job.payload_base64 || '', 'base64').toString();
    }
    try {
      return [200, toBytes(await handler.run(payload, job))];
    } catch (error) {
      if (error instanceof Outcome) return [error.code, toBytes(error.message)];
      return [500, toBytes(complaint(error, ''))];
    }
  }

  let batch = null;
  let trouble = '';
  let seenOut = 0;
  let seenErr = 0;

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
    const out = fs.fstatSync(1).size;
    const err = fs.fstatSync(2).size;
    if (out !== seenOut || err !== seenErr) {
      seenOut = out;
      seenErr = err;
      write(Buffer.from(`O: ${id} ${out} ${err}\n`));
    }
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
