# SPDX-License-Identifier: Apache-2.0
"""The tables of 001, as its own queries see them."""
import pathlib
import sqlite3
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.daemon import Place             # noqa: E402

# S1.49: a job that has no resource yet, S1.51: the earliest first.
PICK = ("SELECT j.id FROM job j LEFT JOIN job_resource r ON r.job_id = j.id"
        " WHERE r.resource_id IS NULL ORDER BY j.execution_time")


@pytest.fixture
def place():
    with Place() as place:
        yield place


def ask(node, sql):
    store = sqlite3.connect(f"file:{node.data / 'pawl.db'}?mode=ro", uri=True, timeout=120)
    try:
        return [row[0] if len(row) == 1 else row for row in store.execute(sql)]
    finally:
        store.close()


def test_a_fresh_node_has_a_resource_for_every_slot(place):
    """S1.12: as many resources as can run at the same time, before anything has run."""
    node = place.daemon("--store", "sqlite:", "--slots", "3").start()
    names = ask(node, "SELECT name FROM resource WHERE key = 'slot' ORDER BY name")
    assert [name.split("@")[0] for name in names] == ["slot-1", "slot-2", "slot-3"]
    assert len({name.split("@")[1] for name in names}) == 1


def test_the_pick_offers_neither_running_nor_cancelled_jobs(place):
    """S1.40, S1.49: whoever has a job, its resource_id says so; also a pull worker."""
    node = place.daemon("--store", "sqlite:", "--slots", "2").start()
    api = node.api()
    gate = place.path / "gate"
    command = ["/bin/sh", "-c", "while [ ! -e \"$0\" ]; do sleep 0.05; done", str(gate)]
    running = api.add(command=command)["id"]
    api.until(running, "running")
    cancelled = api.add(command=["/bin/true"], held=True)["id"]
    api.act(cancelled, "cancel")
    assert api.request("PUT", "/handlers/by-hand", {"lang": "pull"}).status == 201
    pulled = api.add(type="by-hand")["id"]
    claim = api.request("POST", "/claims", {"wait": "PT60S"})
    assert claim.status == 200 and pulled in claim.body.decode(), claim
    waiting = api.add(command=["/bin/true"], held=True)["id"]
    api.until(waiting, "held")
    assert ask(node, PICK) == [waiting]
    [name] = ask(node, "SELECT s.name FROM job_resource r JOIN resource s ON s.id = r.resource_id"
                       f" WHERE r.job_id = '{pulled}'")
    assert name.startswith("pull@")
    gate.touch()
    api.until(running)
