# SPDX-License-Identifier: Apache-2.0
"""test_cluster_ops - running several nodes on one PostgreSQL store: what their files declare,
limits of tenants over all of them, nodes that are gone for good."""
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.cluster import LEASE, STEADY, Cluster # noqa: E402
from lib.daemon import Daemon, Place, program # noqa: E402

PATIENCE = 180 # seconds; a busy machine, sanitizers


@pytest.fixture(name="place")
def fixture_place():
    with Place() as place:
        yield place


@pytest.fixture(name="url")
def fixture_url(server, request):
    return server.database(request.node.name)


@pytest.fixture(name="cluster")
def fixture_cluster(url, place):
    nodes = Cluster(url, place.path, 2, "--slots", "4", lease=STEADY)
    try:
        yield nodes.start()
    finally:
        nodes.close()


class Declaring:
    """A node with a configuration file of its own."""

    def __init__(self, url, place, name):
        self.file = place.path / f"{name}.yaml"
        self.node = Daemon(place.path / name, "--store", url, "--config", str(self.file),
                           "--set", f"scheduling.lease={STEADY}")

    def start(self, *handlers):
        self.declare(*handlers)
        self.node.start()

    def declare(self, *handlers):
        items = [f"  - {{ name: {name}, lang: sh, body: 'echo \"R: 200 {said}\"' }}"
                 for name, said in handlers]
        self.file.write_text("\n".join(["handlers:", *items]) if items else "")

    def restart(self, *handlers):
        self.declare(*handlers)
        self.node.restart()

    def handler(self, name, status=200):
        return self.node.api().get(f"/handlers/{name}", status)

    def until_gone(self, name):
        wait_for(lambda: self.node.api().request("GET", f"/handlers/{name}").status == 404,
                 PATIENCE)


@pytest.fixture(name="declaring")
def fixture_declaring(url, place):
    nodes = [Declaring(url, place, name) for name in ("one", "two")]
    try:
        yield nodes
    finally:
        for each in nodes:
            each.node.cleanup()


def test_a_node_withdraws_only_what_its_own_file_declared(declaring):
    """S2.79: the file of another node may lack it; it stays, and no API call changes it."""
    one, two = declaring
    one.start(("x", "one"), ("y", "one"))
    two.start(("y", "one"))
    assert two.handler("x")["version"] == 1 and two.handler("y")["version"] == 1
    two.restart(("y", "one"))
    assert two.handler("x")["declared"] is True
    assert two.node.api().request("PUT", "/handlers/x", {"body": "true"}).status == 409
    # One file less: y stands in the other, x in none.
    one.restart()
    one.until_gone("x")
    two.until_gone("x")
    assert one.handler("y")["declared"] is True and one.handler("y")["version"] == 1
    two.restart()
    one.until_gone("y")


def limit(api, tenant, **limits):
    answer = api.request("PUT", f"/tenants/{tenant}", limits)
    assert answer.status in (200, 201), answer


def add(node, tenant="t", **fields):
    fields = {"command": ["true"], "held": True, **fields}
    return node.api().request("POST", f"/jobs?tenant={tenant}", fields)


def until_known(node, **wanted):
    """The node has heard of the limits."""
    def known():
        answer = node.api().request("GET", "/tenants/t")
        return answer.status == 200 and all(answer.json()[name] == value
                                            for name, value in wanted.items())
    wait_for(known, PATIENCE)


def until_refused(node, **fields):
    """It may take some before it has heard of the others: those are taken back."""
    def refused():
        answer = add(node, **fields)
        if answer.status == 201:
            id = answer.json()["id"]
            assert node.api().request("DELETE", f"/jobs/{id}?tenant=t").status == 200
        return answer if answer.status == 429 else None
    return wait_for(refused, PATIENCE)


def test_limits_of_tenants_hold_over_all_nodes(cluster):
    """What another node has accepted counts here a moment later; so does what it removes."""
    one, two = cluster.daemons
    limit(one.api(), "t", max_queued=3, max_bytes=1000)
    until_known(two, max_queued=3, max_bytes=1000)
    ids = [add(one, payload="x" * 100).json()["id"] for _ in range(3)]
    wait_for(lambda: two.api().get("/tenants/t")["stored_bytes"] == 300, PATIENCE)
    assert add(one).status == 429
    answer = until_refused(two)
    assert answer.json()["code"] == "quota_exceeded" and answer.headers["Retry-After"]
    for id in ids:
        assert one.api().request("DELETE", f"/jobs/{id}?tenant=t").status == 200
    wait_for(lambda: add(two, payload="y" * 900).status == 201, PATIENCE)
    answer = until_refused(one, payload="z" * 900)
    assert "bytes" in answer.json()["detail"]


