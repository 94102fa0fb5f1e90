# SPDX-License-Identifier: Apache-2.0
"""pg_node - what tests of a node on PostgreSQL have in common: the fixture `things`, servers,
daemons, jobs."""
import pytest

from lib.api import wait_for
from lib.daemon import Daemon
from lib.postgres import Server

SECONDS = 300  # several servers on a busy machine
STEADY = "60s" # a lease that no busy machine lets lapse: then nothing runs twice


@pytest.fixture
def things():
    """What a test starts; ended with it, the last first."""
    started = []
    yield started
    for thing in reversed(started):
        thing.cleanup()


def server(things, *settings):
    things.append(Server(*settings))
    return things[-1].make().start()


def daemon(things, place, url, name="node"):
    things.append(Daemon(place / name, "--store", url, "--slots", "4", "--set",
                         f"scheduling.lease={STEADY}"))
    return things[-1]


def add(node, count, command=("true",)):
    """Adds so many jobs; their ids, once they are acknowledged."""
    api = node.api(SECONDS)
    try:
        jobs = [{"command": list(command), "name": f"n{i}"} for i in range(count)]
        answer = api.request("POST", "/api/v1/jobs", jobs)
        assert answer.status in (200, 201), answer
        return [line["id"] for line in answer.lines() if "id" in line]
    finally:
        api.close()


def count_done(database):
    return int(database.ask("SELECT count(*) FROM pawl.job WHERE state = 'done'"))


def until_done(database, count):
    wait_for(lambda: count_done(database) >= count, SECONDS,
             lambda: f"{count_done(database)} of {count} are done", pause=0.2)
