-- SPDX-License-Identifier: Apache-2.0
-- 009.sql - a checksum for every row of a job (src/store/sum.h); NULL: written before.
ALTER TABLE job_live ADD COLUMN sum;
ALTER TABLE job_done ADD COLUMN sum;
ALTER TABLE job_dead ADD COLUMN sum;
