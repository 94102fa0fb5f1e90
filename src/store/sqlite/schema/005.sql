-- SPDX-License-Identifier: Apache-2.0
-- 005.sql - what jobs have to do with each other: `after`, groups, unique keys.

-- child waits for parent to end; cond as in src/core/after.h. A row goes when it is
-- settled, or when the child needs it no more.
CREATE TABLE job_wait(
  parent, child, cond,
  PRIMARY KEY(parent, child)) WITHOUT ROWID;
CREATE INDEX wait_child ON job_wait(child, parent);

-- Parents of rows above that have ended, and how (-1: no one knows): the work that is
-- left. A row goes with the last child that waits.
CREATE TABLE job_ended(parent INTEGER PRIMARY KEY, state);

CREATE TABLE job_group(
  tenant TEXT, name TEXT, state, count,
  PRIMARY KEY(tenant, name, state)) WITHOUT ROWID;

-- Who holds a key (src/core/unique.h); until: NULL as long as the job needs it.
CREATE TABLE job_unique(
  tenant TEXT, key TEXT, job, until,
  PRIMARY KEY(tenant, key)) WITHOUT ROWID;
CREATE INDEX unique_until ON job_unique(until, tenant, key) WHERE until IS NOT NULL;

-- Jobs that wait for others (flag 1 << 27) are not for a handler to free.
DROP INDEX live_blocked;
CREATE INDEX live_blocked ON job_live(type, id)
  WHERE state = 1 AND coalesce(flags, 0) & 134217728 = 0;
