# SPDX-License-Identifier: Apache-2.0
"""Disks that lose their power, fill up, or hold something that was not written.

tests/prove/power cuts the power many more times.
"""
import hashlib
import os
import pathlib
import shutil
import sqlite3
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import Broken, NotSent, wait_for # noqa: E402
from lib.daemon import Place, stopped      # noqa: E402
from lib.disk import Small, why_not        # noqa: E402
from lib.power import PowerCuts            # noqa: E402

CUTS = 5

needs_power = pytest.mark.skipif(bool(why_not()), reason=f"no power cuts: {why_not()}")
needs_small = pytest.mark.skipif(bool(why_not(False)), reason=f"no tmpfs: {why_not(False)}")


@pytest.fixture
def place():
    with Place() as place:
        yield place


@needs_power
def test_power_cuts_under_load(place, capsys):
    """I1, I4: whatever was acknowledged is there; work may repeat, results may not lie."""
    cuts = PowerCuts(place, int(os.environ.get("SEED", "7")))
    try:
        cuts.start()
        # On a busy machine some more, so that there was some load.
        while cuts.cycles < CUTS or cuts.load.acked <= 50:
            cuts.cycle()
        judged = cuts.verdict()
    finally:
        cuts.load.ended.set()
        cuts.close()
    with capsys.disabled():
        print(f"\nseed {cuts.load.seed}\n{judged.ledger()}")
    assert judged.faults == []
    assert judged.count["adds_ok"] > 50


# --- a full disk ----------------------------------------------------------------------

SMALL_OPTIONS = ("--set", "journal.segment=1M", "--set", "limits.body=1M",
                 "--set", "journal.keep=0s")


@needs_small
def test_a_full_disk_refuses_adds_and_finishes_what_runs(place):
    gate = place.path / "gate"
    with Small(place.path / "small", 48) as disk:
        node = place.daemon(*SMALL_OPTIONS, data=disk.path / "data")
        try:
            node.log_path = place.path / "small.log"
            node.start()
            full_disk(node, disk, gate)
        finally:
            node.cleanup()


def full_disk(node, disk, gate):
    api = node.api()
    command = ["/bin/sh", "-c", "while [ ! -e \"$0\" ]; do sleep 0.02; done; exit 65",
               str(gate)]
    running = api.add(command=command)["id"]
    ready = api.until(running, "running")
    assert ready["attempt"] == 1

    disk.fill()
    refused = wait_for(lambda: refusal(api), 120, "adds are not refused")
    problem = refused.json()
    assert (refused.status, problem["code"]) == (503, "journal_full"), refused
    assert "disk" in problem["hint"]
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert api.request("GET", "/readyz").status == 503
    assert api.request("GET", "/livez").status == 200

    gate.touch()
    wait_for(lambda: f"event=job.finished job={running}" in node.log(), 120,
             "the end of a running job is not recorded")
    assert refusal(api)
    pid = node.pid

    disk.free()
    wait_for(lambda: api.request("GET", "/readyz").status == 200, 120, "it stays full")
    assert node.pid == pid and node.process.poll() is None
    ended = api.until(running)
    assert (ended["state"], ended["exitcode"], ended["attempt"]) == ("failed", 465, 1)
    assert api.until(api.add(command=["/bin/true"])["id"])["state"] == "done"


@needs_small
def test_what_was_recorded_on_a_full_disk_is_really_there(place):
    """The daemon dies before the disk has room again."""
    gate = place.path / "gate"
    with Small(place.path / "small", 48) as disk:
        node = place.daemon(*SMALL_OPTIONS, data=disk.path / "data")
        try:
            node.log_path = place.path / "small.log"
            api = node.start().api()
            id = api.add(command=["/bin/sh", "-c", "while [ ! -e \"$0\" ]; do sleep 0.02; "
                                  "done; exit 65", str(gate)])["id"]
            api.until(id, "running")
            disk.fill()
            wait_for(lambda: refusal(api), 120, "adds are not refused")
            gate.touch()
            wait_for(lambda: f"event=job.finished job={id}" in node.log(), 120)
            node.kill()
            disk.free()
            node.start()
            ended = node.api().until(id)
            assert (ended["state"], ended["attempt"]) == ("failed", 1)
        finally:
            node.cleanup()


