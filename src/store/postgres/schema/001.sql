-- SPDX-License-Identifier: Apache-2.0
-- 001.sql - the first schema of the shared store, in PostgreSQL.
--
-- Tables are for the program: milliseconds since 1970, NULL for every default, bytes
-- (bytea) wherever a text may hold any byte; they sort as the embedded store's do. Views
-- are for people: job, resource and job_resource, as the founding text 001 names them.

CREATE TABLE pawl.meta(key text PRIMARY KEY, value text NOT NULL);

-- Every text that many jobs share: tenants, queues, types, sysids. Numbers have no gaps
-- and are committed in their order (see name_add), so a reader that knows some needs only
-- those behind.
CREATE TABLE pawl.name(id int4 PRIMARY KEY, text bytea NOT NULL UNIQUE);

-- A lane: one queue of one tenant, for one owner; likewise for pull workers, and for a
-- type that waits apart (0: every type).
CREATE TABLE pawl.lane(
  id int4 PRIMARY KEY, tenant int4 NOT NULL, queue int4 NOT NULL, type int4 NOT NULL,
  pull int4 NOT NULL, owner int4 NOT NULL,
  UNIQUE(tenant, queue, type, pull, owner));

CREATE FUNCTION pawl.name_add(wanted bytea) RETURNS int4 LANGUAGE plpgsql AS $$
DECLARE number int4;
BEGIN
  PERFORM pg_advisory_xact_lock(1885435756, 1);
  SELECT id INTO number FROM pawl.name WHERE text = wanted;
  IF number IS NULL THEN
    INSERT INTO pawl.name(id, text)
      SELECT coalesce(max(id), 0) + 1, wanted FROM pawl.name RETURNING id INTO number;
  END IF;
  RETURN number;
END $$;

CREATE FUNCTION pawl.lane_add(t int4, q int4, y int4, p int4, o int4) RETURNS int4
LANGUAGE plpgsql AS $$
DECLARE number int4;
BEGIN
  PERFORM pg_advisory_xact_lock(1885435756, 1);
  SELECT id INTO number FROM pawl.lane
    WHERE tenant = t AND queue = q AND type = y AND pull = p AND owner = o;
  IF number IS NULL THEN
    INSERT INTO pawl.lane(id, tenant, queue, type, pull, owner)
      SELECT coalesce(max(id), 0) + 1, t, q, y, p, o FROM pawl.lane
      RETURNING id INTO number;
  END IF;
  RETURN number;
END $$;

-- How many jobs of a lane are in a state: what each node has added to it and taken from
-- it, so that nodes do not wait for each other.
CREATE TABLE pawl.lane_count(
  node int4, lane int4, state int2, count int8 NOT NULL,
  PRIMARY KEY(lane, state, node)) WITH (fillfactor = 50);

-- Jobs that can still change. rank is the priority turned round (~priority), so that the
-- order of giving out rises in every column. spec holds what is neither sought nor shown
-- here, packed; a large payload stands in its own table (apart = 1). The table stays as
-- small as what is under way: it is cleaned often and has room for changed rows.
CREATE TABLE pawl.job_live(
  id int8 PRIMARY KEY, rank int8 NOT NULL, dt int8 NOT NULL, created int8, run_at int8,
  parent int8, service int8, started int8, finished int8, beat int8, result_bytes int8,
  owner int4 NOT NULL, lane int4 NOT NULL, lock int4, type int4, flags int4,
  attempt int4, retry int4, run_retry int4, slot int4, node int4, exitcode int4,
  exit_status int4, signal int4, progress int4,
  state int2 NOT NULL, run_state int2, code int2, apart int2,
  name bytea, reason bytea, error bytea, message bytea, spec bytea, payload bytea)
WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.2);

-- Ready jobs (2) in the order in which a lane gives them out; all others by owner, state
-- and time; jobs (1) that wait for a handler of their type, not for others (1 << 27).
CREATE INDEX live_ready ON pawl.job_live(lane, rank, dt, id) WHERE state = 2;
CREATE INDEX live_idle ON pawl.job_live(owner, state, dt, id) WHERE state <> 2;
CREATE INDEX live_blocked ON pawl.job_live(type, id)
  WHERE state = 1 AND coalesce(flags, 0) & 134217728 = 0;

