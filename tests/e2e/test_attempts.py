# SPDX-License-Identifier: Apache-2.0
"""Attempts as 001 has them: every column true, in the API and in what sqlite3 shows;
signs of life; retries up to a number; lost and late ones."""
import calendar
import pathlib
import sqlite3
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for                 # noqa: E402
from lib.daemon import Place                 # noqa: E402

SECONDS = 120
COLUMNS = ("id job_id resource_id original_execution_time service_time "
           "actual_execution_time expected_finish_time actual_finish_time "
           "last_heartbeat_time retry_number status").split()


class Home:
    def __init__(self, place):
        self.path = place.path
        self.node = place.daemon("--slots", "4", "--set", "scheduling.lease=3s").start()
        self.api = self.node.api()

    def attempts(self, id):
        return self.api.get(f"/jobs/{id}/attempts")["items"]

    def select(self, text, *values):
        """What a person sees with the sqlite3 program."""
        db = sqlite3.connect(f"file:{self.node.data}/pawl.db?mode=ro", uri=True, timeout=120)
        db.row_factory = sqlite3.Row
        try:
            return [dict(row) for row in db.execute(text, values)]
        finally:
            db.close()

    def rows(self, id):
        return self.select("SELECT * FROM job_resource WHERE job_id = ? ORDER BY attempt", id)

    def until_rows(self, id, check):
        """The database lags a moment behind."""
        def look():
            rows = self.rows(id)
            return rows if check(rows) else None
        return wait_for(look, SECONDS, lambda: f"{self.rows(id)}")

    def block(self, word):
        """A command that runs until the file is there."""
        return ["sh", "-c", f"while [ ! -e {self.path}/{word} ]; do sleep 0.05; done"]

    def go(self, word):
        (self.path / word).touch()


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield Home(place)


def seconds(text):
    """As sqlite3 or the API writes times."""
    text = text.replace("Z", "").replace("T", " ")
    whole, _, part = text.partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%d %H:%M:%S")) + float(f"0.{part or 0}")


def test_a_running_attempt_has_all_of_001s_columns(home):
    """S1.20, S1.38, S1.39, S1.40, S1.41, S1.42, S1.43, S1.44, S1.46, S1.47, S1.48, S1.55,
    S1.57: InProgress, retry 0, its resource, now + service_time."""
    job = home.api.add(command=home.block("columns"), service_time="PT90S")
    home.api.until(job["id"], "running", SECONDS)
    [row] = home.until_rows(job["id"], lambda rows: len(rows) == 1)
    assert set(COLUMNS) <= set(row)
    assert row["id"] == job["id"] + ".1" and row["job_id"] == job["id"]
    [resource] = home.select("SELECT * FROM resource WHERE id = ?", row["resource_id"])
    assert resource["name"].startswith("slot-")
    assert row["status"] == "InProgress" and row["retry_number"] == 0
    assert row["service_time"] == 90
    assert abs(seconds(row["original_execution_time"]) - seconds(job["run_at"])) < 0.01
    started = seconds(row["actual_execution_time"])
    assert started >= seconds(row["original_execution_time"]) - 0.01
    assert abs(seconds(row["expected_finish_time"]) - started - 90) < 0.01
    assert row["actual_finish_time"] is None
    assert seconds(row["last_heartbeat_time"]) >= started
    [told] = home.attempts(job["id"])
    assert told["id"] == row["id"] and told["job_id"] == job["id"]
    assert told["status"] == "InProgress" and told["state"] == "running"
    assert told["service_time"] == "PT1M30S" and told["finished_at"] is None
    assert abs(seconds(told["expected_finish_at"]) - seconds(told["started_at"]) - 90) < 0.01
    assert told["run_at"] == job["run_at"]
    home.go("columns")
    home.api.until(job["id"], seconds=SECONDS)
    [row] = home.until_rows(job["id"], lambda rows: rows[0]["status"] == "Completed")
    assert seconds(row["actual_finish_time"]) >= started # S1.45
    [told] = home.attempts(job["id"])
    assert told["status"] == "Completed" and told["finished_at"]
    [whole] = home.select("SELECT * FROM job WHERE id = ?", job["id"])
    assert whole["status"] == "Completed" # S1.22, S1.23


