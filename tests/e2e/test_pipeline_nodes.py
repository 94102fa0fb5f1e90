# SPDX-License-Identifier: Apache-2.0
"""Processors and brokers of document 004 over several nodes of one PostgreSQL store."""
import collections
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for             # noqa: E402
from lib.cluster import Cluster, Server  # noqa: E402
from lib.daemon import Place, program    # noqa: E402
from lib.processor import Processor      # noqa: E402

PATIENCE = 90 # seconds; a lease, a busy machine, sanitizers
LEASE = "8s" # a node that only waits for its turn on a busy machine keeps it
COPY = 'cp -r "$PAWL_INPUT" "$PAWL_OUTPUT"'


@pytest.fixture(name="server", scope="module")
def fixture_server():
    server = Server()
    try:
        yield server.start()
    finally:
        server.remove()


class Nodes:
    """Three daemons on one store; a test may start them one by one."""

    def __init__(self, server, name):
        self.place = Place()
        self.cluster = Cluster(server.database(name), self.place.path, 3, "--slots", "4",
                               "--set", "daemon.grace=500ms", "--set",
                               f"scheduling.lease={LEASE}")
        self.daemons = self.cluster.daemons

    def start(self):
        self.cluster.start()
        for daemon in self.daemons:
            for sysid in self.sysids:
                wait_for(lambda d=daemon, s=sysid: knows(d, s), PATIENCE)
        return self

    @property
    def sysids(self):
        return [sysid_of(daemon) for daemon in self.daemons]

    def close(self):
        self.cluster.close()
        self.place.__exit__(None, None, None)


def knows(daemon, sysid):
    """Whether it can write to the node."""
    answer = daemon.api().request("GET", f"/processors/none@{sysid}")
    return answer.json()["code"] == "processor_not_found"


def pawl(node, *words):
    done = subprocess.run([program(), *words, "--server", "unix:" + node.socket()],
                          capture_output=True, timeout=120, check=False,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done
    return done.stdout.decode()


def sysid_of(daemon):
    text = (daemon.data / "identity").read_text()
    return dict(line.split("=", 1) for line in text.splitlines())["sysid"]


@pytest.fixture(name="nodes", scope="module")
def fixture_nodes(server):
    nodes = Nodes(server, "signals")
    try:
        yield nodes.start()
    finally:
        nodes.close()


def listed(node):
    return {(item["name"], item["node"]): item
            for item in node.api().get("/processors")["items"]}


def test_any_node_starts_lists_and_signals_the_processors_of_all(nodes):
    """S4.84, S4.85, S4.54, S4.55, S4.56, S4.66: by NAME@NODE and by id, from any node."""
    first, second, third = nodes.daemons
    made = first.api().request("PUT", f"/processors/all@{nodes.sysids[1]}",
                               {"command": COPY})
    assert made.status == 201 and made.json()["node"] == nodes.sysids[1], made
    there = Processor(second, "all")
    assert there.status()["up"] # it is the second one's own now
    mine = Processor(first, "all")
    mine.create(COPY)
    wanted = {("all", nodes.sysids[0]), ("all", nodes.sysids[1])}
    for node in nodes.daemons:
        wait_for(lambda n=node: wanted <= {key for key, item in listed(n).items()
                                           if item["up"]}, PATIENCE)
    identity = Processor(third, f"all@{nodes.sysids[1]}").signal("identify")["id"]
    assert identity == f"{nodes.sysids[1]}:all"
    by_id = Processor(third, identity)
    assert by_id.status()["directory"] == str(there.dir.resolve())
    assert by_id.signal("stop-monitor")["processing"] is False
    assert there.status()["processing"] is False and mine.status()["processing"] is True
    out = pawl(third, "processor", "start-monitor", "--all")
    for sysid in nodes.sysids[:2]:
        assert f"all@{sysid} start-monitor" in out
    assert there.status()["processing"] is True
    assert nodes.sysids[1] in pawl(first, "processor", "ls")
    for address, problem in (("all@nowhere", "node_not_found"),
                             (f"none@{nodes.sysids[1]}", "processor_not_found")):
        answer = first.api().request("GET", f"/processors/{address}")
        assert (answer.status, answer.json()["code"]) == (404, problem), answer


def test_a_unit_is_processed_from_another_node(nodes):
    """S4.50, S4.51, S4.52: starting, in progress, already done; and waiting for it."""
    first, second, _ = nodes.daemons
    gate = nodes.place.path / "gate"
    there = Processor(second, "gated")
    there.create(f'until [ -e {gate} ]; do sleep 0.05; done; {COPY}')
    there.signal("stop-monitor")
    there.put("u")
    far = Processor(first, f"gated@{nodes.sysids[1]}")
    assert far.unit("u") == "have-input"
    assert far.signal("process", "u")["answer"] == "starting"
    assert far.signal("process", "u")["answer"] == "in-progress"
    gate.touch()
    ended = far.signal("process", "u", wait="PT1M") # it may have ended before this comes
    assert "completed" in ended.values() or "already-done" in ended.values(), ended
    assert far.signal("process", "u")["answer"] == "already-done"
    assert far.signal("process", "none", status=404)["code"] == "unit_not_found"
    assert far.unit("u") == "completed" and there.where("u") == ["input/processed",
                                                                 "output/finished"]
    far.signal("destroy", confirm=f"gated@{nodes.sysids[1]}")
    assert not there.dir.exists()
    wait_for(lambda: ("gated", nodes.sysids[1]) not in listed(first), PATIENCE)


def test_a_next_signal_outlives_the_death_of_either_side(nodes):
    """S4.53, S4.57, S4.58: kill -9 of the receiver, then of the sender: it arrives."""
    first, second, third = nodes.daemons
    sender, receiver = Processor(first, "before"), Processor(second, "behind")
    sender.create("true")
    receiver.create(COPY)
    receiver.signal("stop-monitor")
    receiver.put("u")
    sender.put("u")
    second.kill()
    assert sender.signal("process", "u", next=f"behind@{nodes.sysids[1]}")["answer"] in (
        "starting", "in-progress", "already-done")
    sender.until("input/processed", "u")
    # In the store: what only the journal of a dead node has waits for it.
    wait_for(lambda: third.api().get("/jobs?queue=signals")["items"], PATIENCE)
    first.kill()
    first.kill_launcher()
    first.kill_jobs()
    second.start()
    receiver.until("input/processed", "u")
    first.start()
    assert sender.unit("u") == "completed"


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
    first, second, _ = nodes.daemons
    first.options += ["--config", str(place.path / "pawl.yaml")]
    first.start()
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
    assert first.api().get("/processors")["brokers"][0]["divided_total"] == 40
    down = [item for item in first.api().get("/processors")["items"] if not item["up"]]
    assert [item["node"] for item in down] == [sysids[0]]
    assert "does not answer" in down[0]["problems"][0]["problem"]
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
    for unit in units:
        ran = (place.path / "ran" / unit).read_text().split()
        assert len(ran) == 1, (unit, ran)


def held(worker):
    return worker.bucket("input/work") | worker.bucket("input/active")