-- The archive: two families, because they are kept for different times; in parts by the
-- time at which jobs came (their ids have it), because an old part goes as a whole. dt is
-- the end plus 1000 years.
CREATE TABLE pawl.job_done(
  LIKE pawl.job_live, PRIMARY KEY(id)) PARTITION BY RANGE (id);
CREATE INDEX done_end ON pawl.job_done(dt, id);
CREATE TABLE pawl.job_dead(
  LIKE pawl.job_live, PRIMARY KEY(id)) PARTITION BY RANGE (id);
CREATE INDEX dead_end ON pawl.job_dead(dt, id);

-- Part n has the ids from n << 50 (about 3 days). Attaching lets others read and write.
CREATE FUNCTION pawl.part_add(n int8) RETURNS void LANGUAGE plpgsql AS $$
DECLARE family text; part text;
BEGIN
  PERFORM pg_advisory_xact_lock(1885435756, 2);
  FOREACH family IN ARRAY ARRAY['job_done', 'job_dead'] LOOP
    part := family || '_' || n;
    CONTINUE WHEN to_regclass('pawl.' || part) IS NOT NULL;
    EXECUTE format('CREATE TABLE pawl.%I (LIKE pawl.%I INCLUDING ALL)'
      ' WITH (autovacuum_vacuum_insert_scale_factor = 0.5)', part, family);
    EXECUTE format('ALTER TABLE pawl.%I ATTACH PARTITION pawl.%I'
      ' FOR VALUES FROM (%s) TO (%s)', family, part, n << 50,
      CASE WHEN n < 8191 THEN (n + 1) << 50 ELSE 9223372036854775807 END);
  END LOOP;
END $$;

-- Takes away the parts before `before` that have nothing left.
CREATE FUNCTION pawl.parts_drop(before int8) RETURNS int4 LANGUAGE plpgsql AS $$
DECLARE part record; filled boolean; gone int4 := 0;
BEGIN
  FOR part IN
    SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent IN ('pawl.job_done'::regclass, 'pawl.job_dead'::regclass)
      AND substring(c.relname from 10)::int8 < before
  LOOP
    EXECUTE format('SELECT EXISTS(SELECT 1 FROM pawl.%I)', part.name) INTO filled;
    CONTINUE WHEN filled;
    EXECUTE format('LOCK TABLE pawl.%I IN ACCESS EXCLUSIVE MODE', part.name);
    EXECUTE format('SELECT EXISTS(SELECT 1 FROM pawl.%I)', part.name) INTO filled;
    CONTINUE WHEN filled;
    EXECUTE format('DROP TABLE pawl.%I', part.name);
    gone := gone + 1;
  END LOOP;
  RETURN gone;
END $$;

-- Attempts that their job's own row no longer tells about: it holds the last one.
CREATE TABLE pawl.attempt(
  job int8, attempt int4, slot int4, node int4, retry int4, state int4, run_at int8,
  service int8, started int8, finished int8, beat int8, code int4, exitcode int4,
  exit_status int4, signal int4, error bytea,
  PRIMARY KEY(job, attempt));

CREATE TABLE pawl.payload(job int8 PRIMARY KEY, data bytea NOT NULL);
CREATE TABLE pawl.result(job int8 PRIMARY KEY, data bytea NOT NULL);

-- Slots that attempts have used.
CREATE TABLE pawl.slot(
  id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, node int4 NOT NULL,
  slot int4 NOT NULL, UNIQUE(node, slot));

-- What attempts hold or held of resources: one row per item; of a quantity one row with
-- an empty item and its amount.
CREATE TABLE pawl.booking(
  job int8, attempt int4, key bytea, item bytea, amount int8,
  PRIMARY KEY(job, attempt, key, item));
CREATE TABLE pawl.resource_item(
  id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key bytea NOT NULL,
  item bytea NOT NULL, gone boolean NOT NULL, UNIQUE(key, item));

CREATE TABLE pawl.definition(
  kind bytea, tenant bytea, key bytea, value bytea NOT NULL,
  PRIMARY KEY(kind, tenant, key));

CREATE TABLE pawl.idempotency(
  tenant bytea, key bytea, expiry int8 NOT NULL, value bytea NOT NULL,
  PRIMARY KEY(tenant, key));
CREATE INDEX idempotency_expiry ON pawl.idempotency(expiry, tenant, key);

-- Which of the keys were new; each takes away up to two that have expired.
CREATE FUNCTION pawl.keys_add(
  tenants bytea[], keys bytea[], ats int8[], expiries int8[], answers bytea[])
