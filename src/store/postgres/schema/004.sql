-- SPDX-License-Identifier: Apache-2.0
-- 004.sql - a unique key is held by the first that was committed with it.

-- Takes (1, 5), removes (2), releases (3) and expires (4) keys, in order. One that someone
-- holds at the time `now` of who wants it is not taken; by 5 it is if the holder is over.
CREATE FUNCTION pawl.uniques_change(
  kinds int4[], tenants bytea[], keys bytea[], jobs int8[], ts int8[], now int8[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. array_length(kinds, 1) LOOP
    IF kinds[i] IN (1, 5) THEN
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
