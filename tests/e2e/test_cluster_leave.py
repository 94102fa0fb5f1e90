# SPDX-License-Identifier: Apache-2.0
"""test_cluster_leave - a node that is told to stop: the others do not wait for its lease."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for      # noqa: E402
from lib.cluster import Cluster # noqa: E402
from lib.daemon import Place     # noqa: E402
from lib.nodes import sysid_of   # noqa: E402

PATIENCE = 180 # seconds; a busy machine, sanitizers


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster(server):
    """Two nodes with one slot each, and leases that outlast every test."""
    with Place() as place, Cluster(server.database("leave"), place.path, 2, "--slots", "1",
                                   lease="1h") as nodes:
        nodes.path = place.path
        yield nodes.start()


def until_file(path):
    return ["sh", "-c", f"while [ ! -e {path} ]; do sleep 0.1; done"]


def test_a_node_that_stops_with_nothing_running_leaves_all_to_the_others(cluster):
    """What waits for its time, for a handler or for a release is another's at once."""
    first, second = cluster.daemons
    api, other = first.api(PATIENCE), second.api(PATIENCE)
    later = api.add(command=["true"], delay="PT8S")["id"]
    blocked = api.add(type="unknown_yet")["id"]
    held = api.add(command=["true"], held=True)["id"]
    first.stop()
    assert "event=node.left" in first.log()
    try:
        assert other.until(later, seconds=PATIENCE)["state"] == "done"
        answer = other.request("PUT", "/handlers/unknown_yet", {"lang": "sh", "body": "true"})
        assert answer.status == 201, answer
        assert other.until(blocked, seconds=PATIENCE)["state"] == "done"
        wait_for(lambda: other.request("POST", f"/jobs/{held}/release").status == 200, PATIENCE)
        assert other.until(held, seconds=PATIENCE)["state"] == "done"
    finally:
        first.start()
    again = first.api(PATIENCE)
    id = again.add(command=["true"])["id"]
    assert again.until(id, seconds=PATIENCE)["state"] == "done"
    alerts = other.get("/alerts")["items"]
    assert not alerts, alerts


def test_a_node_that_stops_keeps_what_runs_and_gives_away_what_waits(cluster):
    """The running job goes on and is the node's own again after a restart."""
    first, second = cluster.daemons
    api, other = first.api(PATIENCE), second.api(PATIENCE)
    here, there = cluster.path / "here", cluster.path / "there"
    busy = other.add(command=until_file(there))["id"]
    runs = api.add(command=until_file(here))["id"]
    for id in (busy, runs):
        other.until(id, {"running"}, seconds=PATIENCE)
    ran_at = other.job(runs)["node"]
    leaving, staying = (first, second) if ran_at == sysid_of(first) else (second, first)
    api, other = leaving.api(PATIENCE), staying.api(PATIENCE)
    waits = [api.add(command=["true"])["id"] for _ in range(5)]
    leaving.stop()
    try:
        there.touch()
        for id in waits:
            job = other.until(id, seconds=PATIENCE)
            assert job["state"] == "done" and job["node"] == sysid_of(staying), job
        assert other.job(runs)["state"] == "running"
    finally:
        leaving.start()
    here.touch()
    job = leaving.api(PATIENCE).until(runs, seconds=PATIENCE)
    assert job["state"] == "done" and job["attempt"] == 1, job
