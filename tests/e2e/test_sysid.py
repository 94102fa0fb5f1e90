# SPDX-License-Identifier: Apache-2.0
"""Sysids: one owner per name and store, kept over crashes, noticed when lost."""
import contextlib
import pathlib
import re
import shutil
import sqlite3
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place               # noqa: E402

SECONDS = 120


@pytest.fixture
def place():
    with Place() as place:
        yield place


def reserved(store):
    """The sysids that the store says are taken."""
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True,
                                            timeout=120)) as db:
        return [key for key, in
                db.execute("SELECT key FROM definition WHERE kind = 'sysid'")]


def sysid_of(node):
    text = (node.data / "identity").read_text()
    return re.search(r"sysid=(\S+)", text).group(1)


def copy(node, to):
    """Of the data directory, when nobody changes it any more."""
    wait_for(lambda: not node.launcher(), SECONDS, "the launcher does not leave")
    shutil.copytree(node.data, to, symlinks=True,
                    ignore=lambda _, names: [n for n in names if n.endswith(".sock")])


def test_a_copy_of_the_data_directory_is_refused(place):
    """S2.33, S2.106, S2.108, S2.29: one daemon per sysid and store; a crash keeps the
    name for its own directory, a clean stop gives it back."""
    store = place.path / "shared.db"
    first = place.daemon("--store", f"sqlite:{store}", data=place.path / "one").start()
    first.kill()
    copy(first, place.path / "two")
    second = place.daemon("--store", f"sqlite:{store}", data=place.path / "two")
    assert second.spawn().process.wait(SECONDS) == 1  # no one runs, but it is another's
    assert f"the sysid {sysid_of(first)} is in use on this store" in second.log()
    first.start()  # at once: it is its own
    assert second.spawn().process.wait(SECONDS) == 1
    assert "only one may own it" in second.log()
    assert first.api().request("GET", "/readyz").status == 200
    done = first.api().until(first.api().add(command=["true"])["id"], seconds=SECONDS)
    assert done["state"] == "done" and done["node"] == sysid_of(first)
    assert reserved(store) == [sysid_of(first)]  # S2.109: in the store, by its name
    assert first.stop() == 0
    assert reserved(store) == []


def test_two_daemons_of_two_stores_may_have_one_sysid(place):
    """S2.34: a sysid tells owners apart in one store, nowhere else."""
    first = place.daemon(data=place.path / "one").start()
    first.kill()  # its reservation stands in the store, which is copied with it
    copy(first, place.path / "two")
    first.start()
    second = place.daemon(data=place.path / "two").start()
    assert sysid_of(first) == sysid_of(second)
    for node in (first, second):
        job = node.api().until(node.api().add(command=["true"])["id"], seconds=SECONDS)
        assert job["node"] == sysid_of(node)


def test_a_daemon_that_lost_its_sysid_takes_no_more_work(place):
    """S2.105, S2.107: it looks after its name, and stops when another has it."""
    node = place.daemon("--set", "scheduling.lease=3s").start()
    api = node.api()
    running = api.add(command=["sleep", "600"])["id"]
    api.until(running, "running", seconds=SECONDS)
    with contextlib.closing(sqlite3.connect(node.data / "pawl.db", timeout=120)) as db:
        assert db.execute("DELETE FROM definition WHERE kind = 'sysid'").rowcount == 1
        db.commit()
    wait_for(lambda: "event=daemon.sysid_lost" in node.log(), SECONDS, node.tail)
    answer = api.request("GET", "/readyz")
    assert answer.status == 503 and b"sysid_lost" in answer.body, answer
    refused = api.request("POST", "/jobs", {"command": ["true"]})
    assert refused.status == 503, refused
    assert api.job(running)["state"] == "running"  # what runs goes on
    api.act(running, "kill")


def test_the_owner_renews_the_locks_of_what_runs(place):
    """S2.123, S2.24: running jobs are known, and their lock's dt moves on."""
    node = place.daemon("--set", "scheduling.lease=3s").start()
    api = node.api()
    id = api.add(command=["sleep", "600"])["id"]
    first = api.until(id, "running", seconds=SECONDS)
    running = api.get(f"/nodes/{sysid_of(node)}")["running"]
    assert [job["id"] for job in running] == [id]
    wait_for(lambda: api.job(id)["dt"] > first["dt"], SECONDS)
    assert api.job(id)["lock"] == sysid_of(node) and api.job(id)["attempt"] == 1
    api.act(id, "kill")
