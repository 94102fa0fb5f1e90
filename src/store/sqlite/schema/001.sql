-- SPDX-License-Identifier: Apache-2.0
-- 001.sql - the first schema of the embedded store.
--
-- Tables are for the program: small numbers, no column types (so that nothing is
-- converted), milliseconds since 1970, and no value (NULL) for every default. Views are
-- for people: job, resource and job_resource, as the founding text 001 names them, can be
-- read with the sqlite3 program at any time.

CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- Every text that many jobs share: tenants, queues, types, sysids.
CREATE TABLE name(id INTEGER PRIMARY KEY, text TEXT NOT NULL);

-- A lane: one queue of one tenant; jobs for pull workers are a lane of their own.
CREATE TABLE lane(id INTEGER PRIMARY KEY, tenant, queue, pull);

CREATE TABLE lane_count(lane, state, count, PRIMARY KEY(lane, state)) WITHOUT ROWID;

-- Jobs that can still change. rank is the priority turned round (~priority), so that the
-- order of giving out rises in every column. spec holds what is neither sought nor shown
-- here, packed; the payload stands last, or in its own table if it is large (apart = 1).
CREATE TABLE job_live(
  id INTEGER PRIMARY KEY, state, lane, rank, dt, lock, type, flags,
  created, run_at, parent, service, name,
  attempt, retry, run_state, run_retry, slot, node, started, finished, beat,
  code, exitcode, exit_status, signal, progress, result_bytes,
  reason, error, message, apart, spec, payload);

-- Every index costs each add and each end something, so there are few: ready jobs (2) in
-- the order in which a lane gives them out, and all others by state and time: those that
-- come due, and those that run.
CREATE INDEX live_ready ON job_live(lane, rank, dt) WHERE state = 2;
CREATE INDEX live_idle ON job_live(state, dt) WHERE state <> 2;
-- Jobs (1) that wait for a handler of their type; others are not in it.
CREATE INDEX live_blocked ON job_live(type, id) WHERE state = 1;

-- The archive: two families, because they are kept for different times. dt is the end
-- plus 1000 years, the lock is __done.
CREATE TABLE job_done(
  id INTEGER PRIMARY KEY, state, lane, rank, dt, lock, type, flags,
  created, run_at, parent, service, name,
  attempt, retry, run_state, run_retry, slot, node, started, finished, beat,
  code, exitcode, exit_status, signal, progress, result_bytes,
  reason, error, message, apart, spec, payload);
CREATE INDEX done_end ON job_done(dt);

CREATE TABLE job_dead(
  id INTEGER PRIMARY KEY, state, lane, rank, dt, lock, type, flags,
  created, run_at, parent, service, name,
  attempt, retry, run_state, run_retry, slot, node, started, finished, beat,
  code, exitcode, exit_status, signal, progress, result_bytes,
  reason, error, message, apart, spec, payload);
CREATE INDEX dead_end ON job_dead(dt);

-- Attempts that their job's own row no longer tells about: it holds the last one.
CREATE TABLE attempt(
  job, attempt, slot, node, retry, state, run_at, service, started, finished, beat,
  code, exitcode, exit_status, signal, error,
  PRIMARY KEY(job, attempt)) WITHOUT ROWID;

CREATE TABLE payload(job INTEGER PRIMARY KEY, data);
CREATE TABLE result(job INTEGER PRIMARY KEY, data);

-- Slots that attempts have used: 001's resources, for now.
CREATE TABLE slot(id INTEGER PRIMARY KEY, node, slot);

CREATE TABLE definition(
  kind TEXT, tenant TEXT, key TEXT, value,
  PRIMARY KEY(kind, tenant, key)) WITHOUT ROWID;

CREATE TABLE idempotency(
  tenant TEXT, key TEXT, expiry, value,
  PRIMARY KEY(tenant, key)) WITHOUT ROWID;
CREATE INDEX idempotency_expiry ON idempotency(expiry, tenant, key);

CREATE TABLE node(sysid TEXT PRIMARY KEY, beat, facts) WITHOUT ROWID;

-- How far this store has come with each node: the read point in its journal, its last
-- batch number and what was refused in its last commit, its largest job id.
CREATE TABLE point(node INTEGER PRIMARY KEY, position, number, last_id, results);

