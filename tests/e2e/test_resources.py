# SPDX-License-Identifier: Apache-2.0
"""Resource managers against a real daemon: quantities, items, highlanders, the tables that
people read (documents 001 and 003)."""
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402

PATIENCE = 120
LONG = "com.enioka.jqm.rm."


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def node(home):
    return home.daemon("--slots", "20", "--set", "daemon.grace=500ms").start()


class Desk:
    """Names of the test's own, and a gate that its jobs wait at."""

    def __init__(self, node, home):
        self.node, self.api = node, node.api()
        self.key = "r" + uuid.uuid4().hex[:8]
        self.queue = "q" + self.key
        self.gate = home.path / uuid.uuid4().hex
        self.wait = f"while [ ! -e {self.gate} ]; do sleep 0.05; done"

    def ask(self, method, path, body=None, status=200):
        answer = self.api.request(method, path, body)
        assert answer.status == status, answer
        return answer.json()

    def put(self, key=None, **fields):
        answer = self.api.request("PUT", f"/resources/{key or self.key}", fields)
        assert answer.status in (200, 201), answer
        return answer.json()

    def get(self, key=None):
        return self.ask("GET", f"/resources/{key or self.key}")

    def holds(self, amount=None, script="", **fields):
        resources = {} if amount is None else {"resources": {self.key: amount}}
        return self.api.add(command=["/bin/sh", "-c", script + self.wait],
                            queue=self.queue, **{**resources, **fields})["id"]

    def running(self, id):
        return self.api.until(id, "running", PATIENCE)

    def ready(self, id):
        """On a shared store a job with a key is blocked until the store has said whose it is."""
        return self.api.until(id, "ready", PATIENCE)

    def done(self, id):
        job = self.api.until(id, seconds=PATIENCE)
        assert job["state"] == "done", job
        return job

    def cli(self, *words, code=0):
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("PAWL_")}
        ran = subprocess.run([program(), *map(str, words)], capture_output=True, timeout=120,
                             env={**env, "PAWL_SERVER": f"unix:{self.node.socket()}"})
        assert ran.returncode == code, ran.stderr.decode()
        return ran.stdout.decode()


@pytest.fixture
def desk(node, home):
    desk = Desk(node, home)
    yield desk
    desk.gate.touch()
    desk.api.close()


def test_a_quantity(desk):
    """S3.8, S3.11, S3.12, S3.18, S3.21, S3.24, S3.25, S3.26, S3.30, S3.31: units are
    counted, given back, and waited for."""
    assert desk.put()["quantity"] == 10                    # S3.28
    made = desk.put(quantity=3)
    assert (made["kind"], made["scope"], made["consumption"]) == ("quantity", "node", 1)
    first, second = desk.holds(2), desk.holds(1)
    desk.running(first), desk.running(second)
    third = desk.holds(2)
    told = desk.get()
    assert (told["in_use"], told["free"]) == (3, 0)
    assert {holder["id"] for holder in told["holders"]} == {first, second}
    desk.ready(third)
    explained = desk.ask("GET", f"/jobs/{third}/explain")
    assert explained["reason"] == "resource_busy", explained
    assert explained["reasons"][0]["held_by"] in (first, second)
    desk.ask("POST", f"/jobs/{first}/kill")
    desk.running(third)
    desk.gate.touch()
    for id in (second, third):
        desk.done(id)
    assert wait_for(lambda: desk.get()["in_use"] == 0, PATIENCE)


def test_items(desk):
    """S3.33 to S3.37, S3.40, S3.41, S3.45: items by name, each with one holder, in the
    environment."""
    desk.put(kind="discrete", list=["a", "b", "c"])
    say = (f"echo $PAWL_RESOURCE_{desk.key.upper()}_ITEMS "
           f"$JQM_RM_DISCRETE_{desk.key.upper()}_ITEMS; ")
    none, two, one = desk.holds(script=say), desk.holds(2, say), desk.holds(1, say)
    for id in (none, two, one):
        desk.running(id)
    waiting = desk.holds(1, say)
    desk.ready(waiting)
    assert desk.get()["in_use"] == 3
    desk.gate.touch()
    for id in (none, two, one, waiting):
        desk.done(id)
    assert desk.api.log(none).decode().split() == []
    assert desk.api.log(two).decode().split() == ["a,b", "a,b"]
    assert desk.api.log(one).decode().split() == ["c", "c"]
    assert desk.api.log(waiting).decode().split()[0] in ("a", "b", "c")


