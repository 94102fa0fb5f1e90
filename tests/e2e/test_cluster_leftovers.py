# SPDX-License-Identifier: Apache-2.0
"""test_cluster_leftovers - no disk keeps what jobs left that are gone, whoever removed them."""
import os
import pathlib
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for                      # noqa: E402
from lib.cluster import LEASE, Cluster            # noqa: E402
from lib.daemon import Place, files_below         # noqa: E402
from lib.nodes import Patient, fenced, sysid_of   # noqa: E402

PATIENCE = 180 # seconds; a busy machine, sanitizers
HOURS = 7200   # what changed within one hour is let alone


@pytest.fixture(name="place")
def fixture_place():
    with Place() as place:
        yield place


def left(node, id):
    return [path for folder in ("logs", "state", "files")
            for path in (node.data / folder).rglob(f"{id}*")]


def run_at(cluster, node):
    """A job that runs there, and leaves something of each kind."""
    for daemon in cluster.daemons:
        action = "resume" if daemon is node else "drain"
        Patient(node).api().patient("POST", f"/nodes/{sysid_of(daemon)}/{action}")
    for daemon in cluster.daemons:
        wait_for(lambda d=daemon: d.api(PATIENCE).get(f"/nodes/{sysid_of(d)}")["draining"]
                 is (d is not node), PATIENCE)
    api = node.api(PATIENCE)
    id = api.add(command=["sh", "-c", "echo out; echo err >&2; echo x >$PAWL_STATE_DIR/x;"
                          " echo x >$PAWL_FILES_DIR/x"], keep_state=True, files=True)["id"]
    job = api.until(id, seconds=PATIENCE)
    assert (job["state"], job["node"]) == ("done", sysid_of(node)), job
    assert len([path for path in left(node, id) if path.parent.name != id]) == 4
    return id


def let_work(node):
    Patient(node).api().patient("POST", f"/nodes/{sysid_of(node)}/resume")


def let_age(node, id):
    for path in left(node, id):
        os.utime(path, (time.time() - HOURS,) * 2)


def test_what_is_purged_is_gone_on_the_disk_of_the_node_that_ran_it(server, place):
    """One node has the duties; jobs ran on both."""
    cluster = Cluster(server.database("purge"), place.path, 2, "--slots", "2")
    try:
        cluster.start()
        ids = [(node, run_at(cluster, node)) for node in cluster.daemons]
        let_work(cluster.daemons[0])
        for node in cluster.daemons: # who has the duties looks at once
            node.options += ["--set", "scheduling.keep_done=0s"]
            node.restart()
        for node, id in ids:
            wait_for(lambda n=node, i=id: not left(n, i), PATIENCE, lambda: f"{left(node, id)}")
    finally:
        cluster.close()


def test_a_node_that_was_away_hears_of_it_when_it_is_back(server, place):
    """It was fenced: no letter reaches it. What is not gone, or has just changed, stays."""
    url = server.database("away")
    cluster = Cluster(url, place.path, 2, "--slots", "2", lease=LEASE)
    try:
        first, second = cluster.start().daemons
        kept, gone, young = (run_at(cluster, second) for _ in range(3))
        let_work(first)
        second.kill()
        api = Patient(first).api()
        wait_for(lambda: fenced(url, second), PATIENCE, first.tail)
        for id in (gone, young):
            api.patient("DELETE", f"/jobs/{id}")
            assert left(second, id)
            assert first.api(PATIENCE).request("GET", f"/jobs/{id}").status == 404
        first.kill() # with the letters that it has not sent yet
        for id in (kept, gone):
            let_age(second, id)
        second.start()
        wait_for(lambda: "leftovers.removed names=4" in second.tail(1000), PATIENCE,
                 second.tail)
        wait_for(lambda: not left(second, gone), PATIENCE)
        assert len([path for path in left(second, kept) if path.parent.name != kept]) == 4
        assert left(second, young)
    finally:
        cluster.close()


def test_a_daemon_that_died_in_between_clears_up(place):
    """Alone, too: a log of a job that the store has never had."""
    node = place.daemon("--slots", "1").start()
    api = node.api()
    id = api.add(command=["echo", "kept"])["id"]
    api.until(id, seconds=PATIENCE)
    path = files_below(node.data / "logs", id)[0]
    stray = path.with_name(path.name.replace(id, id[:-2] + "zz"))
    stray.write_text("of no job")
    for each in (path, stray):
        os.utime(each, (time.time() - HOURS,) * 2)
    node.restart()
    wait_for(lambda: not stray.exists(), PATIENCE)
    assert path.exists()