RETURNS boolean[] LANGUAGE plpgsql AS $$
DECLARE fresh boolean[] := '{}'; held int8;
BEGIN
  FOR i IN 1 .. array_length(keys, 1) LOOP
    SELECT expiry INTO held FROM pawl.idempotency
      WHERE tenant = tenants[i] AND key = keys[i];
    IF FOUND AND held > ats[i] THEN
      fresh := fresh || false;
      CONTINUE;
    END IF;
    INSERT INTO pawl.idempotency(tenant, key, expiry, value)
      VALUES (tenants[i], keys[i], expiries[i], answers[i])
      ON CONFLICT (tenant, key) DO UPDATE
      SET expiry = excluded.expiry, value = excluded.value;
    DELETE FROM pawl.idempotency d USING (
        SELECT tenant, key FROM pawl.idempotency WHERE expiry <= ats[i]
        ORDER BY expiry, tenant, key LIMIT 2) old
      WHERE d.tenant = old.tenant AND d.key = old.key;
    fresh := fresh || true;
  END LOOP;
  RETURN fresh;
END $$;

-- Nodes (src/store/cluster.h); the lease ends by this server's clock.
CREATE TABLE pawl.node(
  sysid bytea PRIMARY KEY, beat int8, facts bytea, number int4 UNIQUE, epoch int8,
  lease int8, fenced boolean, controls boolean) WITH (fillfactor = 50);

-- Renews a lease and answers number (0: none is free), epoch, fence and whether the node
-- controls. One at a time: the smallest free number and the one controller are chosen
-- here.
CREATE FUNCTION pawl.node_renew(
  who bytea, wanted int4, lease_ms int8, would boolean, says bytea,
  OUT n int4, OUT e int8, OUT f boolean, OUT c boolean)
LANGUAGE plpgsql AS $$
DECLARE now_ms int8;
BEGIN
  PERFORM pg_advisory_xact_lock(1885435756, 4);
  now_ms := extract(epoch FROM clock_timestamp()) * 1000;
  SELECT number, coalesce(epoch, 0), coalesce(fenced, false) INTO n, e, f
    FROM pawl.node WHERE sysid = who;
  e := coalesce(e, 0);
  f := coalesce(f, false);
  c := false;
  IF n IS NULL THEN
    SELECT wanted INTO n WHERE wanted > 0
      AND NOT EXISTS(SELECT 1 FROM pawl.node WHERE number = wanted);
    IF n IS NULL THEN
      SELECT min(i) INTO n FROM generate_series(1, 1023) i
        WHERE NOT EXISTS(SELECT 1 FROM pawl.node WHERE number = i);
    END IF;
    IF n IS NULL THEN
      n := 0;
      RETURN;
    END IF;
  END IF;
  c := would AND lease_ms > 0 AND e > 0 AND NOT f AND NOT EXISTS(
    SELECT 1 FROM pawl.node WHERE controls AND number <> n
      AND NOT coalesce(fenced, false) AND lease > now_ms);
  IF c THEN
    UPDATE pawl.node SET controls = false WHERE controls AND number <> n;
  END IF;
  INSERT INTO pawl.node(sysid, beat, facts, number, lease, controls)
    VALUES (who, now_ms, says, n, now_ms + lease_ms, c)
    ON CONFLICT (sysid) DO UPDATE SET beat = excluded.beat, facts = excluded.facts,
      number = excluded.number, lease = excluded.lease, controls = excluded.controls;
END $$;

CREATE TABLE pawl.inbox(
  number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, node int4 NOT NULL,
  sender int4 NOT NULL, body bytea NOT NULL);
CREATE INDEX inbox_node ON pawl.inbox(node, number);

-- The last write of each definition, in the order of writing; it stays when the
-- definition is removed.
CREATE TABLE pawl.definition_change(
  kind bytea, tenant bytea, key bytea, change int8 NOT NULL, node int4,
  PRIMARY KEY(kind, tenant, key));
CREATE INDEX change_order ON pawl.definition_change(change);

CREATE FUNCTION pawl.definition_changed(k bytea, t bytea, y bytea, n int4)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1885435756, 3);
  INSERT INTO pawl.definition_change(kind, tenant, key, change, node)
    SELECT k, t, y, 1 + coalesce(max(change), 0), n FROM pawl.definition_change
    ON CONFLICT (kind, tenant, key) DO UPDATE
    SET change = excluded.change, node = excluded.node;
