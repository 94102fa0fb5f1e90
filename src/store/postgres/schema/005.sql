-- SPDX-License-Identifier: Apache-2.0
-- 005.sql - bytes of bodies and results, counted by lane as jobs are: rows of lane_count
-- with the state -1.
INSERT INTO pawl.lane_count(node, lane, state, count)
  SELECT 0, j.lane, -1, sum(coalesce(octet_length(j.payload), 0)
    + coalesce(j.result_bytes, 0) + coalesce(octet_length(p.data), 0))
  FROM pawl.job_any j LEFT JOIN pawl.payload p ON p.job = j.id GROUP BY j.lane;
