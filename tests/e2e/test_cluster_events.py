# SPDX-License-Identifier: Apache-2.0
"""test_cluster_events - what happens on any node of a cluster is heard at every other."""
import json
import pathlib
import subprocess
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for                  # noqa: E402
from lib.cluster import Cluster               # noqa: E402
from lib.daemon import Place, program         # noqa: E402
from lib.listener import Listener             # noqa: E402
from lib.nodes import knows, sysid_of         # noqa: E402

PATIENCE = 180 # seconds; a busy machine, sanitizers
LEASE = "8s"   # of nodes of which one is killed


@pytest.fixture(name="place")
def fixture_place():
    with Place() as place:
        yield place


def started(cluster):
    """All know of each other."""
    cluster.start()
    for daemon in cluster.daemons:
        for other in cluster.daemons:
            wait_for(lambda d=daemon, o=other: knows(d, sysid_of(o)), PATIENCE)
    return cluster


@pytest.fixture(name="nodes", scope="module")
def fixture_nodes(server):
    with Place() as place:
        cluster = Cluster(server.database("events"), place.path, 3, "--slots", "2")
        try:
            yield started(cluster).daemons
        finally:
            cluster.close()


def name():
    return "t" + uuid.uuid4().hex[:10]


def hold(node, tenant):
    """A job that only waits: one event, at the node that accepts it."""
    return node.api(PATIENCE).add(command=["true"], held=True, tenant=tenant)["id"]


def source(node):
    return f"/nodes/{sysid_of(node)}"


def heard(listener, id):
    wait_for(lambda: any(event["subject"] == id for event in listener.data()), PATIENCE,
             lambda: f"{id} in {listener.events}")


def test_every_node_tells_of_all(nodes):
    tenant = name()
    listeners = [Listener(node, tenant) for node in nodes]
    for node in nodes:
        hold(node, name()) # of someone else
    ids = [hold(node, tenant) for node in nodes]
    for listener in listeners:
        wait_for(lambda l=listener: len(l.events) >= len(ids), PATIENCE)
        assert {event["subject"]: event["source"] for event in listener.data()} == \
            {id: source(node) for id, node in zip(ids, nodes)}
        assert len(listener.events) == len(ids)
        listener.close()


def test_a_run_is_told_from_its_beginning_to_its_end(nodes):
    """Wherever it was accepted, whichever node runs it."""
    tenant = name()
    listener = Listener(nodes[0], tenant)
    for node in nodes:
        id = node.api(PATIENCE).add(command=["true"], tenant=tenant)["id"]
        wait_for(lambda i=id: [event["type"] for event in listener.data()
                               if event["subject"] == i].count("pawl.job.finished") == 1,
                 PATIENCE, lambda: str(listener.events))
    listener.close()


def test_what_is_kept_comes_from_all_in_the_order_of_time(nodes):
    tenant = name()
    ids = sorted(hold(node, tenant) for node in nodes * 2)
    for node in nodes:
        kept = Listener(node, tenant, follow=0)
        kept.thread.join(PATIENCE)
        assert not kept.thread.is_alive()
        assert sorted(event["subject"] for event in kept.data()) == ids
        times = [event["time"] for event in kept.data()]
        assert times == sorted(times)
        shown = subprocess.run(
            [program(), "events", "--json", "--tenant", tenant, "--server",
             f"unix:{node.socket()}"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=PATIENCE, check=True).stdout.splitlines()
        assert sorted(json.loads(line)["subject"] for line in shown) == ids


def test_a_listener_goes_on_at_any_node(nodes):
    """Behind any event, with exactly those that it has not had."""
    tenant = name()
    first = Listener(nodes[0], tenant)
    for node in nodes * 2:
        heard(first, hold(node, tenant))
    names = first.names()
    for at in range(len(names)):
        again = Listener(nodes[1 + at % 2], tenant, last=first.events[at]["id"])
        heard(first, hold(nodes[2], tenant))
        rest = first.names()[at + 1:]
        again.until(len(rest))
        assert again.resets() == 0
        assert sorted(again.names()) == sorted(rest)
        for node in nodes: # each node's in its own order
            assert [e for e in again.names() if e[0] == source(node)] == \
                [e for e in rest if e[0] == source(node)]
        again.close()
    first.close()


def threads(node):
    return len(list(pathlib.Path(f"/proc/{node.process.pid}/task").iterdir()))


def test_listeners_that_leave_leave_nothing(nodes):
    tenant = name()
    Listener(nodes[0], tenant).close()
    before = threads(nodes[0])
    for _ in range(20):
        Listener(nodes[0], tenant).close()
    wait_for(lambda: threads(nodes[0]) <= before, PATIENCE)


def test_tenants_are_kept_apart(server, place):
    """The node that is asked knows who asks; the others tell it everything."""
    cluster = Cluster(server.database("rights"), place.path, 2, "--slots", "2")
    try:
        first, second = started(cluster).daemons
        answer = first.api(PATIENCE).request(
            "POST", "/tokens", {"name": "a", "scopes": ["read"], "tenant": "a"})
        token = answer.json()["token"]
        listener = Listener(first, None, token=token)
        hold(second, "b")
        heard(listener, hold(second, "a"))
        assert [event["data"]["tenant"] for event in listener.data()] == ["a"]
        kept = Listener(first, None, follow=0, token=token)
        kept.thread.join(PATIENCE)
        assert [event["data"]["tenant"] for event in kept.data()] == ["a"]
        listener.close()
    finally:
        cluster.close()


def test_nodes_come_and_go_while_someone_listens(server, place):
    """One is killed, one joins, the killed one comes back; and the one that is asked stops."""
    cluster = Cluster(server.database("changing"), place.path, 4, "--slots", "2", lease=LEASE)
    late = cluster.daemons.pop()
    try:
        first, second, third = started(cluster).daemons
        tenant = name()
        listener = Listener(first, tenant)
        heard(listener, hold(third, tenant))
        third.kill()
        heard(listener, hold(second, tenant))
        wait_for(lambda: listener.resets() > 0, PATIENCE, lambda: str(listener.events))
        late.start()
        heard(listener, hold(late, tenant))
        third.start()
        heard(listener, hold(third, tenant))
        heard(listener, hold(second, tenant))
        assert len(set(listener.names())) == len(listener.names())
        assert first.stop(PATIENCE) == 0 # a listener does not hold it up
        listener.thread.join(PATIENCE)
        assert not listener.thread.is_alive()
        again = Listener(late, tenant, last=listener.events[-1]["id"])
        heard(again, hold(second, tenant))
    finally:
        cluster.daemons.append(late)
        cluster.close()
