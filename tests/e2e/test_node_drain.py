# SPDX-License-Identifier: Apache-2.0
"""test_node_drain - the nodes of a store: shown by any of them, drained and resumed through any
of them, alone and on a PostgreSQL store that two share."""
import json
import os
import pathlib
import socket
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for              # noqa: E402
from lib.cluster import Cluster   # noqa: E402
from lib.daemon import Place, program     # noqa: E402

SECONDS = 90


@pytest.fixture(name="place")
def fixture_place():
    with Place() as place:
        yield place


def pawl(node, *words, code=0):
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith("PAWL_")}
    done = subprocess.run([program(), *words, "--server", f"unix:{node.socket()}"], env=clean,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == code, done
    return done


def ready(node):
    return node.api().request("GET", "/readyz").status


def test_a_node_alone_is_drained_and_resumed(place):
    """It finishes what runs, takes jobs and starts none; explain says so, the audit who."""
    node = place.daemon("--slots", "2").start()
    api = node.api()
    gate = place.path / "gate"
    running = api.add(command=["sh", "-c", f"until [ -e {gate} ]; do sleep 0.05; done"])["id"]
    api.until(running, {"running"})
    [shown] = json.loads(pawl(node, "node", "ls", "--json").stdout)["items"]
    assert shown["state"] == "up" and shown["slots_used"] == 1 and shown["drain"] is None
    assert shown["host"] == socket.gethostname() and shown["lease_left_ms"] is None
    out = pawl(node, "node", "drain", "self", "--reason", "new disk").stdout
    assert "draining" in out and "new disk" in out
    assert ready(node) == 503
    waiting = api.add(command=["true"])["id"]
    told = api.get(f"/jobs/{waiting}/explain")
    assert told["reason"] == "draining" and told["help"] == f"pawl node resume {shown['sysid']}"
    node.kill() # it is so after a restart, too
    node.spawn()
    wait_for(lambda: (node.data / "listen").exists() and ready(node) == 503, SECONDS, node.tail)
    assert json.loads(pawl(node, "node", "show", shown["sysid"][:6], "--json").stdout)["drain"]
    pawl(node, "node", "drain", "self", "--wait", "--timeout", "0.2s", code=124)
    gate.touch()
    pawl(node, "node", "drain", "self", "--wait")
    api = node.api()
    assert api.job(running)["state"] == "done" and api.job(waiting)["state"] == "ready"
    pawl(node, "node", "resume", shown["sysid"])
    assert ready(node) == 200
    assert api.until(waiting)["state"] == "done"
    rows = api.get("/audit?kind=node_drain")["items"]
    assert [(row["action"], row["target"]) for row in rows] == \
        [("delete", shown["sysid"]), ("put", shown["sysid"])]
    assert rows[1]["after"]["reason"] == "new disk"
    pawl(node, "node", "drain", "nobody", code=3)
    assert api.request("POST", "/nodes/nobody/drain").json()["code"] == "node_not_found"
    assert api.request("POST", f"/nodes/{shown['sysid']}/drain", {"why": 1}).status == 422


def test_nodes_of_a_shared_store_are_told_through_each_other(place, server):
    """S2.33, S1.2: every node shows all of them; one is drained through the other, gives away
    what waits, and is so after a restart until it is resumed."""
    with Cluster(server.database("nodes"), place.path, 2, "--slots", "2") as nodes:
        first, second = nodes.start().daemons
        api, other = first.api(SECONDS), second.api(SECONDS)
        for one in (api, other): # by both alike, the two of them, one with the duties
            items = wait_for(lambda: two_up(one.get("/nodes")["items"]), SECONDS)
            assert len({item["sysid"] for item in items}) == 2
            assert all(item["lease_left_ms"] > 0 and item["epoch"] >= 1 for item in items)
        theirs = next(item["sysid"] for item in api.get("/nodes")["items"] if "data" not in item)
        wait_for(lambda: api.get(f"/nodes/{theirs}")["listen"] == "%s:%d" % second.address(),
                 SECONDS)
        running = other.add(command=["sleep", "600"])["id"]
        other.until(running, {"running"}, SECONDS)
        wait_for(lambda: [job["id"] for job in api.get(f"/nodes/{theirs}")["running"]] == [running],
                 SECONDS)

        pawl(first, "node", "drain", theirs)
        wait_for(lambda: ready(second) == 503, SECONDS)
        assert api.get(f"/nodes/{theirs}")["state"] == "draining"
        ids = [other.add(command=["true"])["id"] for _ in range(6)] # taken, and given away
        for id in ids:
            assert other.until(id, seconds=SECONDS)["node"] != theirs
        assert other.job(running)["state"] == "running"

        second.stop(60)
        second.spawn()
        wait_for(lambda: (second.data / "listen").exists() and ready(second) == 503, SECONDS,
                 second.tail)
        assert api.request("PATCH", f"/nodes/{theirs}", {"slots": 7}).status == 200
        answer = api.request("POST", f"/nodes/{theirs}/resume")
        assert answer.status in (200, 202), answer
        wait_for(lambda: ready(second) == 200, SECONDS, second.tail)
        wait_for(lambda: api.get(f"/nodes/{theirs}")["slots"] == 7, SECONDS)
        assert len(api.get("/audit?kind=node_drain")["items"]) == 2


def two_up(items):
    states = [item["state"] for item in items]
    duties = [item["controller"] for item in items]
    return items if states == ["up", "up"] and sorted(duties) == [False, True] else None