-- The words for states, as src/core/job.c has them; a test compares.
CREATE TABLE state(id INTEGER PRIMARY KEY, name TEXT, status TEXT);
INSERT INTO state VALUES
  (0, 'deferred', 'Pending'), (1, 'blocked', 'Pending'), (2, 'ready', 'Pending'),
  (3, 'held', 'Pending'), (4, 'running', 'InProgress'), (5, 'paused', 'InProgress'),
  (6, 'halted', 'Pending'), (7, 'retrying', 'Failed'), (8, 'done', 'Completed'),
  (9, 'failed', 'Failed'), (10, 'rejected', 'Rejected'), (11, 'cancelled', 'Cancelled');

CREATE TABLE code(id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO code VALUES (0, ''), (1, 'ok'), (2, 'failed'), (3, 'retry'), (4, 'error');

CREATE VIEW job_any AS
  SELECT * FROM job_live UNION ALL SELECT * FROM job_done
  UNION ALL SELECT * FROM job_dead;

-- id is the text that pawl shows; number is the same as a number, quick to look up.
CREATE VIEW job AS
  SELECT
    @id(j.id)@ AS id,
    coalesce(j.name, t.text) AS description,
    @time(j.run_at)@ AS execution_time,
    j.service / 1000.0 AS service_time,
    s.status AS status,
    s.name AS state,
    @time(j.dt)@ AS dt,
    coalesce(k.text, '') AS lock,
    coalesce(n.text, '') AS tenant,
    coalesce(t.text, '') AS type,
    coalesce(q.text, '') AS queue,
    ~j.rank AS priority,
    CAST(coalesce(j.payload, (SELECT data FROM payload p WHERE p.job = j.id)) AS TEXT)
      AS data,
    @time(j.created)@ AS create_dt,
    CASE WHEN j.state >= 8 THEN @time(j.finished)@ END AS done_dt,
    coalesce(j.retry, 0) AS retry_count,
    coalesce(j.attempt, 0) AS attempt,
    c.name AS code,
    j.exitcode AS exitcode,
    j.reason AS reason,
    j.error AS error,
    j.id AS number
  FROM job_any j
    JOIN state s ON s.id = j.state
    JOIN lane l ON l.id = j.lane
    LEFT JOIN name n ON n.id = l.tenant
    LEFT JOIN name q ON q.id = l.queue
    LEFT JOIN name t ON t.id = j.type
    LEFT JOIN name k ON k.id = j.lock
    LEFT JOIN code c ON c.id = j.code;

CREATE VIEW resource AS
  SELECT r.id AS id, 'slot-' || r.slot || '@' || n.text AS name
  FROM slot r JOIN name n ON n.id = r.node;

CREATE VIEW attempt_any AS
  SELECT job, attempt, slot, node, retry, state, run_at, service, started, finished, beat,
    code, exitcode, error FROM attempt
  UNION ALL
  SELECT id, attempt, slot, node, run_retry, run_state, run_at, service, started, finished,
    beat, code, exitcode, error FROM job_any WHERE run_state IS NOT NULL;

CREATE VIEW job_resource AS
  SELECT
    a.job_id || '.' || a.attempt AS id,
    a.job_id AS job_id,
    r.id AS resource_id,
    @time(a.run_at)@ AS original_execution_time,
    a.service / 1000.0 AS service_time,
    @time(a.started)@ AS actual_execution_time,
    @time((a.started + a.service))@ AS expected_finish_time,
    @time(a.finished)@ AS actual_finish_time,
    @time(a.beat)@ AS last_heartbeat_time,
    coalesce(a.retry, 0) AS retry_number,
    s.status AS status,
    a.attempt AS attempt,
    s.name AS state,
    n.text AS node,
    c.name AS code,
    a.exitcode AS exitcode,
    a.error AS error,
    a.job AS number
  FROM (SELECT @id(job)@ AS job_id, * FROM attempt_any) a
    JOIN state s ON s.id = a.state
    LEFT JOIN name n ON n.id = a.node
    LEFT JOIN slot r ON r.node = a.node AND r.slot = a.slot
    LEFT JOIN code c ON c.id = a.code;
