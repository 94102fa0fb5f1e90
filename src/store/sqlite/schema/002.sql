-- SPDX-License-Identifier: Apache-2.0
-- A tenant may have each type of jobs wait in a lane of its own (0: no such lane).
ALTER TABLE lane ADD COLUMN type NOT NULL DEFAULT 0;
