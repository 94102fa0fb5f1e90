-- SPDX-License-Identifier: Apache-2.0
-- Statistics: what happened in each minute, hour or day (span, in milliseconds) by kind of
-- job. Few rows: see src/store/rollup.h.
CREATE TABLE rollup(
  span, at, tenant TEXT, queue TEXT, type TEXT, priority,
  added, started, ok, failed, retry, error, wait_ms, run_ms,
  PRIMARY KEY(span, at, tenant, queue, type, priority)) WITHOUT ROWID;
