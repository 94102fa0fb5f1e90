# SPDX-License-Identifier: Apache-2.0
"""One node whose way to its PostgreSQL server breaks at the worst moments."""
import itertools
import pathlib
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.api import wait_for # noqa: E402
from lib.daemon import Daemon # noqa: E402
from lib.fault_proxy import FaultProxy # noqa: E402
from lib.pg_node import SECONDS, STEADY, add # noqa: E402
from lib.postgres import Server # noqa: E402

numbers = itertools.count()


@pytest.fixture(name="database", scope="module")
def fixture_database():
    made = Server()
    try:
        yield made.make().start()
    finally:
        made.cleanup()


@pytest.fixture(name="proxy", scope="module")
def fixture_proxy():
    made = FaultProxy()
    yield made
    made.cleanup()


@pytest.fixture(name="make_node")
def fixture_make_node(database, proxy, place):
    made = []

    def make(**options):
        made.append(Node(database, proxy, place, **options))
        return made[-1]
    yield make
    for node in made:
        node.cleanup()


def test_with_ack_store_nobody_waits_for_a_store_that_is_away(database, place):
    """F6: refused with a code within seconds, and the balancer sends elsewhere."""
    database.ask("CREATE DATABASE acked")
    node = Daemon(place / "acked", "--slots", "2", "--store",
                  f"postgresql://pawl@/acked?host={database.home}", "--set", "journal.ack=store",
                  "--set", f"scheduling.lease={STEADY}")
    try:
        api = node.start().api()
        assert api.until(api.add(command=["/bin/true"])["id"])["state"] == "done"
        database.kill()
        try:
            begun = time.monotonic()
            for _ in range(3):
                answer = api.request("POST", "/jobs", {"command": ["/bin/true"]})
                assert (answer.status, answer.json()["code"]) == (503, "store_failing"), answer
            assert time.monotonic() - begun < 50 # it was 60 s for each
            assert api.request("GET", "/readyz").status == 503
        finally:
            database.start()
        wait_for(lambda: api.request("GET", "/readyz").status == 200, SECONDS,
                 lambda: node.story("stays unready"))
        assert api.until(api.add_soon(command=["/bin/true"])["id"])["state"] == "done"
    finally:
        node.cleanup()


class Node(Daemon):
    """A daemon with a database of its own, on a server that is two hosts to it."""

    def __init__(self, database, proxy, place, hosts=1):
        self.name = f"n{next(numbers)}"
        self.database, self.proxy = database, proxy
        database.ask(f"CREATE DATABASE {self.name}")
        self.doors = [f"{self.name}-{k}" for k in range(hosts)]
        ports = [proxy.open(door, database.home / ".s.PGSQL.5432") for door in self.doors]
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        super().__init__(place / self.name, "--slots", "4", "--store",
                         f"postgresql://pawl@{hosts}/{self.name}?connect_timeout=1",
                         "--set", f"scheduling.lease={STEADY}")

    def ask(self, sql):
        return self.database.ask(sql, self.name)

    def done(self):
        return int(self.ask("SELECT count(*) FROM pawl.job WHERE state = 'done'"))

    def ran_once(self, count):
        wait_for(lambda: self.done() >= count, SECONDS,
                 lambda: f"{self.done()} of {count} are done:\n{self.tail()}", pause=0.2)
        assert self.ask("SELECT count(*) || ' ' || max(attempt) FROM pawl.job") == f"{count} 1"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_commit_whose_answer_is_lost_is_known_by_its_number(make_node, when):
    """The connection is lost around every third COMMIT, before it gets to the server or
    before its answer gets back: nothing is lost, and nothing is done twice."""
    node = make_node().start()
    [door] = node.doors
    node.proxy.at_commits(door, 3, when)
    count = 0
    while node.proxy.lost_commits(door) < 8:
        count += len(add(node, 7))
    node.proxy.pass_(door)
    node.ran_once(count)
    assert node.stop(SECONDS) == 0


def test_silence_is_noticed(make_node):
    """Half-open connections, whose far side is gone without a word; a black hole; and the
    same on one of two hosts: each is given up, and nothing is lost or done twice."""
    half, hole, first, second = (make_node(hosts=n) for n in (1, 1, 2, 2))
    nodes = (half, hole, first, second)
    first.proxy.hold(first.doors[0])
    for node in nodes:
        node.spawn()
    for node in nodes: # `first` behind a host that is silent from the start
        node.wait_ready(SECONDS)
        add(node, 5)
    for node in nodes:
        node.ran_once(5)

    half.proxy.half(half.doors[0])
    for node in (hole, second):
        node.proxy.hold(node.doors[0])
    for node in nodes:
        add(node, 5)
    wait_for(lambda: "event=store.failing" in hole.log(), SECONDS, hole.tail)
    add(hole, 5)
    hole.proxy.pass_(hole.doors[0])
    for node, count in zip(nodes, (10, 15, 10, 10)):
        node.ran_once(count)


def test_a_start_goes_on_when_the_store_was_away_in_the_middle(make_node):
    """Whatever it was asking for at that moment."""
    node = make_node()
    [door] = node.doors
    for pieces in (3, 9, 20, 40):
        node.proxy.cut_after(door, pieces)
        node.spawn()
        node.wait_ready(SECONDS)
        node.proxy.pass_(door)
        node.kill()


def test_a_job_that_was_killed_for_its_lease_has_not_failed(make_node):
    """The launcher ends what runs when the node's lease does and no daemon renews it. Nobody
    took the job over, and it has no second attempt of its own: it runs again all the same."""
    node = make_node()
    node.options += ["--set", "scheduling.lease=2s"]
    node.start()
    mark = node.data / "ran"
    script = f"echo . >>{mark}; [ $(wc -l <{mark}) -gt 1 ] || sleep 3600"
    id = node.api().add_soon(command=["/bin/sh", "-c", script])["id"]
    wait_for(mark.exists, SECONDS, node.tail)
    node.kill()
    wait_for(lambda: not node.jobs(), SECONDS, node.tail)
    node.start()
    job = node.api().until(id, seconds=SECONDS)
    assert job["state"] == "done" and job["attempt"] >= 2 # a busy machine may need more
