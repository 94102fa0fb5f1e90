# SPDX-License-Identifier: Apache-2.0
"""kill -9 at any moment: nothing acknowledged is lost, nothing is invented, nothing runs
that nothing called for (I1, I2, I4, I6, I7; S2.1, S2.57).

tests/prove/crash does the same thousands of times.
"""
import os
import pathlib
import signal
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for          # noqa: E402
from lib.crash import Crashes         # noqa: E402
from lib.daemon import Place, alive, parent_of # noqa: E402
from lib.witness import Witness       # noqa: E402

CYCLES = 20


@pytest.fixture
def place():
    with Place() as place:
        yield place


def test_twenty_kills_under_load(place, capsys):
    """Of the daemon; now and then of its launcher too."""
    crashes = Crashes(place, int(os.environ.get("SEED", "7")))
    crashes.start()
    # On a busy machine some more, so that there was some load.
    while crashes.kills < CYCLES or min(crashes.load.acked, crashes.load.finished) <= 200:
        crashes.cycle()
    judged = crashes.verdict()
    with capsys.disabled():
        print(f"\nseed {crashes.load.seed}\n{judged.ledger()}")
    assert judged.faults == []
    assert judged.count["adds_ok"] > 200 and judged.count["runs"] > 200


# --- a job that runs while the daemon dies (S1.29 does not apply: nobody was lost) ----

# $1 witness, $2 the file that lets it end. Says something before and after the crash.
LONG = """\
echo "S $PAWL_JOB_ID $PAWL_ATTEMPT" >>"$1"
echo before
while [ ! -e "$2" ]; do sleep 0.02; done
echo after
echo "E $PAWL_JOB_ID $PAWL_ATTEMPT" >>"$1"
exit 7
"""


class Long:
    """A job that runs until it is let go."""

    def __init__(self, place, node, **fields):
        self.node = node
        self.witness = Witness(place.path / "witness")
        self.gate = place.path / "gate"
        job = node.api().add(command=["/bin/sh", "-c", LONG, "sh", str(self.witness.path),
                                      str(self.gate)], **fields)
        self.id = job["id"]
        wait_for(self.witness.lines, 120, "it does not begin")

    def let_go(self):
        self.gate.touch()

    def ended(self):
        return any(line.startswith("E") for line in self.witness.lines())

    def end(self):
        return self.node.api().until(self.id)


def test_a_running_job_outlives_the_daemon_and_is_taken_over(place):
    node = place.daemon().start()
    job = Long(place, node, max_retries=3)
    before = node.api().until(job.id, "running")
    launcher = node.launcher()
    node.restart()
    api = node.api()
    taken = api.job(job.id)
    assert (taken["state"], taken["attempt"]) == ("running", 1)
    assert taken["started_at"] == before["started_at"]
    assert node.launcher() == launcher
    job.let_go()
    assert job.node.api().until(job.id, ("retrying", "ready", "rejected", "running"))
    ended = wait_for(lambda: (rows := api.get(f"/jobs/{job.id}/attempts")["items"])
                     and rows[-1]["finished_at"] and rows or None)
    first = min(ended, key=lambda row: row["attempt"])
    assert (first["exitcode"], first["exit_status"]) == (500, 7)
    assert api.log(job.id, attempt=1) == b"before\nafter\n"
    assert [line.split()[0] for line in job.witness.lines()
            if line.split()[2] == "1"] == ["S", "E"]


def test_a_job_that_ends_while_the_daemon_is_down(place):
    node = place.daemon().start()
    job = Long(place, node, max_retries=0)
    node.kill()
    job.let_go()
    wait_for(job.ended, 120, "it does not end")
    node.start()
    ended = job.end()
    assert (ended["state"], ended["attempt"]) == ("rejected", 1)
    assert (ended["exitcode"], ended["exit_status"]) == (500, 7)
    assert node.api().log(job.id) == b"before\nafter\n"
    assert len(job.witness.lines()) == 2


def test_children_are_added_once_over_a_crash(place):
    """S2.48: their lines are read again by the next daemon, and mean the same jobs."""
    node = place.daemon().start()
    gate = place.path / "gate"
    script = """echo 'J!: now|1'; echo 'J: later|2'; echo 'P: 30 begun'
                while [ ! -e "$0" ]; do sleep 0.02; done; echo 'J!: now|3'; echo 'J: later|4'
                echo 'R: 200 result'"""
    job = node.api().add(command=["/bin/sh", "-c", script, str(gate)], protocol=True)
    wait_for(lambda: node.api().all(parent=job["id"]), 120)
    for _ in range(2):
        node.restart()
    gate.touch()
    api = node.api()
    ended = api.until(job["id"])
    assert (ended["state"], ended["attempt"], ended["progress"]) == ("done", 1, 30)
    assert api.request("GET", f"/jobs/{job['id']}/result").body == b"result"
    node.restart()
    children = node.api().all(parent=job["id"])
    assert sorted((child["type"], child["payload"]) for child in children) == [
        ("later", "2"), ("later", "4"), ("now", "1"), ("now", "3")]


