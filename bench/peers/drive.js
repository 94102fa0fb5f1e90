// SPDX-License-Identifier: Apache-2.0
// drive.js - one measurement of one peer, through its own library in its fastest documented
// mode: graphile-worker with a local queue and completions in batches, pg-boss with batches
// of 1000.
//
//     node drive.js PEER MODE COUNT HOST DATABASE
//
// MODE bulk: COUNT jobs in calls of 1000. single: COUNT calls of one job, 32 at a time.
// e2e: a worker runs while COUNT jobs are added in calls of 1000, two at a time, until the
// database says that all of them are done. Prints the seconds it took. The libraries are
// found by NODE_PATH.
'use strict';

const { Pool } = require('pg');

const [, , PEER, MODE, COUNT, HOST, DATABASE] = process.argv;
const count = Number(COUNT);
const BULK = 1000;
const PRODUCERS = { bulk: 1, single: 32, e2e: 2 };
const PAYLOAD = 'x'.repeat(100);
const SERVER = { host: HOST, user: 'pawl', database: DATABASE };
const LEFT_EVERY_MS = 100;
const WARM_UP = 5000;

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

class Graphile {
  async open(pool) {
    this.pool = pool;
    this.library = require('graphile-worker');
    this.logger = new this.library.Logger(() => () => {});
    this.utils = await this.library.makeWorkerUtils({ pgPool: pool, logger: this.logger });
    await this.utils.migrate();
    await pool.query('TRUNCATE graphile_worker._private_jobs CASCADE');
  }

  one() {
    return this.utils.addJob('noop', { p: PAYLOAD });
  }

  many(jobs) {
    const spec = { identifier: 'noop', payload: { p: PAYLOAD } };
    return this.utils.addJobs(Array.from({ length: jobs }, () => spec));
  }

  async work() {
    const preset = {
      worker: {
        concurrentJobs: 24,
        pollInterval: 2000,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    };
    this.runner = await this.library.run({
      pgPool: this.pool, logger: this.logger, taskList: { noop: async () => {} },
      noHandleSignals: true, crontab: '', preset,
    });
  }

  left() {
    return 'SELECT count(*)::int AS n FROM graphile_worker._private_jobs';
  }

  async close() {
    if (this.runner) await this.runner.stop();
    await this.utils.release();
  }
}

class Boss {
  async open() {
    const Library = require('pg-boss');
    this.boss = new Library({ ...SERVER, max: 32, supervise: false, schedule: false });
    this.boss.on('error', (error) => console.error(String(error)));
    await this.boss.start();
    await this.boss.createQueue('noop');
    await this.boss.clearStorage();
  }

  one() {
    return this.boss.send('noop', { p: PAYLOAD });
  }

  many(jobs) {
    const spec = { name: 'noop', data: { p: PAYLOAD } };
    return this.boss.insert(Array.from({ length: jobs }, () => spec));
  }

  async work() {
    const options = { batchSize: BULK, pollingIntervalSeconds: 0.5 };
    for (let i = 0; i < 8; i++) await this.boss.work('noop', options, async () => {});
  }

  left() {
    return "SELECT count(*)::int AS n FROM pgboss.job WHERE name = 'noop' AND state < 'completed'";
  }

  close() {
    return this.boss.stop({ graceful: false, wait: false });
  }
}

async function produce(peer, count, loops, bulk) {
  let left = count;
  await Promise.all(Array.from({ length: loops }, async () => {
    while (left > 0) {
      const jobs = Math.min(bulk, left);
      left -= jobs;
      await (bulk > 1 ? peer.many(jobs) : peer.one());
    }
  }));
}

async function until_done(pool, peer) {
  while ((await pool.query(peer.left())).rows[0].n > 0) await sleep(LEFT_EVERY_MS);
}

async function main() {
  const pool = new Pool({ ...SERVER, max: 32 });
  pool.on('error', (error) => console.error(String(error)));
  pool.on('connect', (client) => client.on('error', (error) => console.error(String(error))));
  const peer = PEER === 'graphile-worker' ? new Graphile() : new Boss();
  await peer.open(pool);
  const bulk = MODE === 'single' ? 1 : BULK;
  if (MODE === 'e2e') { // the server gets to know the table, as it would in time
    await produce(peer, WARM_UP, 1, BULK);
    await pool.query('ANALYZE');
    await peer.work();
    await until_done(pool, peer);
  }
  const begun = performance.now();
  await produce(peer, count, PRODUCERS[MODE], bulk);
  if (MODE === 'e2e') await until_done(pool, peer);
  console.log(((performance.now() - begun) / 1000).toFixed(4));
  await Promise.race([peer.close(), sleep(5000)]);
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
