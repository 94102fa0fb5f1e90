# SPDX-License-Identifier: Apache-2.0
"""Brokers of document 004 over several nodes of one PostgreSQL store."""
import collections
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for  # noqa: E402
from lib.nodes import COPY, PATIENCE, Nodes, held, knows, sysid_of  # noqa: E402
from lib.processor import Processor  # noqa: E402


@pytest.fixture(name="three")
def fixture_three(server):
    nodes = Nodes(server, "division")
    try:
        yield nodes
    finally:
        nodes.close()


def test_what_a_dead_node_held_is_divided_anew_once(three):
    """S4.86: three nodes share the units; one is killed with units in work and active, and
    the others get those once its lease is over; whatever comes back, none is done twice."""
    nodes, place = three, three.place
    (place.path / "in").mkdir()
    (place.path / "ran").mkdir()
    gate = place.path / "gate"
    done = f"echo $PAWL_NODE >> {place.path}/ran/$PAWL_UNIT; {COPY}"
    sysids = []
    for daemon in nodes.daemons[1:]:
        daemon.start()
        sysids.append(sysid_of(daemon))
    slow = f"until [ -e {gate} ]; do sleep 0.05; done; {done}"
    for daemon, command in zip(nodes.daemons[1:], (slow, done)):
        Processor(daemon, "w").create(command)
    (place.path / "pawl.yaml").write_text(
        "processors:\n  - name: w\n    command: |\n      " + done + "\nbrokers:\n"
        f"  - {{ name: split, from: {place.path}/in, mode: round-robin,\n"
        f"      to: [w, 'w@{sysids[0]}', 'w@{sysids[1]}'] }}\n")
    first, second, third = nodes.daemons
    first.options += ["--config", str(place.path / "pawl.yaml")]
    first.start()
    for sysid in sysids: # else the first units would be given to those that it knows
        wait_for(lambda s=sysid: knows(first, s), PATIENCE)
    units = [f"u{n}" for n in range(30)]
    for unit in units:
        (place.path / "ready").write_text(unit)
        os.rename(place.path / "ready", place.path / "in" / unit)
    workers = [Processor(daemon, "w") for daemon in nodes.daemons]
    # All are divided, a third to each; the second one holds what it has.
    wait_for(lambda: not os.listdir(place.path / "in") and len(held(workers[1])) == 10 and
             workers[1].bucket("input/active"), PATIENCE,
             lambda: f"{[w.picture() for w in workers]}")
    lost = held(workers[1])
    second.kill()
    second.kill_launcher()
    second.kill_jobs()
    living = (workers[0], workers[2])
    wait_for(lambda: set(units) == workers[0].bucket("input/processed") |
             workers[2].bucket("input/processed"), PATIENCE,
             lambda: f"{lost} {held(workers[1])} {[w.picture() for w in living]}")
    assert not held(workers[1])
    assert "broker.retaken" in first.log()
    [gone] = [item for item in first.api().get("/processors")["items"]
              if item["node"] == sysids[0]]
    assert not gone["up"] and "does not answer" in gone["problems"][0]["problem"]
    # The dead one returns: what it held is no longer its own, and nothing runs again.
    gate.touch()
    second.start()
    Processor(second, "w").put("last")
    workers[1].until("input/processed", "last")
    ends = collections.Counter()
    for worker in workers:
        ends.update(worker.bucket("input/processed"))
        for bucket in ("receive", "work", "active", "failed"):
            assert not {n for n in worker.bucket(f"input/{bucket}") if n != ".arrived"}
    assert ends == collections.Counter([*units, "last"])
    # A living node that lost its lease on a machine that stood still is another story.
    if any("event=node.fenced" in daemon.log() for daemon in (first, third)):
        return
    assert first.api().get("/processors")["brokers"][0]["divided_total"] == 40
    for unit in units:
        ran = (place.path / "ran" / unit).read_text().split()
        assert len(ran) == 1, (unit, ran)


def may_unshare():
    """Whether this user can give a process its own view of the file systems."""
    return os.geteuid() == 0 and shutil.which("rsync") and subprocess.run(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", "mount -t tmpfs none /mnt"],
        capture_output=True, stdin=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.skipif(not may_unshare(), reason="needs root, rsync and mount namespaces")
def test_a_directory_that_cannot_be_seen_is_reached_by_its_address(server):
    """S4.15, S4.16, S4.86: as on another machine, by rsync to what its node has published."""
    nodes = Nodes(server, "address")
    try:
        first, second, _ = nodes.daemons
        path = nodes.place.path
        second.start()
        there = Processor(second, "w")
        there.create(COPY)
        # The broker's node sees an empty folder there; its ssh leads out of that view.
        first.prefix = ["unshare", "-m", "--propagation", "private", "sh", "-c",
                        f'mount -t tmpfs none {second.data}/processors && exec "$@"', "sh"]
        (path / "ssh").write_text("#!/bin/sh\nshift\n"
                                  f'exec nsenter -t {os.getpid()} -m -- sh -c "$*"\n')
        (path / "ssh").chmod(0o755)
        (path / "in").mkdir()
        (path / "pawl.yaml").write_text(
            f"brokers:\n  - {{ name: split, from: {path}/in, mode: hash, ssh: {path}/ssh,\n"
            f"      to: ['w@{sysid_of(second)}'] }}\n")
        first.options += ["--config", str(path / "pawl.yaml")]
        first.start()
        for name in ("a", "b c"):
            (path / "ready").mkdir()
            (path / "ready" / "data").write_text(name)
            os.rename(path / "ready", path / "in" / name)
        there.until("output/finished", "a", "b c")
        wait_for(lambda: not os.listdir(path / "in"), PATIENCE, first.tail)
        assert (there.dir / "output/finished/b c/data").read_text() == "b c"
        wait_for(lambda: "done" in {job["state"] for job in first.api().get(
            "/jobs?queue=forward:broker:split")["items"]}, PATIENCE, first.tail)
    finally:
        nodes.close()
