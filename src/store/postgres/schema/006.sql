-- SPDX-License-Identifier: Apache-2.0
-- 006.sql - a new node is not given the number of one whose journal the store has read,
-- though that one has no row (it was moved here from another store): with its number it
-- would keep that one out, and could not begin itself.
CREATE OR REPLACE FUNCTION pawl.node_renew(
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
        WHERE NOT EXISTS(SELECT 1 FROM pawl.node WHERE number = i)
          AND NOT EXISTS(SELECT 1 FROM pawl.point WHERE node = i AND position > 0);
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
  UPDATE pawl.node SET beat = now_ms, facts = says, lease = now_ms + lease_ms,
    controls = c WHERE sysid = who AND number = n;
  IF NOT FOUND THEN
    INSERT INTO pawl.node(sysid, beat, facts, number, lease, controls)
      VALUES (who, now_ms, says, n, now_ms + lease_ms, c)
      ON CONFLICT (sysid) DO UPDATE SET beat = excluded.beat, facts = excluded.facts,
        number = excluded.number, lease = excluded.lease, controls = excluded.controls;
  END IF;
END $$;
