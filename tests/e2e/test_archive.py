# SPDX-License-Identifier: Apache-2.0
"""The archive: (dt, lock) of every state as 002 has them, in the database and over the
API, and a purge that truly deletes."""
import contextlib
import datetime
import pathlib
import sqlite3
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, files_below  # noqa: E402

SECONDS = 120
THOUSAND_YEARS = datetime.timedelta(days=365242, hours=12)  # of the Gregorian calendar


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


@pytest.fixture
def place():
    with Place() as place:
        yield place


def database(node, sql, *values):
    with contextlib.closing(sqlite3.connect(f"file:{node.data}/pawl.db?mode=ro", uri=True,
                                            timeout=120)) as db:
        return db.execute(sql, values).fetchall()


def test_dt_and_lock_of_every_state(place):
    """S2.14, S2.15, S2.16, S2.22, S2.23, S2.27, S2.32, S2.91: B2.1's table, as the API
    and sqlite3 show it."""
    node = place.daemon("--slots", "2").start()
    api = node.api()
    now = datetime.datetime.now(datetime.timezone.utc)
    sysid = api.get("/nodes")["items"][0]["sysid"]
    ids = {
        "deferred": api.add(command=["true"], delay="PT1H")["id"],
        "held": api.add(command=["true"], held=True)["id"],
        "blocked": api.add(type="nobody")["id"],
        "running": api.add(command=["sleep", "600"])["id"],
        "done": api.add(command=["true"])["id"],
        "failed": api.add(command=["sh", "-c", "exit 65"])["id"],
        "rejected": api.add(command=["false"])["id"],
        "cancelled": api.add(command=["true"], held=True)["id"],
        "retrying": api.add(command=["false"], max_retries=3, retry_delay="PT1H")["id"],
    }
    api.act(ids["cancelled"], "cancel")
    jobs = {state: api.until(id, state, seconds=SECONDS) for state, id in ids.items()}
    api.request("PATCH", "/config", {"max_concurrent_jobs": 1})
    ids["ready"] = api.add(command=["true"])["id"]
    jobs["ready"] = api.job(ids["ready"])
    assert jobs["ready"]["state"] == "ready"
    for state, job in jobs.items():
        dt = moment(job["dt"])
        lock = job["lock"]
        if state in ("done", "failed", "rejected", "cancelled"):
            ended = moment(job["finished_at"])
            assert lock == "__done", job
            assert dt == ended + THOUSAND_YEARS, job
        elif state == "running":
            assert lock == sysid and dt > now, job
        elif state in ("deferred", "retrying"):
            assert lock == "" and dt > now + datetime.timedelta(minutes=40), job
        elif state == "ready":
            assert lock == "" and dt <= datetime.datetime.now(datetime.timezone.utc)
        else:
            assert lock == "", job
        if state == "running":
            continue  # its dt moves with each heartbeat
        row, = database(node, "SELECT state, dt, lock, type FROM job WHERE id = ?",
                        ids[state])
        assert row == (state, job["dt"], lock, job["type"])
    held, = database(node, "SELECT lock FROM job WHERE id = ?", ids["running"])
    assert held == (sysid,)
    api.act(ids["running"], "kill")


def test_a_purge_deletes_rows_results_logs_and_files(place):
    """S2.26, S2.90, S2.92: nothing of an old job is left, oracle 7."""
    node = place.daemon("--slots", "2", "--set", "scheduling.keep_done=1h").start()
    api = node.api()
    assert api.request("PUT", "/handlers/work", {
        "lang": "sh", "files": True, "keep_state": True,
        "body": "read x; echo \"printed $x\"; echo kept > $PAWL_FILES_DIR/f;"
                " echo kept > $PAWL_STATE_DIR/s; echo \"R: 200 result-$x\""}).status == 201
    old = api.add(type="work", payload="x" * 5000)["id"]
    api.until(old, "done", seconds=SECONDS)
    assert api.request("GET", f"/jobs/{old}/result").body.startswith(b"result-x")
    assert b"printed" in api.log(old)
    def left():
        return [path for path in files_below(node.data) if old in str(path)]
    assert left()
    # The next start believes it to be old, because done jobs are kept for no time.
    assert node.stop() == 0
    node.options = ["--slots", "2", "--set", "scheduling.keep_done=0s"]
    node.start()
    api = node.api()
    wait_for(lambda: api.request("GET", f"/jobs/{old}").status == 404, 2 * SECONDS)
    for table, column in (("job", "id"), ("job_resource", "job_id")):
        assert database(node, f"SELECT * FROM {table} WHERE {column} = ?", old) == []
    for table in ("payload", "result", "attempt"):
        assert database(node, f"SELECT * FROM {table}") == []
    assert api.request("GET", f"/jobs/{old}/result").status == 404
    assert api.request("GET", f"/jobs/{old}/log").status == 404
    wait_for(lambda: not left(), SECONDS, lambda: f"left: {left()}")
    assert api.get("/jobs")["items"] == []
