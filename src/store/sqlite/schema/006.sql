-- SPDX-License-Identifier: Apache-2.0
-- 006.sql - nodes that share a store (src/store/cluster.h). An embedded store has one
-- node, but keeps the same rows: tests play every scene on every kind.
ALTER TABLE node ADD COLUMN number;
ALTER TABLE node ADD COLUMN epoch;
ALTER TABLE node ADD COLUMN lease;
ALTER TABLE node ADD COLUMN fenced;
ALTER TABLE node ADD COLUMN controls;

CREATE TABLE inbox(number INTEGER PRIMARY KEY AUTOINCREMENT, node, sender, body);
CREATE INDEX inbox_node ON inbox(node, number);

-- The last write of each definition, in the order of writing; it stays when the
-- definition is removed.
CREATE TABLE definition_change(
  kind TEXT, tenant TEXT, key TEXT, change, node,
  PRIMARY KEY(kind, tenant, key)) WITHOUT ROWID;
CREATE INDEX change_order ON definition_change(change);
