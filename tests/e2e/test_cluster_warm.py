# SPDX-License-Identifier: Apache-2.0
"""test_cluster_warm - handlers with warm contexts on several nodes of one store."""
import pathlib
import signal
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for      # noqa: E402
from lib.cluster import Cluster, STEADY # noqa: E402
from lib.daemon import Place, alive # noqa: E402
from lib.nodes import sysid_of   # noqa: E402

PATIENCE = 180 # seconds; a lease, a busy machine, sanitizers
LEASE = "10s"  # between the end of what runs and its own lies a tenth of it

# Each run leaves a file with the pid of its context as name, and in it those of earlier
# contexts that live.
SLOW = """
import os, time
def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
own = str(os.getpid())
others = [pid for pid in os.listdir(payload) if pid.isdigit() and pid != own and lives(pid)]
with open(f"{payload}/{own}.new", "w") as file:
    file.write(" ".join(others))
os.rename(f"{payload}/{own}.new", f"{payload}/{own}")
while not os.path.exists(payload + "/go"):
    time.sleep(0.05)
return "done"
"""


@pytest.fixture(name="place")
def fixture_place():
    with Place() as place:
        yield place


def define(api, name, body):
    answer = api.request("PUT", f"/handlers/{name}", {"lang": "python", "body": body})
    assert answer.status == 201, answer


def contexts(marks):
    """Pid of each context that has begun the job: those that lived then."""
    return {int(path.name): path.read_text() for path in marks.iterdir() if path.name.isdigit()}


def stop_in_the_middle(nodes, marks):
    """Stops the daemon whose context runs the job; returns it and the context's pid."""
    for _ in range(20):
        wait_for(lambda: any(map(alive, contexts(marks))), PATIENCE)
        for node in nodes.daemons:
            for pid in set(contexts(marks)) & set(node.jobs()):
                node.process.send_signal(signal.SIGSTOP)
                if alive(pid):
                    return node, pid
                node.process.send_signal(signal.SIGCONT) # its lease had lapsed before
    raise AssertionError("no context stays alive")


def test_a_warm_context_ends_with_the_lease_of_its_node(server, place):
    """A daemon sleeps longer than its lease: what its context had is run by a context of
    another node, when the first one runs no more. The job is not charged with it."""
    nodes = Cluster(server.database("lease"), place.path, 2, "--slots", "1", lease=LEASE)
    marks = place.path / "marks"
    marks.mkdir()
    try:
        api = nodes.start().daemons[0].api()
        define(api, "slow", SLOW)
        id = api.add_soon(type="slow", payload=str(marks), max_retries=0)["id"]
        asleep, first = stop_in_the_middle(nodes, marks)
        [other] = [node for node in nodes.daemons if node != asleep]
        before = set(contexts(marks))
        [second, *_] = wait_for(lambda: set(contexts(marks)) - before, PATIENCE, other.tail)
        assert not alive(first)
        assert second not in asleep.jobs()
        assert not any(contexts(marks).values()), contexts(marks)
        (marks / "go").touch()
        job = other.api().until(id, seconds=PATIENCE)
        assert job["state"] == "done", job
        asleep.process.send_signal(signal.SIGCONT)
        asleep.wait_ready(PATIENCE)
        assert asleep.api().until(id, seconds=PATIENCE)["attempt"] == job["attempt"]
    finally:
        nodes.close()


def test_a_warm_handler_of_one_node_runs_at_all(server, place):
    """S2.29: a handler that was defined at one node has contexts at each."""
    nodes = Cluster(server.database("all"), place.path, 2, "--slots", "2", lease=STEADY)
    try:
        apis = [node.api() for node in nodes.start().daemons]
        define(apis[0], "whose", "import os\nreturn os.environ['PAWL_NODE']")
        for node, api in zip(nodes.daemons, apis):
            wait_for(lambda api=api: api.request("GET", "/handlers/whose").status == 200,
                     PATIENCE)
            job = api.until(api.add(type="whose", payload="")["id"], seconds=PATIENCE)
            assert (job["state"], job["node"]) == ("done", sysid_of(node)), job
    finally:
        nodes.close()
