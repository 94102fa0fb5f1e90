-- SPDX-License-Identifier: Apache-2.0
-- 007.sql - which version of its handler an attempt ran with.
ALTER TABLE attempt ADD COLUMN version;