def test_many_restarts_of_the_daemon_and_one_run(place):
    node = place.daemon().start()
    job = Long(place, node, max_retries=0)
    for _ in range(4):
        node.restart()
    job.let_go()
    assert job.end()["attempt"] == 1
    assert len(job.witness.lines()) == 2


def test_with_both_dead_the_job_runs_again_uncharged(place):
    """S1.29: what went down in progress becomes pickable again."""
    node = place.daemon().start()
    job = Long(place, node, max_retries=0)
    node.kill()
    node.kill_launcher()
    node.start()
    wait_for(lambda: len(job.witness.lines()) == 2, 120, "it does not run again")
    assert not [line for line in job.witness.lines() if line.startswith("E")]
    job.let_go()
    ended = job.end()
    assert (ended["attempt"], ended["retry_number"]) == (2, 0)
    assert (ended["state"], ended["exit_status"]) == ("rejected", 7)
    first = min(node.api().get(f"/jobs/{job.id}/attempts")["items"],
                key=lambda row: row["attempt"])
    assert first["exitcode"] == 502
    wait_for(lambda: not node.jobs())


def test_the_launcher_dies_under_a_living_daemon(place):
    """Its jobs die with it; a new one is started; they run again, uncharged."""
    node = place.daemon().start()
    job = Long(place, node, max_retries=0)
    launcher = node.launcher()
    first = [pid for pid in node.jobs() if parent_of(pid) == launcher]
    assert first
    node.kill_launcher()
    wait_for(lambda: len(job.witness.lines()) == 2, 120, "it does not run again")
    assert not any(alive(pid) for pid in first), "two copies run"
    job.let_go()
    ended = job.end()
    assert (ended["attempt"], ended["retry_number"]) == (2, 0)
    assert node.process.poll() is None


def test_an_answer_lost_in_a_crash_can_be_asked_for_again(place):
    """With the same Idempotency-Key: the same job, whatever was lost."""
    node = place.daemon().start()
    headers = {"Idempotency-Key": "once"}
    job = {"command": ["/bin/true"], "name": "once"}
    first = node.api().request("POST", "/jobs", job, headers)
    node.restart()
    again = node.api().request("POST", "/jobs", job, headers)
    assert again.json()["id"] == first.json()["id"]
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(node.api().all()) == 1


def test_a_paused_job_stays_paused_over_a_crash(place):
    node = place.daemon().start()
    job = Long(place, node, max_retries=0)
    node.api().act(job.id, "pause")
    node.restart()
    assert node.api().job(job.id)["state"] == "paused"
    job.let_go()
    time.sleep(0.3) # ten times as long as it would need
    assert not job.ended() and node.api().job(job.id)["state"] == "paused"
    node.api().act(job.id, "resume")
    assert job.end()["attempt"] == 1


@pytest.mark.parametrize("last", ["pause", "resume"])
def test_a_pause_that_never_reached_the_job_is_made_good(place, last):
    """The launcher does not listen, the daemon's words pile up and are lost with it."""
    node = place.daemon().start()
    job = Long(place, node, max_retries=0)
    api, launcher = node.api(), node.launcher()
    os.kill(launcher, signal.SIGSTOP)
    for _ in range(400): # more than a socket takes
        api.act(job.id, "pause")
        api.act(job.id, "resume")
    if last == "pause":
        api.act(job.id, "pause")
    node.kill()
    os.kill(launcher, signal.SIGCONT)
    node.start()
    job.let_go()
    if last == "pause":
        time.sleep(0.3)
        assert not job.ended() and node.api().job(job.id)["state"] == "paused"
        node.api().act(job.id, "resume")
    assert job.end()["attempt"] == 1


def test_a_cancel_in_progress_goes_on_after_a_crash(place):
    """Ignores TERM: the next daemon has to finish what the first one began."""
    node = place.daemon("--set", "daemon.grace=1s").start()
    witness = Witness(place.path / "witness")
    job = node.api().add(command=["/bin/sh", "-c", "trap '' TERM; echo S >>\"$0\"; "
                                  "while :; do sleep 0.05; done", str(witness.path)])
    wait_for(witness.lines, 120)
    node.api().act(job["id"], "cancel")
    node.restart()
    ended = node.api().until(job["id"])
    assert ended["state"] == "cancelled"
    wait_for(lambda: not node.jobs(), 120, "its processes are left over")


def test_nothing_is_left_when_everything_has_ended(place):
    node = place.daemon().start()
    api = node.api()
    jobs = [api.add(command=["/bin/sh", "-c", "sleep 0.05"])["id"] for _ in range(8)]
    node.restart()
    api = node.api()
    for id in jobs:
        assert api.until(id)["state"] == "done"
    assert node.stop() == 0
    wait_for(lambda: not node.jobs(), 120)
    wait_for(lambda: node.launcher() is None, 120, "the launcher does not leave")