@needs_small
def test_on_a_full_disk_jobs_can_be_removed_and_a_restart_starts(place):
    """F25: the way out of a full disk works: what is removed makes room in the store itself."""
    with Small(place.path / "small", 48) as disk:
        node = place.daemon(*SMALL_OPTIONS, data=disk.path / "data")
        try:
            node.log_path = place.path / "small.log"
            api = node.start().api()
            old = [api.add(command=["/bin/true"], payload="x" * 60000, held=True)["id"]
                   for _ in range(100)]
            disk.fill()
            wait_for(lambda: refusal(api), 120, "adds are not refused")
            node.kill() # with a log that is not in the file yet
            node.spawn()
            wait_for(lambda: (node.data / "listen").exists() and alive(node), 120,
                     lambda: node.story("does not start on a full disk"))
            api = node.api()
            assert set(old) <= {job["id"] for job in api.all()}
            done = api.request("POST", "/operations", {"action": "rm", "q": "state:held"})
            assert done.status == 202, done
            wait_for(lambda: not [job for job in api.all() if job["state"] == "held"], 120,
                     lambda: node.story("nothing is removed"))
            wait_for(lambda: refusal(api) is None, 120, lambda: node.story("stays full"))
        finally:
            node.cleanup()


def alive(node):
    try:
        return node.api().request("GET", "/livez").status == 200
    except (NotSent, Broken):
        return False


def refusal(api):
    answer = api.request("POST", "/jobs", {"command": ["/bin/true"], "delay": 3600})
    return None if answer.status == 201 else answer


# --- a store that cannot be written ---------------------------------------------------

def test_a_store_that_is_locked_for_a_while_gets_everything_in_order(place):
    """Fault 25: the journal goes on alone; what the store missed comes later, in order."""
    node = place.daemon("--slots", "2").start()
    api = node.api()
    first = api.add(command=["/bin/true"], held=True)["id"]
    db = sqlite3.connect(node.data / "pawl.db", isolation_level=None, timeout=120)
    db.execute("BEGIN IMMEDIATE")
    ids = []
    for n in range(6): # each in a turn of its own, with claims and ends between
        ids.append(api.add(command=["/bin/sh", "-c", f"exit {65 if n % 2 else 0}"])["id"])
        time.sleep(0.1)
    wait_for(lambda: "store.failing" in node.log(), 120, "the store does not mind")
    ids.append(api.add(command=["/bin/true"])["id"])
    answer = node.api().request("GET", f"/jobs/{first}") # told while it is locked
    assert answer.status == 503 and answer.json()["code"] == "store_failing", answer
    db.execute("ROLLBACK")
    db.close()
    wait_for(lambda: api.request("GET", "/readyz").status == 200, 120, "it stays unready")
    for n, id in enumerate(ids):
        job = api.until(id)
        assert job["state"] == ("failed" if n % 2 and n < 6 else "done"), job
        assert job["attempt"] == 1
    assert api.job(first)["state"] == "held"
    assert "store.refused" not in node.log()
    node.restart()
    assert len(node.api().all()) == len(ids) + 1


@pytest.mark.parametrize("action", ["kill", "pause"])
def test_what_is_done_to_a_job_before_its_process_starts_is_not_lost(place, action):
    """The start waits for the store, which is slow; a signal must not overtake it."""
    mark, gate = place.path / "mark", place.path / "gate"
    node = place.daemon("--set", "scheduling.enabled=off").start()
    script = 'while [ ! -e "$1" ]; do sleep 0.02; done; echo >"$0"'
    id = node.api().add(command=["/bin/sh", "-c", script, str(mark), str(gate)],
                        payload="x" * 5000)["id"] # small ones come with the heads
    node.restart() # and nothing of the job is in memory
    api = node.api()
    api.until(id, "ready")
    db = sqlite3.connect(node.data / "pawl.db", isolation_level=None, timeout=120)
    db.execute("BEGIN IMMEDIATE")
    api.request("PATCH", "/config", {"enabled": True})
    wait_for(lambda: f"event=job.started job={id}" in node.log(), 120, "it is not claimed")
    asked = node.api()
    asked.conn.connect()
    asked.conn.request("POST", f"/api/v1/jobs/{id}/{action}")
    assert not node.jobs()
    time.sleep(0.2) # for the request to come through; if it comes later, less is proven
    db.execute("ROLLBACK")
    db.close()
    asked.conn.getresponse().read()
    api.until(id, "cancelled" if action == "kill" else "paused")
    if action == "pause":
        wait_for(lambda: stopped(f"PAWL_JOB_ID={id}"), message="it goes on")
    gate.touch()
    time.sleep(0.3) # many of its beats
    assert api.job(id)["state"] == ("cancelled" if action == "kill" else "paused")
    assert not mark.exists()
    if action == "pause":
        api.act(id, "resume")
        assert api.until(id)["state"] == "done" and mark.exists()


