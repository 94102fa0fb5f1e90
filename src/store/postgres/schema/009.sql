-- SPDX-License-Identifier: Apache-2.0
-- 009.sql - views for people: whoever has a job, a resource_id says so. A job of a pull
-- worker has the resource pull@NODE, and one that was cancelled before it ever ran is
-- nobody's (8589934592), so that a query for jobs without a resource offers neither.
CREATE OR REPLACE VIEW pawl.resource AS
  SELECT r.id AS id, 'slot-' || r.slot || '@' || pawl.words(n.text) AS name,
    'slot' AS key, r.slot::text AS item
  FROM pawl.slot r JOIN pawl.name n ON n.id = r.node
  UNION ALL
  SELECT 4294967296 + i.id,
    pawl.words(i.key) || coalesce('/' || nullif(pawl.words(i.item), ''), ''),
    pawl.words(i.key), pawl.words(i.item)
  FROM pawl.resource_item i WHERE NOT i.gone
  UNION ALL
  SELECT 8589934592 + n.id, 'pull@' || pawl.words(n.text), 'pull', ''
  FROM pawl.name n WHERE n.id IN (SELECT node FROM pawl.slot);

-- A row for every attempt and the slot it took, and one more for each item or quantity.
CREATE OR REPLACE VIEW pawl.attempt_resource AS
  SELECT a.job AS job, a.attempt AS attempt,
    coalesce(r.id, 8589934592 + coalesce(a.node, 0)) AS resource_id, '' AS part,
    1::int8 AS amount
  FROM pawl.attempt_any a LEFT JOIN pawl.slot r ON r.node = a.node AND r.slot = a.slot
  UNION ALL
  SELECT b.job, b.attempt, 4294967296 + i.id,
    '.' || pawl.words(b.key) || coalesce('/' || nullif(pawl.words(b.item), ''), ''),
    b.amount
  FROM pawl.booking b
    LEFT JOIN pawl.resource_item i ON i.key = b.key AND i.item = b.item;

CREATE OR REPLACE VIEW pawl.job_resource AS
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
    LEFT JOIN pawl.code c ON c.id = a.code
  UNION ALL
  SELECT pawl.id_text(j.id) || '.0', pawl.id_text(j.id), 8589934592,
    pawl.time_of(j.run_at), j.service / 1000.0, NULL, NULL, pawl.time_of(j.finished), NULL,
    0, s.status, 0, s.name, NULL, NULL, NULL, pawl.words(j.error), j.id, 0
  FROM pawl.job_dead j JOIN pawl.state s ON s.id = j.state WHERE s.name = 'cancelled'
    AND coalesce(j.attempt, 0) = 0;

-- Archived jobs of one type are found without looking at the others.
CREATE INDEX done_type ON pawl.job_done(type, id);
CREATE INDEX dead_type ON pawl.job_dead(type, id);