END $$;

-- How far this store has come with each node: the read point in its journal, its last
-- batch number and what was refused in its last commit, its largest job id.
CREATE TABLE pawl.point(
  node int4 PRIMARY KEY, position int8, number int8, last_id int8, results bytea)
  WITH (fillfactor = 50);

-- Statistics by minute, hour and day, of what each node did: see src/store/rollup.h.
CREATE TABLE pawl.rollup(
  node int4, span int8, at int8, tenant bytea, queue bytea, type bytea, priority int4,
  added int8, started int8, ok int8, failed int8, retry int8, error int8, wait_ms int8,
  run_ms int8,
  PRIMARY KEY(span, at, tenant, queue, type, priority, node)) WITH (fillfactor = 70);

-- Adds to the node's rows; a period with `most` kinds counts others under `*` (x2a).
CREATE FUNCTION pawl.rollups_add(
  n int4, most int8, spans int8[], ats int8[], tenants bytea[], queues bytea[],
  types bytea[], priorities int8[], a int8[], s int8[], o int8[], f int8[], r int8[],
  e int8[], w int8[], u int8[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE t bytea; q bytea; y bytea; p int4; again boolean; rows_there int8;
BEGIN
  FOR i IN 1 .. array_length(spans, 1) LOOP
    t := tenants[i]; q := queues[i]; y := types[i]; p := priorities[i]; again := true;
    LOOP
      UPDATE pawl.rollup SET added = added + a[i], started = started + s[i],
        ok = ok + o[i], failed = failed + f[i], retry = retry + r[i],
        error = error + e[i], wait_ms = wait_ms + w[i], run_ms = run_ms + u[i]
        WHERE span = spans[i] AND at = ats[i] AND tenant = t AND queue = q AND type = y
          AND priority = p AND node = n;
      EXIT WHEN FOUND;
      IF again THEN
        again := false;
        SELECT count(*) INTO rows_there FROM pawl.rollup
          WHERE span = spans[i] AND at = ats[i] AND node = n;
        IF rows_there >= most THEN
          t := '\x2a'; q := '\x2a'; y := '\x2a'; p := 0;
          CONTINUE;
        END IF;
      END IF;
      INSERT INTO pawl.rollup VALUES (n, spans[i], ats[i], t, q, y, p, a[i], s[i], o[i],
        f[i], r[i], e[i], w[i], u[i]);
      EXIT;
    END LOOP;
  END LOOP;
END $$;

-- child waits for parent to end; cond as in src/core/after.h. A row goes when it is
-- settled, or when the child needs it no more.
CREATE TABLE pawl.job_wait(
  parent int8, child int8, cond int4 NOT NULL, PRIMARY KEY(parent, child));
CREATE INDEX wait_child ON pawl.job_wait(child, parent);

-- Parents of rows above that have ended, and how (-1: no one knows).
CREATE TABLE pawl.job_ended(parent int8 PRIMARY KEY, state int4 NOT NULL);

-- What a commit does to these two tables, in its order. 1: child b waits for a; 2: a has
-- ended; 3: likewise, if anyone waits for it; 4: it has not; 5: b waits for a no more;
-- 6: b waits for no one. The highest bit of a parent: AFTER_FOREIGN.
CREATE FUNCTION pawl.waits_change(kinds int4[], a int8[], b int8[], c int4[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE p int8;
BEGIN
  FOR i IN 1 .. array_length(kinds, 1) LOOP
    IF kinds[i] = 1 THEN
      INSERT INTO pawl.job_wait(parent, child, cond) VALUES (a[i], b[i], c[i])
        ON CONFLICT DO NOTHING;
    ELSIF kinds[i] = 2 OR (kinds[i] = 3 AND
        EXISTS(SELECT 1 FROM pawl.job_wait WHERE parent = a[i])) THEN
      INSERT INTO pawl.job_ended(parent, state) VALUES (a[i], c[i])
        ON CONFLICT (parent) DO UPDATE SET state = excluded.state;
    ELSIF kinds[i] = 4 THEN
      DELETE FROM pawl.job_ended WHERE parent = a[i];
    ELSIF kinds[i] = 5 OR kinds[i] = 6 THEN
      FOR p IN DELETE FROM pawl.job_wait
        WHERE child = b[i] AND (kinds[i] = 6 OR parent = a[i]
          OR parent = (a[i] | (-9223372036854775808))) RETURNING parent
      LOOP
        DELETE FROM pawl.job_ended WHERE parent = p AND NOT EXISTS
          (SELECT 1 FROM pawl.job_wait w WHERE w.parent = p);
      END LOOP;
    END IF;
  END LOOP;
END $$;

CREATE TABLE pawl.job_group(
  tenant bytea, name bytea, state int4, count int8 NOT NULL,
  PRIMARY KEY(tenant, name, state)) WITH (fillfactor = 70);

-- Who holds a key (src/core/unique.h); until: NULL as long as the job needs it.
CREATE TABLE pawl.job_unique(
  tenant bytea, key bytea, job int8 NOT NULL, until int8, PRIMARY KEY(tenant, key));
CREATE INDEX unique_until ON pawl.job_unique(until, tenant, key)
  WHERE until IS NOT NULL;

-- In the commit's order. 1: the job takes the key (until ts, if given); 2: it has it no
-- more; 3: likewise, unless it is held for a time; 4: up to two that have expired go.
CREATE FUNCTION pawl.uniques_change(
  kinds int4[], tenants bytea[], keys bytea[], jobs int8[], ts int8[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. array_length(kinds, 1) LOOP
    IF kinds[i] = 1 THEN
      INSERT INTO pawl.job_unique(tenant, key, job, until)
        VALUES (tenants[i], keys[i], jobs[i], ts[i])
        ON CONFLICT (tenant, key) DO UPDATE
        SET job = excluded.job, until = excluded.until;
    ELSIF kinds[i] = 4 THEN
      DELETE FROM pawl.job_unique d USING (
          SELECT tenant, key FROM pawl.job_unique WHERE until IS NOT NULL
          AND until <= ts[i] ORDER BY until, tenant, key LIMIT 2) old
        WHERE d.tenant = old.tenant AND d.key = old.key;
    ELSE
      DELETE FROM pawl.job_unique WHERE tenant = tenants[i] AND key = keys[i]
        AND job = jobs[i] AND (kinds[i] = 2 OR until IS NULL);
    END IF;
  END LOOP;
END $$;

-- For people ---------------------------------------------------------------------------

-- The words for states, as src/core/job.c has them; a test compares.
CREATE TABLE pawl.state(id int2 PRIMARY KEY, name text, status text);
INSERT INTO pawl.state VALUES
  (0, 'deferred', 'Pending'), (1, 'blocked', 'Pending'), (2, 'ready', 'Pending'),
  (3, 'held', 'Pending'), (4, 'running', 'InProgress'), (5, 'paused', 'InProgress'),
  (6, 'halted', 'Pending'), (7, 'retrying', 'Failed'), (8, 'done', 'Completed'),
  (9, 'failed', 'Failed'), (10, 'rejected', 'Rejected'), (11, 'cancelled', 'Cancelled');
CREATE TABLE pawl.code(id int2 PRIMARY KEY, name text);
INSERT INTO pawl.code VALUES (0, ''), (1, 'ok'), (2, 'failed'), (3, 'retry'), (4, 'error');

-- The 13 characters of a job id (src/base/id.h).
CREATE FUNCTION pawl.id_text(id int8) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz',
    (id >> (60 - 5 * i) & 31)::int4 + 1, 1), '' ORDER BY i) FROM generate_series(0, 12) i
$$;

CREATE FUNCTION pawl.time_of(ms int8) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT to_timestamp(ms / 1000.0)
$$;

-- Bytes as text; those that are none keep their odd bytes as \ooo.
CREATE FUNCTION pawl.words(bytes bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN convert_from(bytes, 'UTF8');
EXCEPTION WHEN others THEN
  RETURN encode(bytes, 'escape');
END $$;

CREATE VIEW pawl.job_any AS
  SELECT * FROM pawl.job_live UNION ALL SELECT * FROM pawl.job_done
  UNION ALL SELECT * FROM pawl.job_dead;

CREATE VIEW pawl.job AS
  SELECT
    pawl.id_text(j.id) AS id,
    coalesce(pawl.words(j.name), pawl.words(t.text)) AS description,
    pawl.time_of(j.run_at) AS execution_time,
    j.service / 1000.0 AS service_time,
    s.status AS status,
    s.name AS state,
    pawl.time_of(j.dt) AS dt,
    coalesce(pawl.words(k.text), '') AS lock,
    coalesce(pawl.words(n.text), '') AS tenant,
    coalesce(pawl.words(t.text), '') AS type,
    coalesce(pawl.words(q.text), '') AS queue,
    ~j.rank AS priority,
    pawl.words(coalesce(j.payload, (SELECT data FROM pawl.payload p WHERE p.job = j.id)))
      AS data,
    pawl.time_of(j.created) AS create_dt,
    CASE WHEN j.state >= 8 THEN pawl.time_of(j.finished) END AS done_dt,
    coalesce(j.retry, 0) AS retry_count,
    coalesce(j.attempt, 0) AS attempt,
    c.name AS code,
    j.exitcode AS exitcode,
    pawl.words(j.reason) AS reason,
    pawl.words(j.error) AS error,
    j.id AS number,
    j.owner AS owner
  FROM pawl.job_any j
    JOIN pawl.state s ON s.id = j.state
    JOIN pawl.lane l ON l.id = j.lane
    LEFT JOIN pawl.name n ON n.id = l.tenant
    LEFT JOIN pawl.name q ON q.id = l.queue
    LEFT JOIN pawl.name t ON t.id = j.type
    LEFT JOIN pawl.name k ON k.id = j.lock
    LEFT JOIN pawl.code c ON c.id = j.code;

-- Slots first; numbers of items stand apart from those of slots.
CREATE VIEW pawl.resource AS
  SELECT r.id AS id, 'slot-' || r.slot || '@' || pawl.words(n.text) AS name,
    'slot' AS key, r.slot::text AS item
  FROM pawl.slot r JOIN pawl.name n ON n.id = r.node
  UNION ALL
  SELECT 4294967296 + i.id,
    pawl.words(i.key) || coalesce('/' || nullif(pawl.words(i.item), ''), ''),
    pawl.words(i.key), pawl.words(i.item)
  FROM pawl.resource_item i WHERE NOT i.gone;

CREATE VIEW pawl.attempt_any AS
  SELECT job, attempt, slot, node, retry, state, run_at, service, started, finished, beat,
    code, exitcode, error FROM pawl.attempt
  UNION ALL
  SELECT id, attempt, slot, node, run_retry, run_state, run_at, service, started,
    finished, beat, code, exitcode, error FROM pawl.job_any WHERE run_state IS NOT NULL;

-- A row for every attempt and the slot it took, and one more for each item or quantity.
CREATE VIEW pawl.attempt_resource AS
  SELECT a.job AS job, a.attempt AS attempt, r.id AS resource_id, '' AS part,
    1::int8 AS amount
  FROM pawl.attempt_any a LEFT JOIN pawl.slot r ON r.node = a.node AND r.slot = a.slot
  UNION ALL
  SELECT b.job, b.attempt, 4294967296 + i.id,
    '.' || pawl.words(b.key) || coalesce('/' || nullif(pawl.words(b.item), ''), ''),
    b.amount
  FROM pawl.booking b
    LEFT JOIN pawl.resource_item i ON i.key = b.key AND i.item = b.item;

CREATE VIEW pawl.job_resource AS
  SELECT
    pawl.id_text(a.job) || '.' || a.attempt || r.part AS id,
    pawl.id_text(a.job) AS job_id,
    r.resource_id AS resource_id,
    pawl.time_of(a.run_at) AS original_execution_time,
    a.service / 1000.0 AS service_time,
    pawl.time_of(a.started) AS actual_execution_time,
    pawl.time_of(a.started + a.service) AS expected_finish_time,
    pawl.time_of(a.finished) AS actual_finish_time,
    pawl.time_of(a.beat) AS last_heartbeat_time,
    coalesce(a.retry, 0) AS retry_number,
    s.status AS status,
    a.attempt AS attempt,
    s.name AS state,
    pawl.words(n.text) AS node,
    c.name AS code,
    a.exitcode AS exitcode,
    pawl.words(a.error) AS error,
    a.job AS number,
    r.amount AS amount
  FROM pawl.attempt_any a
    JOIN pawl.attempt_resource r ON r.job = a.job AND r.attempt = a.attempt
    JOIN pawl.state s ON s.id = a.state
    LEFT JOIN pawl.name n ON n.id = a.node
    LEFT JOIN pawl.code c ON c.id = a.code;
