# SPDX-License-Identifier: Apache-2.0
"""A file system that hangs, and accounts that stop each other's processes: the jobs that
touch them wait, no other does, and they are named (H1)."""
import os
import pathlib
import signal
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from conftest import until               # noqa: E402
from lib.hangfs import HangingFolder, why_not # noqa: E402

needs_fuse = pytest.mark.skipif(bool(why_not()), reason=why_not())


@pytest.fixture
def dead(place):
    folder = pathlib.Path(place) / "dead"
    folder.mkdir()
    with HangingFolder(folder) as hanging:
        yield hanging


HANGING = [
    pytest.param(lambda path: {"command": ["true"], "cwd": path}, id="cwd"),
    pytest.param(lambda path: {"command": [f"{path}/program"]}, id="program"),
]


@needs_fuse
@pytest.mark.parametrize("job", HANGING)
def test_a_job_on_a_dead_file_system_holds_up_no_other(make_daemon, dead, job):
    daemon = make_daemon("--slots", "30")
    older = daemon.add("sleep", "1000")
    daemon.until_state(older, "running")
    # More than the daemon has under way with the launcher at a time.
    stuck = [daemon.http("POST", "/api/v1/jobs", job(dead.path)).json["id"] for _ in range(20)]
    until(dead.asked.is_set, "a job waits for the file system")
    for _ in range(3):
        assert daemon.until_final(daemon.add("true"))["state"] == "done"
    assert daemon.http("POST", f"/api/v1/jobs/{older}/kill").status == 200
    assert daemon.until_final(older)["state"] == "cancelled"

    # It is named.
    until(lambda: "hangs" in (daemon.job(stuck[0])["message"] or ""), "the job says it")
    assert f"job.hangs job={stuck[0]}" in daemon.log_text()
    assert b"starts_hang" in daemon.http("GET", "/readyz").body
    doctor = daemon.cli("doctor")
    assert b"hang before their program runs" in doctor.stdout, doctor

    # It can be ended, though its process cannot.
    assert daemon.http("POST", f"/api/v1/jobs/{stuck[0]}/kill").status == 200
    ended = daemon.until_final(stuck[0])
    assert ended["state"] == "cancelled"
    assert "could not be killed" in ended["message"]
    assert f"job.survived job={stuck[0]}" in daemon.log_text()

    dead.release()
    for one in stuck[1:]:
        assert daemon.until_final(one)["state"] in ("failed", "rejected")
    until(lambda: daemon.http("GET", "/readyz").body == b"ready\n", "nothing hangs any more")


@needs_fuse
def test_a_time_limit_counts_while_a_job_hangs(make_daemon, dead):
    daemon = make_daemon("--set", "daemon.grace=1s")
    answer = daemon.http("POST", "/api/v1/jobs", {
        "command": ["true"], "cwd": dead.path, "max_run_time": "PT2S", "max_retries": 0})
    job = daemon.until_final(answer.json["id"])
    assert job["state"] == "rejected" or job["state"] == "failed", job
    assert "could not be killed" in job["message"]


@needs_fuse
def test_a_daemon_that_comes_back_finds_a_hanging_job(make_daemon, dead):
    daemon = make_daemon()
    job = daemon.http("POST", "/api/v1/jobs", {"command": ["true"], "cwd": dead.path}).json["id"]
    until(dead.asked.is_set, "the job waits for the file system")
    daemon.restart()
    assert daemon.until_final(daemon.add("true"))["state"] == "done"
    assert daemon.job(job)["state"] == "running"
    dead.release()
    assert daemon.until_final(job)["state"] in ("failed", "rejected")


def test_a_launcher_that_is_stopped_is_noticed(make_daemon):
    daemon = make_daemon()
    assert daemon.until_final(daemon.add("true"))["state"] == "done"
    launcher = next(int(pid) for pid in os.listdir("/proc") if pid.isdigit() and
                    is_launcher(pid, daemon))
    os.kill(launcher, signal.SIGSTOP)
    try:
        job = daemon.add("true")
        until(lambda: daemon.http("GET", "/readyz").status == 503, "it is noticed")
        assert daemon.http("GET", "/readyz").json["code"] == "launcher_silent"
        assert "launcher.silent" in daemon.log_text()
    finally:
        os.kill(launcher, signal.SIGCONT)
    assert daemon.until_final(job)["state"] == "done"
    until(lambda: daemon.http("GET", "/readyz").status == 200, "it answers again")


def is_launcher(pid, daemon):
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0].endswith(b"pawl-launch") and words[1] == str(daemon.data).encode()