def test_defaults_and_class_names(desk):
    """S3.29, S3.39, S3.42, S3.43, S3.44: the defaults and names of document 003."""
    made = desk.put(kind="com.enioka.jqm.tools.DiscreteResourceManager")
    assert made["list"] == [f"item{n:02}" for n in range(1, 11)]
    assert made["consumption"] == 0
    made = desk.put(**{"kind": "discrete", LONG + "discrete.list": "x,y"})
    assert made["list"] == ["x", "y"]
    made = desk.put(kind="com.enioka.jqm.tools.QuantityResourceManager")
    assert made["quantity"] == 10
    desk.put(**{LONG + f"{desk.key}.quantity": 4})
    assert desk.get()["quantity"] == 4


def test_who_says_how_much(desk):
    """S3.19, S3.20, S3.22, S3.23: default < manager < handler < job, in every spelling."""
    desk.put(quantity=9, consumption=2)
    desk.ask("PUT", f"/queues/{desk.queue}", {"resources": [desk.key]}, 201)
    type = "t" + desk.key
    desk.ask("PUT", f"/handlers/{type}", {"lang": "sh", "body": desk.wait,
             "queue": desk.queue, "resources": {LONG + f"{desk.key}.consumption": 3}}, 201)
    by_queue = desk.holds()
    by_handler = desk.api.add(type=type)["id"]
    by_job = desk.api.add(type=type, resources={
        LONG + f"quantity.{desk.key}.consumption": 4})["id"]
    for id in (by_queue, by_handler, by_job):
        desk.running(id)
    amounts = {holder["id"]: holder["amount"] for holder in desk.get()["holders"]}
    assert amounts == {by_queue: 2, by_handler: 3, by_job: 4}
    refused = desk.api.add(status=422, type=type,
                           resources={LONG + f"{desk.key}.quantity": 4})
    assert "consumption" in refused["detail"]


def test_more_than_there_is(desk):
    """Refused at submission; passed over and explained when it shrinks later."""
    desk.put(quantity=3)
    refused = desk.api.add(status=422, command=["true"], resources={desk.key: 4})
    assert refused["code"] == "resource_too_small" and desk.key in refused["detail"]
    refused = desk.api.add(status=422, command=["true"], resources={"nope": 1})
    assert refused["code"] == "resource_unknown"
    first = desk.holds(1)
    desk.running(first)
    big, small = desk.holds(3), desk.holds(1)
    desk.ready(small)
    desk.put(quantity=2)
    desk.running(small)
    explained = desk.ask("GET", f"/jobs/{big}/explain")
    assert explained["reason"] == "resource_too_small", explained
    desk.put(quantity=5)
    desk.running(big)


def test_a_queue_charges_only_what_there_is(desk):
    """A queue that names a resource which is not there is refused as a job is; of one that
    is deleted later the jobs wait and say so."""
    told = desk.ask("PUT", f"/queues/{desk.queue}", {"resources": [desk.key]}, 422)
    assert told["code"] == "resource_unknown" and desk.key in told["detail"], told
    assert desk.ask("GET", f"/queues/{desk.queue}", status=404)["code"] == "queue_not_found"
    desk.put(quantity=2)
    desk.cli("queue", "set", desk.queue, "--resources", desk.key)
    first = desk.holds()
    desk.running(first)
    desk.cli("resource", "rm", desk.key)
    second = desk.holds()
    desk.ready(second)
    explained = desk.ask("GET", f"/jobs/{second}/explain")
    assert explained["reason"] == "resource_unknown" and desk.key in explained["text"]
    assert f"pawl resource set {desk.key}" in desk.cli("explain", second)
    desk.ask("PUT", f"/queues/{desk.queue}", {"resources": [desk.key], "slots": 5})
    desk.put(quantity=2)
    desk.running(second)


def test_a_highlander(desk):
    """S3.16, S3.48, oracle 5: one instance at a time; others are not held up."""
    type = "only" + desk.key
    desk.ask("PUT", f"/handlers/{type}", {"lang": "sh", "body": desk.wait,
             "queue": desk.queue, "highlander": True}, 201)
    first = desk.api.add(type=type)["id"]
    desk.running(first)
    second = desk.api.request("POST", "/jobs", {"type": type}).json()["id"]
    normal = desk.holds()
    desk.running(normal)
    desk.ready(second)
    explained = desk.ask("GET", f"/jobs/{second}/explain")
    assert explained["reason"] == "highlander" and first in explained["text"], explained
    desk.gate.touch()
    desk.done(first), desk.done(second)


