-- SPDX-License-Identifier: Apache-2.0
-- 002.sql - which version of its handler an attempt ran with.
ALTER TABLE pawl.attempt ADD COLUMN version int4;