def test_the_job_table_has_001s_words_for_every_state(home):
    """S1.13, S1.14, S1.15, S1.16, S1.17, S1.32, S1.34, S1.36, S1.37, S1.54: description,
    times, and a status that follows the job; a resource for every slot in use."""
    held = home.api.add(command=["true"], name="a description", held=True,
                        service_time="PT30S")
    running = home.api.add(command=home.block("words"))
    failed = home.api.add(command=["sh", "-c", "exit 65"])
    rejected = home.api.add(command=["sh", "-c", "exit 1"])
    done = home.api.add(command=["true"])
    for job in (failed, rejected, done):
        home.api.until(job["id"], seconds=SECONDS)
    home.api.until(running["id"], "running", SECONDS)
    expected = {held["id"]: "Pending", running["id"]: "InProgress", failed["id"]: "Failed",
                rejected["id"]: "Rejected", done["id"]: "Completed"}

    def statuses():
        rows = home.select("SELECT * FROM job")
        return {row["id"]: row["status"] for row in rows if row["id"] in expected}
    wait_for(lambda: statuses() == expected, SECONDS, lambda: f"{statuses()}")
    [row] = home.select("SELECT * FROM job WHERE id = ?", held["id"])
    assert row["description"] == "a description" and row["service_time"] == 30
    assert abs(seconds(row["execution_time"]) - seconds(held["run_at"])) < 0.01
    resources = home.select("SELECT id, name FROM resource")
    assert len({row["id"] for row in resources}) == len(resources) >= 1
    assert all(row["name"] for row in resources)
    home.go("words")
    home.api.until(running["id"], "done", SECONDS)
    home.api.act(held["id"], "cancel")


def test_a_failed_attempt_gives_its_slot_back(home):
    """S1.24, S1.26: more failing jobs than slots, one after the other, all run."""
    jobs = [home.api.add(command=["sh", "-c", f"exit {65 * (n % 2)}"]) for n in range(9)]
    states = [home.api.until(job["id"], seconds=SECONDS)["state"] for job in jobs]
    assert states == ["done", "failed"] * 4 + ["done"]
    wait_for(lambda: home.api.get("/nodes")["items"][0]["slots_used"] == 0, SECONDS)


def test_thresholds_can_be_set(home):
    """S1.59: for silence and for retries; the first while it runs, the second per job."""
    answer = home.api.request("PATCH", "/config", {"job_stale_interval": "PT20S"})
    assert answer.status == 200 and answer.json()["job_stale_interval"] == "PT20S"
    try:
        job = home.api.add(command=home.block("thresholds"), max_retries=7)
        home.api.until(job["id"], "running", SECONDS)
        now = home.api.job(job["id"])
        assert now["max_retries"] == 7
        assert abs(seconds(now["dt"]) - seconds(now["last_heartbeat_at"]) - 20) < 1
    finally:
        home.api.request("PATCH", "/config", {"job_stale_interval": None})
        home.go("thresholds")
    home.api.until(job["id"], "done", SECONDS)


def test_each_retry_has_a_row_of_its_own_up_to_rejected(home):
    """S1.25, S1.27, S1.30, S1.47: X retries are X + 1 runs, numbered; then Rejected."""
    job = home.api.add(command=["sh", "-c", "exit 1"], max_retries=2, retry_delay="PT0.1S")
    job = home.api.until(job["id"], seconds=SECONDS)
    assert job["state"] == "rejected" and job["attempt"] == 3
    rows = home.until_rows(job["id"], lambda rows: len(rows) == 3 and
                           rows[-1]["status"] == "Rejected")
    assert [row["retry_number"] for row in rows] == [0, 1, 2]
    assert [row["status"] for row in rows] == ["Failed", "Failed", "Rejected"]
    assert [row["id"] for row in rows] == [f"{job['id']}.{n}" for n in (1, 2, 3)]
    for row in rows:
        assert row["actual_execution_time"] <= row["actual_finish_time"]
        assert row["original_execution_time"] == rows[0]["original_execution_time"]
    told = home.attempts(job["id"])
    assert [one["retry_number"] for one in told] == [0, 1, 2]
    assert [one["status"] for one in told] == ["Failed", "Failed", "Rejected"]
    [whole] = home.select("SELECT status FROM job WHERE id = ?", job["id"])
    assert whole["status"] == "Rejected"


