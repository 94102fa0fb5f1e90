# SPDX-License-Identifier: Apache-2.0
"""Founding document 000 walked through from outside: what starts work and what does not,
and the scripts an operator has."""
import pathlib
import subprocess
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402

SECONDS = 120


class Master:
    def __init__(self, place):
        self.path = place.path
        self.modules = place.path / "modules"
        self.modules.mkdir()
        self.node = place.daemon("--slots", "2", "--set",
                                 f"daemon.modules_root={self.modules}").start()
        self.api = self.node.api()
        self.module("wait", 'echo "$BATCH_NAME" >> "$0.ran"\n'
                            f'while [ ! -e {self.path}/go-"$BATCH_NAME" ]; do sleep 0.05; done\n')
        self.module("note", 'echo "$BATCH_NAME" >> "$0.ran"\n')

    def module(self, name, text):
        (self.modules / name).write_text("#!/bin/sh\n" + text)
        (self.modules / name).chmod(0o755)

    def post(self, name, module="note", **fields):
        more = "".join(f"<{key}>{value}</{key}>" for key, value in fields.items())
        text = (f'<batch-job xmlns="urn://batch-master"><name>{name}</name>'
                f"<module>{module}</module>{more}</batch-job>")
        answer = self.api.request("POST", "/jobs", text.encode(),
                                  {"Content-Type": "application/xml"})
        assert answer.status == 201, answer
        return answer.json()["id"]

    def config(self, **settings):
        answer = self.api.request("PATCH", "/config", settings)
        assert answer.status == 200, answer

    def ran(self, module="note"):
        path = self.modules / f"{module}.ran"
        return path.read_text().split() if path.exists() else []

    def go(self, name):
        (self.path / f"go-{name}").touch()

    def pawl(self, *words, code=0):
        done = subprocess.run([program(), "--server", f"unix:{self.node.socket()}", *words],
                              capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == code, done
        return done.stdout


@pytest.fixture
def master():
    with Place() as place:
        yield Master(place)


def test_only_the_controller_starts_work(master):
    """S0.1, S0.9, S0.18: while it is switched off, nothing that is added or changed runs;
    the switch itself is a nudge."""
    master.config(enabled=False)
    ids = [master.post(f"n{i}") for i in range(3)]
    master.api.request("PATCH", f"/jobs/{ids[0]}", {"priority": 9})
    (master.modules / "note").touch()
    passes = master.api.get("/nodes")["items"][0]["passes"]
    # Whole passes of the controller go by, and it starts nothing.
    wait_for(lambda: master.api.get("/nodes")["items"][0]["passes"] > passes + 1, SECONDS)
    assert [master.api.job(id)["state"] for id in ids] == ["ready"] * 3
    assert not master.ran()
    master.config(enabled=True)
    for id in ids:
        assert master.api.until(id, seconds=SECONDS)["state"] == "done"
    assert sorted(master.ran()) == ["n0", "n1", "n2"]


def test_the_timer_alone_starts_what_is_due(master):
    """S0.5: nobody asks for anything between the adding of a job and its start."""
    job = master.api.add(command=["true"], delay="PT1.5S")
    assert job["state"] == "deferred"
    started = f"event=job.started job={job['id']}"
    wait_for(lambda: started in master.node.log(), SECONDS)


def test_slots_throttle_and_are_kept_busy(master):
    """S0.2, S0.8, S0.12, S0.14, S0.64, S0.74: never more than allowed at once; a slot that
    is free is filled; the number changes while jobs run, and lowering it ends none."""
    ids = {name: master.post(name, "wait") for name in "abcd"}

    def running():
        return master.api.all(state="running")
    wait_for(lambda: len(running()) == 2, SECONDS)
    assert [master.api.job(ids[name])["state"] for name in "cd"] == ["ready", "ready"]
    master.go("a")
    master.api.until(ids["c"], "running", SECONDS)
    assert len(running()) == 2
    master.pawl("config", "set", "max_concurrent_jobs=3")
    master.api.until(ids["d"], "running", SECONDS)
    master.pawl("config", "set", "max_concurrent_jobs=1")
    assert len(running()) == 3
    late = master.post("e", "wait")
    for name in "bc":
        master.go(name)
        master.api.until(ids[name], "done", SECONDS)
    assert master.api.job(late)["state"] == "ready" # d has the one slot
    master.go("d")
    master.api.until(late, "running", SECONDS)
    master.go("e")
    master.api.until(late, "done", SECONDS)


def test_an_operators_action_is_a_nudge(master):
    """S0.11, S0.75: suspended jobs are passed over and start at once when released; running
    ones are paused and resumed."""
    master.config(enabled=False)
    id = master.post("held")
    master.pawl("hold", id)
    master.config(enabled=True)
    other = master.post("other")
    assert master.api.until(other, seconds=SECONDS)["state"] == "done"
    assert master.api.job(id)["state"] == "held"
    master.pawl("release", id)
    assert master.api.until(id, seconds=SECONDS)["state"] == "done"
    running = master.post("paused", "wait")
    wait_for(lambda: "paused" in master.ran("wait"), SECONDS)
    master.pawl("pause", running)
    assert master.api.until(running, "paused", SECONDS)
    master.go("paused")
    master.pawl("resume", running)
    assert master.api.until(running, seconds=SECONDS)["state"] == "done"


def test_active_and_queued_jobs_are_shown_reordered_and_cleared(master):
    """S0.72, S0.73, S0.76, S0.77, S0.78: pawl ls, set, rm; and the same over HTTP."""
    master.config(max_concurrent_jobs=1)
    active = master.post("active", "wait")
    master.api.until(active, "running", SECONDS)
    first, second, third = (master.post(name) for name in ("first", "second", "third"))
    shown = master.pawl("ls", "state:running")
    assert active in shown and first not in shown
    shown = master.pawl("ls", "state:ready")
    assert active not in shown and all(id in shown for id in (first, second, third))
    assert [job["id"] for job in master.api.all(state="running")] == [active]
    master.pawl("set", third, "--priority", "50")
    order = [job["id"] for job in master.api.get("/jobs?state=ready&order=dispatch")["items"]]
    assert order == [third, first, second]
    master.pawl("rm", "--yes", second)
    assert master.api.request("GET", f"/jobs/{second}").status == 404
    master.go("active")
    for id in (third, first):
        assert master.api.until(id, seconds=SECONDS)["state"] == "done"
    assert master.ran() == ["third", "first"]


def test_what_a_module_does_is_its_own_transaction(master):
    """S0.30, S0.69: a job that is taken stays taken whatever its module does, what the
    module did stays done whatever becomes of the daemon, and both are told apart."""
    word = uuid.uuid4().hex
    master.module("half", f'echo {word} > "$0.effect"; while [ ! -e {master.path}/go ]; do '
                          'sleep 0.05; done; exit 65\n')
    id = master.post("half", "half")
    effect = master.modules / "half.effect"
    wait_for(lambda: effect.exists() and effect.read_text(), SECONDS)
    master.node.kill()
    assert effect.read_text().strip() == word
    master.node.start()
    master.api = master.node.api()
    job = master.api.job(id)
    assert job["state"] == "running" and job["attempt"] == 1 # the move was committed
    (master.path / "go").touch()
    job = master.api.until(id, seconds=SECONDS)
    assert job["state"] == "failed" and job["attempt"] == 1
    assert effect.read_text().strip() == word
