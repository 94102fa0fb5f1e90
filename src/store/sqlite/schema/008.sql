-- SPDX-License-Identifier: Apache-2.0
-- 008.sql - bytes of bodies and results, counted by lane as jobs are: rows of lane_count
-- with the state -1.
INSERT INTO lane_count(lane, state, count)
  SELECT j.lane, -1, sum(coalesce(length(CAST(j.payload AS BLOB)), 0)
    + coalesce(j.result_bytes, 0) + coalesce(length(CAST(p.data AS BLOB)), 0))
  FROM job_any j LEFT JOIN payload p ON p.job = j.id GROUP BY j.lane;
