-- SPDX-License-Identifier: Apache-2.0
-- 010.sql - views for people: whoever has a job, a resource_id says so. A job of a pull
-- worker has the resource pull@NODE, and one that was cancelled before it ever ran is
-- nobody's (8589934592), so that a query for jobs without a resource offers neither.
DROP VIEW job_resource;
DROP VIEW attempt_resource;
DROP VIEW resource;
DROP VIEW attempt_any;

CREATE VIEW attempt_any AS
  SELECT job, attempt, slot, node, retry, state, run_at, service, started, finished, beat,
    code, exitcode, error FROM attempt
  UNION ALL
  SELECT id, attempt, slot, node, run_retry, run_state, run_at, service, started, finished,
    beat, code, exitcode, error FROM job_any WHERE run_state IS NOT NULL;

-- Slots first; numbers of items and of pull workers stand apart from those of slots.
CREATE VIEW resource AS
  SELECT r.id AS id, 'slot-' || r.slot || '@' || n.text AS name,
    'slot' AS key, '' || r.slot AS item
  FROM slot r JOIN name n ON n.id = r.node
  UNION ALL
  SELECT 4294967296 + i.id, i.key || coalesce('/' || nullif(i.item, ''), ''), i.key,
    i.item
  FROM resource_item i WHERE NOT i.gone
  UNION ALL
  SELECT 8589934592 + n.id, 'pull@' || n.text, 'pull', ''
  FROM name n WHERE n.id IN (SELECT node FROM slot);

-- A row for every attempt and the slot it took, and one more for each item or quantity.
CREATE VIEW attempt_resource AS
  SELECT a.job AS job, a.attempt AS attempt,
    coalesce(r.id, 8589934592 + coalesce(a.node, 0)) AS resource_id, '' AS part,
    1 AS amount
  FROM attempt_any a LEFT JOIN slot r ON r.node = a.node AND r.slot = a.slot
  UNION ALL
  SELECT b.job, b.attempt, 4294967296 + i.id,
    '.' || b.key || coalesce('/' || nullif(b.item, ''), ''), b.amount
  FROM booking b LEFT JOIN resource_item i ON i.key = b.key AND i.item = b.item;

CREATE VIEW job_resource AS
  SELECT
    a.job_id || '.' || a.attempt || r.part AS id,
    a.job_id AS job_id,
    r.resource_id AS resource_id,
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
    a.job AS number,
    r.amount AS amount
  FROM (SELECT @id(job)@ AS job_id, * FROM attempt_any) a
    JOIN attempt_resource r ON r.job = a.job AND r.attempt = a.attempt
    JOIN state s ON s.id = a.state
    LEFT JOIN name n ON n.id = a.node
    LEFT JOIN code c ON c.id = a.code
  UNION ALL
  SELECT @id(j.id)@ || '.0', @id(j.id)@, 8589934592, @time(j.run_at)@, j.service / 1000.0,
    NULL, NULL, @time(j.finished)@, NULL, 0, s.status, 0, s.name, NULL, NULL, NULL,
    j.error, j.id, 0
  FROM job_dead j JOIN state s ON s.id = j.state WHERE s.name = 'cancelled'
    AND coalesce(j.attempt, 0) = 0;
