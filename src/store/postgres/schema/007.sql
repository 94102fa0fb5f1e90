-- SPDX-License-Identifier: Apache-2.0
-- 007.sql - old parts of the archive go as a whole (src/store/postgres/partitions.h).

-- Parts that were taken out of the archive: part N of job_done is the table gone_done_N.
-- What stands beside its jobs is gone up to the id `swept`.
CREATE TABLE pawl.part_gone(
  family text, part int8, swept int8 NOT NULL, PRIMARY KEY(family, part));

CREATE FUNCTION pawl.gone_name(family text, part int8) RETURNS text
LANGUAGE sql IMMUTABLE AS $$ SELECT 'gone_' || substr(family, 5) || '_' || part $$;

-- The parts of a family up to `last` that have jobs, and their newest end.
CREATE FUNCTION pawl.parts_filled(family text, last int8)
RETURNS TABLE(part int8, newest int8) LANGUAGE plpgsql STABLE AS $$
BEGIN
  FOR part IN
    SELECT substr(c.relname, length(family) + 2)::int8
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = ('pawl.' || family)::regclass ORDER BY 1
  LOOP
    EXIT WHEN part > last;
    EXECUTE format('SELECT max(dt) FROM pawl.%I', family || '_' || part) INTO newest;
    IF newest IS NOT NULL THEN
      RETURN NEXT;
    END IF;
  END LOOP;
END $$;

-- Takes the first part up to `last` all of whose jobs ended before `due` (as dt has it)
-- out of the archive: whose number it is, or NULL. Whoever uses the archive is waited for
-- as long as lock_timeout says, and others wait meanwhile; the step itself is short. The
-- family is locked before its part, as everyone does.
CREATE FUNCTION pawl.part_take_out(family text, last int8, due int8) RETURNS int8
LANGUAGE plpgsql AS $$
DECLARE n int8; name text; gone text; newest int8;
BEGIN
  SELECT p.part INTO n FROM pawl.parts_filled(family, last) p WHERE p.newest < due
    AND to_regclass('pawl.' || pawl.gone_name(family, p.part)) IS NULL
    ORDER BY p.part LIMIT 1;
  IF n IS NULL THEN
    RETURN NULL;
  END IF;
  name := family || '_' || n;
  gone := pawl.gone_name(family, n);
  EXECUTE format('LOCK TABLE ONLY pawl.%I IN ACCESS EXCLUSIVE MODE', family);
  EXECUTE format('SELECT max(dt) FROM pawl.%I', name) INTO newest;
  IF newest >= due THEN
    RETURN NULL;
  END IF;
  EXECUTE format('ALTER TABLE pawl.%I DETACH PARTITION pawl.%I', family, name);
  EXECUTE format('ALTER TABLE pawl.%I RENAME TO %I', name, gone);
  INSERT INTO pawl.part_gone VALUES (family, n, 0);
  RETURN n;
END $$;

-- Drops those of them that are swept; all of them if `unswept`. How many.
CREATE FUNCTION pawl.parts_gone_drop(unswept boolean) RETURNS int4
LANGUAGE plpgsql AS $$
DECLARE p record; left_over boolean; dropped int4 := 0;
BEGIN
  FOR p IN SELECT * FROM pawl.part_gone FOR UPDATE LOOP
    EXECUTE format('SELECT EXISTS(SELECT 1 FROM pawl.%I WHERE id > $1)',
      pawl.gone_name(p.family, p.part)) INTO left_over USING p.swept;
    CONTINUE WHEN left_over AND NOT unswept;
    EXECUTE format('DROP TABLE pawl.%I', pawl.gone_name(p.family, p.part));
    DELETE FROM pawl.part_gone g WHERE g.family = p.family AND g.part = p.part;
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END $$;

-- As before, but locks the family before its part.
CREATE OR REPLACE FUNCTION pawl.parts_drop(before int8) RETURNS int4
LANGUAGE plpgsql AS $$
DECLARE part record; filled boolean; gone int4 := 0;
BEGIN
  FOR part IN
    SELECT c.relname AS name, p.relname AS family
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      JOIN pg_class p ON p.oid = i.inhparent
    WHERE i.inhparent IN ('pawl.job_done'::regclass, 'pawl.job_dead'::regclass)
      AND substring(c.relname from 10)::int8 < before ORDER BY p.relname DESC
  LOOP
    EXECUTE format('SELECT EXISTS(SELECT 1 FROM pawl.%I)', part.name) INTO filled;
    CONTINUE WHEN filled;
    EXECUTE format('LOCK TABLE ONLY pawl.%I IN ACCESS EXCLUSIVE MODE', part.family);
    EXECUTE format('SELECT EXISTS(SELECT 1 FROM pawl.%I)', part.name) INTO filled;
    CONTINUE WHEN filled;
    EXECUTE format('DROP TABLE pawl.%I', part.name);
    gone := gone + 1;
  END LOOP;
  RETURN gone;
END $$;

-- As before, but a key is also free if its holder went with a part whose sweep has not
-- come to it yet. Each step looks anew: a holder that was just committed is seen.
CREATE OR REPLACE FUNCTION pawl.uniques_change(
  kinds int4[], tenants bytea[], keys bytea[], jobs int8[], ts int8[], now int8[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE sweeping boolean; holder int8;
BEGIN
  SELECT EXISTS(SELECT 1 FROM pawl.part_gone) INTO sweeping;
  FOR i IN 1 .. array_length(kinds, 1) LOOP
    IF kinds[i] IN (1, 5) THEN
      IF sweeping THEN
        SELECT job INTO holder FROM pawl.job_unique u
          WHERE u.tenant = tenants[i] AND u.key = keys[i];
        DELETE FROM pawl.job_unique u
          WHERE u.tenant = tenants[i] AND u.key = keys[i] AND u.job = holder
          AND EXISTS(SELECT FROM pawl.part_gone g WHERE g.part = holder >> 50)
          AND NOT EXISTS(SELECT FROM pawl.job_any j WHERE j.id = holder);
      END IF;
      INSERT INTO pawl.job_unique AS u (tenant, key, job, until)
        VALUES (tenants[i], keys[i], jobs[i], ts[i])
        ON CONFLICT (tenant, key) DO UPDATE
        SET job = excluded.job, until = excluded.until
        WHERE u.until <= now[i] OR (kinds[i] = 5
          AND NOT EXISTS (SELECT FROM pawl.job_live j WHERE j.id = u.job));
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
