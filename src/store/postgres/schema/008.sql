-- SPDX-License-Identifier: Apache-2.0
-- 008.sql - a checksum for every row of a job (src/store/sum.h); NULL: written before.
-- A program that does not know the column cannot write rows.
-- oldest: 8
ALTER TABLE pawl.job_live ADD COLUMN sum int8;
ALTER TABLE pawl.job_done ADD COLUMN sum int8;
ALTER TABLE pawl.job_dead ADD COLUMN sum int8;
DO $$
DECLARE p record;
BEGIN
  FOR p IN SELECT * FROM pawl.part_gone LOOP
    EXECUTE format('ALTER TABLE pawl.%I ADD COLUMN IF NOT EXISTS sum int8',
      pawl.gone_name(p.family, p.part));
  END LOOP;
END $$;
