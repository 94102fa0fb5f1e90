-- SPDX-License-Identifier: Apache-2.0
-- 003.sql - what attempts hold or held of resources, and the resources themselves as 001 has them.

-- One row per item; of a quantity one row with item '' and its amount.
CREATE TABLE booking(
  job, attempt, key TEXT, item TEXT, amount,
  PRIMARY KEY(job, attempt, key, item)) WITHOUT ROWID;

-- Every item that was ever defined keeps its number, because attempts refer to it.
CREATE TABLE resource_item(
  id INTEGER PRIMARY KEY, key TEXT, item TEXT, gone, UNIQUE(key, item));

-- Slots first; numbers of items stand apart from those of slots.
DROP VIEW resource;
CREATE VIEW resource AS
  SELECT r.id AS id, 'slot-' || r.slot || '@' || n.text AS name,
    'slot' AS key, '' || r.slot AS item
  FROM slot r JOIN name n ON n.id = r.node
  UNION ALL
  SELECT 4294967296 + i.id, i.key || coalesce('/' || nullif(i.item, ''), ''), i.key,
    i.item
  FROM resource_item i WHERE NOT i.gone;

-- A row for every attempt and the slot it took, and one more for each item or quantity.
CREATE VIEW attempt_resource AS
  SELECT a.job AS job, a.attempt AS attempt, r.id AS resource_id, '' AS part, 1 AS amount
  FROM attempt_any a LEFT JOIN slot r ON r.node = a.node AND r.slot = a.slot
  UNION ALL
  SELECT b.job, b.attempt, 4294967296 + i.id,
    '.' || b.key || coalesce('/' || nullif(b.item, ''), ''), b.amount
  FROM booking b LEFT JOIN resource_item i ON i.key = b.key AND i.item = b.item;

DROP VIEW job_resource;
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
    LEFT JOIN code c ON c.id = a.code;