def test_003s_global_parameters(desk):
    """S3.17, S3.46, S3.47: discreteRmName and discreteRmList define a manager of the node,
    which gives out items like any other."""
    desk.ask("PATCH", "/config", {"discreteRmName": desk.key, "discreteRmList": "p1,p2"})
    made = desk.get()
    assert (made["list"], made["kind"], made["scope"]) == (["p1", "p2"], "discrete", "node")
    say = f"echo $JQM_RM_DISCRETE_{desk.key.upper()}_ITEMS; "
    both, waiting = desk.holds(2, say), desk.holds(1, say)
    desk.running(both)
    desk.ready(waiting)
    desk.gate.touch()
    desk.done(both), desk.done(waiting)
    assert desk.api.log(both).decode().split() == ["p1,p2"]
    assert desk.api.log(waiting).decode().split()[0] in ("p1", "p2")
    bad = desk.ask("PATCH", "/config", {"discreteRmName": "a b"}, 422)
    assert "discreteRmName" in bad["detail"]


def test_a_restart_counts_again(home):
    """S3.27, S3.38, B3.17: jobs that outlive the daemon keep what they hold."""
    node = home.daemon("--slots", "4", data=home.path / "again").start()
    desk = Desk(node, home)
    desk.put(kind="discrete", list=["a", "b"])
    holder = desk.holds(2)
    desk.running(holder)
    node.kill()
    node.start()
    desk.api = node.api()
    waiting = desk.holds(1)
    told = desk.get()
    assert told["in_use"] == 2 and told["holders"][0]["id"] == holder, told
    desk.ready(waiting)
    desk.gate.touch()
    desk.done(holder), desk.done(waiting)
    desk.api.close()
    node.stop()


def rows(node, sql, *values):
    """The store as anybody can read it while the daemon runs."""
    db = sqlite3.connect(f"file:{node.data}/pawl.db?mode=ro", uri=True, timeout=120)
    db.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in db.execute(sql, values)]
    finally:
        db.close()


def test_the_tables_of_001(desk, node):
    """S1.9, S1.12, S1.18, S1.19, S1.20, S1.21, S1.24, S1.36, S1.37, S1.39, S1.40: one row of
    resource per item, job_resource names what an attempt took."""
    desk.put(kind="discrete", list=["a", "b"])
    id = desk.holds(1, service_time="PT1M")
    desk.running(id)
    desk.api.get("/queues") # a read sees what was decided before it
    items = rows(node, "SELECT * FROM resource WHERE key = ?", desk.key)
    assert [item["name"] for item in items] == [f"{desk.key}/a", f"{desk.key}/b"]
    held = rows(node, "SELECT * FROM job_resource WHERE job_id = ? ORDER BY id", id)
    by_resource = {row["resource_id"]: row for row in held}
    assert items[0]["id"] in by_resource and len(held) == 2
    slot = next(row for row in held if row["resource_id"] != items[0]["id"])
    names = rows(node, "SELECT name FROM resource WHERE id = ?", slot["resource_id"])
    assert names[0]["name"].startswith("slot-")
    for row in held:
        assert (row["status"], row["retry_number"]) == ("InProgress", 0)
        assert row["expected_finish_time"] > row["actual_execution_time"]
    desk.gate.touch()
    desk.done(id)
    wait_for(lambda: all(row["status"] == "Completed" for row in rows(
        node, "SELECT status FROM job_resource WHERE job_id = ?", id)), PATIENCE)


def test_the_command_line(desk):
    """pawl resource, and --resource of run and handler."""
    desk.cli("resource", "set", desk.key, "--list", "a,b", "--consumption", 1)
    id = desk.cli("run", "--resource", f"{desk.key}=2", "--", "/bin/sh", "-c",
                  desk.wait).split()[0]
    desk.running(id)
    told = desk.cli("resource", "ls")
    assert desk.key in told and id in told
    told = json.loads(desk.cli("resource", "ls", "--json"))
    assert desk.key in [item["key"] for item in told["items"]]
    desk.gate.touch()
    desk.done(id)
    desk.cli("resource", "rm", desk.key)
    desk.cli("resource", "rm", desk.key, code=3)
    desk.cli("resource", "set", desk.key, "--kind", "pile", code=2)