def test_a_tenant_runs_no_more_on_all_nodes_than_it_may(cluster):
    """One runs on the first node; the second has room, and waits until it has ended."""
    one, two = cluster.daemons
    limit(one.api(), "t", max_running=1)
    until_known(two, max_running=1)
    first = add(one, command=["sleep", "600"], held=False).json()["id"]
    one.api().until(first, "running", PATIENCE, tenant="t")
    api = two.api()

    def waiting():
        """One that was passed over; before the node has heard of the first it would run."""
        id = add(two, held=False).json()["id"]
        probe = add(two, "u", held=False).json()["id"]
        api.until(probe, seconds=PATIENCE, tenant="u")
        return id if api.job(id, tenant="t")["state"] == "ready" else None
    second = wait_for(waiting, PATIENCE)
    assert one.api().request("POST", f"/jobs/{first}/kill?tenant=t").status == 200
    assert api.until(second, seconds=PATIENCE, tenant="t")["state"] == "done"


@pytest.fixture(name="mortal")
def fixture_mortal(url, place):
    nodes = Cluster(url, place.path, 2, "--slots", "2", lease=LEASE)
    try:
        yield nodes.start()
    finally:
        nodes.close()


def sysids(node):
    return {row["sysid"]: row["number"] for row in node.api().get("/nodes")["items"]}


def own_sysid(node):
    return next(row["sysid"] for row in node.api().get("/nodes")["items"]
                if row.get("passes") is not None)


def pawl(node, *words):
    env = {name: value for name, value in os.environ.items() if not name.startswith("PAWL_")}
    return subprocess.run([program(), "--server", f"unix:{node.socket()}", *words],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=PATIENCE, env=env, check=False)


def test_a_node_that_is_gone_for_good_is_forgotten(mortal, url, place):
    """Not while it is there; its number is no one else's; it may come back all the same."""
    one, two = mortal.daemons
    numbers = sysids(one)
    gone = own_sysid(two)
    refused = pawl(one, "node", "forget", gone)
    assert refused.returncode == 5 and "node_in_use" in refused.stderr, refused
    held = two.api().add(command=["true"], held=True)["id"]
    # What only its journal has would wait there.
    wait_for(lambda: held in [job["id"] for job in one.api().all()], PATIENCE)
    two.kill()
    two.kill_launcher()
    wait_for(lambda: pawl(one, "node", "forget", gone).returncode == 0, PATIENCE, pause=0.5)
    assert sysids(one).keys() == numbers.keys() - {gone}
    assert pawl(one, "node", "forget", gone).returncode == 3
    assert one.api().job(held)["state"] == "held" # it was taken over
    rows = one.api().get("/audit?limit=1000")["items"]
    assert any(gone in str(row["target"]) and "gone" in str(row) for row in rows), rows
    # A new node gets a number of its own, and the old one its own again.
    third = Daemon(place.path / "third", "--store", url, "--set", f"scheduling.lease={LEASE}")
    try:
        third.start()
        assert sysids(third)[own_sysid(third)] not in numbers.values()
        two.start()
        wait_for(lambda: sysids(one).get(gone) == numbers[gone], PATIENCE)
    finally:
        third.cleanup()


def test_a_node_that_was_lost_long_ago_is_forgotten_by_itself(url, place):
    nodes = Cluster(url, place.path, 2, "--set", "scheduling.forget=1s", lease=LEASE)
    try:
        nodes.start()
        one, two = nodes.daemons
        gone = own_sysid(two)
        two.kill()
        two.kill_launcher()
        wait_for(lambda: gone not in sysids(one), PATIENCE, pause=0.5)
        assert own_sysid(one) in sysids(one)
        row = next(row for row in one.api().get("/audit?limit=1000")["items"]
                   if gone in str(row["target"]) and "gone" in str(row))
        assert row["who"] == "pawl", row
    finally:
        nodes.close()