def test_a_healthy_job_is_never_broken_for_its_age(home):
    """S0.15, S1.28: it runs for more than two stale intervals (3 s) and shows life all the
    time; one attempt."""
    job = home.api.add(command=home.block("healthy"))
    home.api.until(job["id"], "running", SECONDS)
    first = seconds(home.attempts(job["id"])[0]["started_at"])
    beats = set()

    def old():
        [told] = home.attempts(job["id"])
        beats.add(told["last_heartbeat_at"])
        return seconds(told["last_heartbeat_at"]) > first + 7
    wait_for(old, SECONDS, pause=0.1)
    assert len(beats) >= 2
    now = home.api.job(job["id"])
    assert now["state"] == "running" and now["attempt"] == 1
    assert now["dt"] > now["last_heartbeat_at"] # the lease ends after the last sign of life
    home.go("healthy")
    assert home.api.until(job["id"], seconds=SECONDS)["attempt"] == 1


def test_a_dead_process_frees_its_slot_at_once(home):
    """S0.65, S1.29: a run that is gone is noticed, and the job taken up again."""
    word = "dead"
    job = home.api.add(command=["sh", "-c", f'[ "$PAWL_ATTEMPT" = 2 ] || kill -9 $$; '
                                            f"echo {word}"], max_retries=1,
                       retry_delay="PT0.1S")
    job = home.api.until(job["id"], seconds=SECONDS)
    assert job["state"] == "done" and job["attempt"] == 2
    first, second = home.attempts(job["id"])
    assert first["signal"] == 9 and first["exitcode"] == 501 and first["status"] == "Failed"
    assert second["status"] == "Completed" and second["retry_number"] == 1


def test_attempts_that_die_with_their_launcher_run_again_uncharged():
    """S1.29, S1.50: the system goes down while a job is in progress."""
    with Place() as place:
        home = Home(place)
        job = home.api.add(command=home.block("lost"), max_retries=0)
        home.api.until(job["id"], "running", SECONDS)
        wait_for(home.node.jobs, SECONDS)
        home.node.kill()
        home.node.kill_launcher()
        while home.node.kill_jobs():
            pass
        home.node.start()
        home.api = home.node.api()
        wait_for(lambda: len(home.attempts(job["id"])) == 2, SECONDS)
        home.go("lost")
        job = home.api.until(job["id"], seconds=SECONDS)
        assert job["state"] == "done" and job["retry_number"] == 0
        first, second = home.attempts(job["id"])
        assert first["exitcode"] == 502 and second["exitcode"] == 200
        assert [one["retry_number"] for one in (first, second)] == [0, 0]


def test_a_late_result_is_refused_and_counted(home):
    """S1.50: a worker that was silent for too long has lost its job."""
    assert home.api.request("PUT", "/handlers/slow", {"lang": "pull"}).status in (200, 201)
    job = home.api.add(type="slow", max_retries=3, retry_delay="PT0.1S")
    before = home.api.get("/stats")["late_results"]

    def claim():
        answer = home.api.request("POST", "/claims", {"types": ["slow"], "wait": "PT20S",
                                                      "lease": "PT1S", "worker": "w"})
        return answer.json()["jobs"][0] if answer.status == 200 else None
    lost = wait_for(claim, SECONDS)
    home.api.until(job["id"], ("retrying", "ready"), SECONDS) # silence: the lease lapsed
    again = wait_for(claim, SECONDS)
    assert again["attempt"] == lost["attempt"] + 1

    def finish(claimed, result):
        answer = home.api.request("POST", "/claims/finish", {"items": [{
            "id": claimed["id"], "attempt": claimed["attempt"], "token": claimed["token"],
            "exitcode": 200, "result": result}]})
        assert answer.status == 200, answer
        return answer.json()["items"][0]["status"]
    assert finish(lost, "of the late one") == "late"
    renewed = home.api.job(job["id"])
    if finish(again, "of the second") == "ok": # unless this machine slept through its lease
        job = home.api.until(job["id"], seconds=SECONDS)
        assert job["state"] == "done"
        assert home.api.request("GET", f"/jobs/{job['id']}/result").body == b"of the second"
    assert renewed["state"] != "done"
    assert home.api.get("/stats")["late_results"] > before
