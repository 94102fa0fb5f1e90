# SPDX-License-Identifier: Apache-2.0
"""Signals of document 004 to processors of any node of one PostgreSQL store."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for  # noqa: E402
from lib.nodes import COPY, PATIENCE, Nodes, Patient, pawl  # noqa: E402
from lib.processor import Processor  # noqa: E402


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
    made = Patient(first).api().request("PUT", f"/processors/all@{nodes.sysids[1]}",
                               {"command": COPY})
    assert made.status in (200, 201) and made.json()["node"] == nodes.sysids[1], made
    there = Processor(second, "all")
    assert there.status()["up"] # it is the second one's own now
    mine = Processor(first, "all")
    mine.create(COPY)
    wanted = {("all", nodes.sysids[0]), ("all", nodes.sysids[1])}
    for node in nodes.daemons:
        wait_for(lambda n=node: wanted <= {key for key, item in listed(n).items()
                                           if item["up"]}, PATIENCE)
    identity = Processor(Patient(third), f"all@{nodes.sysids[1]}").signal("identify")["id"]
    assert identity == f"{nodes.sysids[1]}:all"
    by_id = Processor(Patient(third), identity)
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
        answer = Patient(first).api().request("GET", f"/processors/{address}")
        assert (answer.status, answer.json()["code"]) == (404, problem), answer


def test_a_unit_is_processed_from_another_node(nodes):
    """S4.50, S4.51, S4.52: starting, in progress, already done; and waiting for it."""
    first, second, _ = nodes.daemons
    gate = nodes.place.path / "gate"
    there = Processor(second, "gated")
    there.create(f'until [ -e {gate} ]; do sleep 0.05; done; {COPY}')
    there.signal("stop-monitor")
    there.put("u")
    far = Processor(Patient(first), f"gated@{nodes.sysids[1]}")
    assert far.unit("u") == "have-input"
    assert far.signal("process", "u")["answer"] in ("starting", "in-progress")
    assert far.signal("process", "u")["answer"] == "in-progress"
    gate.touch()
    ended = far.signal("process", "u", wait="PT1M") # it may have ended before this comes
    assert "completed" in ended.values() or "already-done" in ended.values(), ended
    assert far.signal("process", "u")["answer"] == "already-done"
    assert far.signal("process", "none", status=404)["code"] == "unit_not_found"
    assert far.unit("u") == "completed" and there.where("u") == ["input/processed",
                                                                 "output/finished"]
    assert far.signal("purge", "u")["count"] >= 0 and there.where("u") == ["input/processed"]
    pawl(second, "processor", "destroy", "--yes", "gated")
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