# --- damage in the journal ------------------------------------------------------------

def journal_files(node):
    return {path.name: path.read_bytes() for path in (node.data / "journal").iterdir()
            if path.is_file() and path.name != "lock"}


def journal_with_a_tail(place):
    """A stopped daemon whose journal has three records that its store has not, and the
    ids in them. (The store is put back to what it was before.)"""
    node = place.daemon("--set", "journal.segment=64K", "--set",
                        "scheduling.enabled=off").start()
    assert node.stop() == 0
    saved = place.path / "saved.db"
    shutil.copy(node.data / "pawl.db", saved)
    node.start()
    api = node.api()
    ids = [api.add(command=["/bin/true"], name=f"damage-mark-{n}")["id"] for n in range(3)]
    node.kill()
    for name in ("pawl.db-wal", "pawl.db-shm"):
        (node.data / name).unlink(missing_ok=True)
    shutil.copy(saved, node.data / "pawl.db")
    return node, ids


def flip(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 0x01]))


def test_a_store_that_lost_its_last_minutes_gets_them_from_the_journal(place):
    node, ids = journal_with_a_tail(place)
    node.start()
    assert sorted(job["id"] for job in node.api().all()) == sorted(ids)


def test_damage_in_the_middle_stops_the_start_with_its_place(place):
    """Nothing is deleted, and nothing is lost when the damage is mended."""
    node, ids = journal_with_a_tail(place)
    name, content = next((name, bytes_) for name, bytes_ in journal_files(node).items()
                         if b"damage-mark-1" in bytes_)
    offset = content.index(b"damage-mark-1")
    path = node.data / "journal" / name
    flip(path, offset)
    before = journal_files(node)

    node.spawn()
    assert node.process.wait(120) not in (0, None)
    said = node.tail()
    assert name in said, said
    assert any(word.isdigit() and abs(int(word) - offset) < 4096
               for word in said.replace(".", " ").replace(",", " ").split()), said
    assert journal_files(node) == before

    flip(path, offset)
    node.start()
    assert sorted(job["id"] for job in node.api().all()) == sorted(ids)


def test_a_torn_tail_is_cut_and_the_rest_is_kept(place):
    """What a crash leaves behind the last whole record: part of another one."""
    node, ids = journal_with_a_tail(place)
    name, content = next((name, bytes_) for name, bytes_ in journal_files(node).items()
                         if b"damage-mark-2" in bytes_)
    end = len(content.rstrip(b"\0"))
    with open(node.data / "journal" / name, "r+b") as file:
        file.seek(end)
        file.write(b"#:Batch date=2026-01-01T00:00:00.000Z,bytes=400,jobtype=x\nhalf a line")
    node.start()
    assert sorted(job["id"] for job in node.api().all()) == sorted(ids)


def test_another_journal_under_the_same_store_is_refused(place):
    """Fault 30: a journal that is gone or replaced is noticed, not taken for empty."""
    node = place.daemon("--set", "scheduling.enabled=off").start()
    api = node.api()
    api.job(api.add(command=["/bin/true"])["id"]) # seen: the store has read so far
    node.kill()
    shutil.move(str(node.data / "journal"), str(place.path / "elsewhere"))
    (node.data / "journal").mkdir(mode=0o700)
    node.spawn()
    assert node.process.wait(120) not in (0, None), node.tail()
    assert "journal" in node.tail()
    shutil.rmtree(node.data / "journal")
    shutil.move(str(place.path / "elsewhere"), str(node.data / "journal"))
    node.start()
    assert len(node.api().all()) == 1


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_damaged_database_is_refused(place):
    """Fault 23: and left as it is."""
    node = place.daemon().start()
    api = node.api()
    for n in range(20):
        api.add(command=["/bin/true"], delay=3600, name=f"n{n}")
    assert node.stop() == 0
    path = node.data / "pawl.db"
    with open(path, "r+b") as file:
        file.write(b"this was a database once")
    before = digest(path)
    node.spawn()
    assert node.process.wait(120) not in (0, None)
    assert "pawl.db" in node.tail()
    assert digest(path) == before
