# SPDX-License-Identifier: Apache-2.0
"""Queues against a real daemon: slots, priorities, pause, rate, clear, order (documents 000
and 003)."""
import json
import pathlib
import subprocess
import os
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402

PATIENCE = 120


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def node(home):
    return home.daemon("--slots", "8", "--set", "daemon.grace=500ms").start()


class Desk:
    """A queue of the test's own and gates that its jobs wait at."""

    def __init__(self, node, home):
        self.node, self.home, self.api = node, home, node.api()
        self.queue = "q" + uuid.uuid4().hex[:10]
        self.gate = home.path / uuid.uuid4().hex

    def ask(self, method, path, body=None, status=200):
        answer = self.api.request(method, path, body)
        assert answer.status == status, answer
        return answer.json()

    def put(self, status=None, **fields):
        answer = self.api.request("PUT", f"/queues/{self.queue}", fields)
        assert answer.status in ((status,) if status else (200, 201)), answer
        return answer.json()

    def get(self):
        return self.ask("GET", f"/queues/{self.queue}")

    def wait_at_gate(self, **fields):
        command = ["/bin/sh", "-c",
                   f"while [ ! -e {self.gate} ]; do sleep 0.05; done"]
        return self.api.add(command=command, queue=self.queue, **fields)["id"]

    def quick(self, **fields):
        return self.api.add(command=["true"], queue=self.queue, **fields)["id"]

    def open_gate(self):
        self.gate.touch()

    def running(self, id):
        return self.api.until(id, "running", PATIENCE)

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
    desk.open_gate()
    desk.api.close()


def test_slots_of_a_queue(desk):
    """S3.9, S3.10, S3.15, S3.32, S0.8, S0.2: at most so many run on this node."""
    made = desk.put(status=201, slots=2)
    assert (made["slots"], made["policy"], made["paused"]) == (2, "fair", False)
    ids = [desk.wait_at_gate() for _ in range(4)]
    desk.running(ids[0]), desk.running(ids[1])
    told = desk.get()
    assert told["running"] == 2 and told["jobs"]["ready"] == 2
    assert told["head_wait_ms"] >= 0
    assert [desk.api.job(id)["state"] for id in ids[2:]] == ["ready", "ready"]
    assert desk.put(status=200, slots=3)["slots"] == 3           # S0.74: live
    desk.running(ids[2])
    assert desk.api.job(ids[3])["state"] == "ready"
    desk.open_gate()
    for id in ids:
        desk.done(id)


def test_priority_then_age(desk):
    """S3.1, S3.3, S3.4, S3.52, S0.3, S0.6, S0.7, S0.47, S0.66, S1.51: larger first, then
    older."""
    desk.put(slots=1)
    first = desk.wait_at_gate(priority=1)
    desk.running(first)
    ids = [desk.quick(priority=priority) for priority in (3, 9, 3, 9)]
    desk.open_gate()
    started = [desk.done(id)["started_at"] for id in ids]
    assert started[1] <= started[3] <= started[0] <= started[2], started
    order = sorted(range(4), key=lambda i: (started[i], [1, 3, 0, 2].index(i)))
    assert order == [1, 3, 0, 2]


def test_priority_range(desk):
    """S3.2, S3.5, S0.78: 003's 1 to 10; refused outside with the range, also on change."""
    desk.put(priority_min=1, priority_max=10, default_priority=7, paused=True)
    refused = desk.api.add(status=422, command=["true"], queue=desk.queue, priority=11)
    assert refused["code"] == "priority_out_of_range"
    assert "1 to 10" in refused["detail"]
    assert desk.api.add(command=["true"], queue=desk.queue)["priority"] == 7
    id = desk.quick(priority=10)
    assert desk.ask("PATCH", f"/jobs/{id}", {"priority": 0}, 422)["code"] == \
        "priority_out_of_range"
    assert desk.ask("PATCH", f"/jobs/{id}", {"priority": 2})["priority"] == 2
    lines = b"\n".join(json.dumps({"command": ["true"], "queue": desk.queue,
                                   "priority": priority}).encode()
                       for priority in (5, 50, 6))
    answer = desk.api.request("POST", "/jobs", lines,
                              {"Content-Type": "application/x-ndjson"})
    told = answer.lines()
    assert [("error" in line) for line in told[:3]] == [False, True, False]
    assert told[1]["error"]["code"] == "priority_out_of_range"
    assert told[3]["summary"] == {"accepted": 2, "rejected": 1, "durable": True}


def test_pause_and_resume(desk):
    """S0.75, B3.19, I.2: a paused queue starts nothing; what runs goes on."""
    running = desk.wait_at_gate()
    desk.running(running)
    told = desk.ask("POST", f"/queues/{desk.queue}/pause", {"reason": "upgrade"})
    assert told["paused"] and told["pause_reason"] == "upgrade"
    waiting = desk.quick()
    other = desk.api.add(command=["true"])["id"]
    desk.done(other)
    assert desk.api.job(waiting)["state"] == "ready"
    assert desk.api.job(running)["state"] == "running"
    explained = desk.ask("GET", f"/jobs/{waiting}/explain")
    assert explained["reason"] == "queue_paused" and "upgrade" in explained["text"]
    assert desk.queue in explained["help"]
    assert not desk.ask("POST", f"/queues/{desk.queue}/resume")["paused"]
    desk.done(waiting)


def test_a_pause_ends_by_itself(desk):
    """A pause with `for` needs no one to end it."""
    desk.put()
    told = desk.ask("POST", f"/queues/{desk.queue}/pause", {"for": "PT1H"})
    assert told["paused"] and told["paused_until"]
    desk.ask("POST", f"/queues/{desk.queue}/pause", {"for": "PT0.5S"})
    desk.done(desk.quick())
    assert not desk.get()["paused"]


def test_clear(desk):
    """S0.73, I.2: what waits is cancelled, what runs is left alone."""
    desk.put(slots=1)
    running = desk.wait_at_gate()
    desk.running(running)
    waiting = [desk.quick() for _ in range(5)]
    later = desk.quick(delay="PT1H")
    held = desk.quick(held=True)
    answer = desk.api.request("POST", f"/queues/{desk.queue}/clear")
    assert answer.status in (200, 202), answer # 202: it goes on, on a busy machine
    told = wait_for(lambda: (now := desk.ask("GET", f"/operations/{answer.json()['operation']}"))
                    ["state"] != "running" and now, PATIENCE)
    assert told["acted"] == 7 and answer.json()["cleared"] in range(8), (answer, told)
    for id in [*waiting, later, held]:
        assert desk.api.job(id)["state"] == "cancelled"
    assert desk.api.job(running)["state"] == "running"
    desk.open_gate()
    desk.done(running)


def test_rate(desk):
    """S0.2: a rate lets a burst start and the rest one by one."""
    desk.put(rate={"jobs": 2, "per": "PT1H"})
    ids = [desk.quick() for _ in range(3)]
    desk.done(ids[0]), desk.done(ids[1])
    explained = wait_for(lambda: told if (told := desk.ask(
        "GET", f"/jobs/{ids[2]}/explain"))["reason"] == "queue_rate" else None, PATIENCE)
    assert explained["until"] and "--rate none" in explained["help"]
    desk.put(rate="1000/s")
    desk.done(ids[2])


def test_nice(desk):
    """S3.6: a priority becomes the niceness of the processes."""
    desk.put(nice=True)
    low = desk.api.add(command=["nice"], queue=desk.queue, priority=1)["id"]
    high = desk.api.add(command=["nice"], queue=desk.queue, priority=10)["id"]
    desk.done(low), desk.done(high)
    least, most = int(desk.api.log(high)), int(desk.api.log(low))
    assert most == min(19, least + 19), (least, most)


def test_nodes_own_slots(desk):
    """S3.10, B3.14: a node's own number for a queue, kept over a restart."""
    sysid = desk.api.get("/nodes")["items"][0]["sysid"]
    desk.put(slots=5)
    told = desk.ask("PATCH", f"/nodes/{sysid}", {"queues": {desk.queue: 1}})
    assert told["queues"][desk.queue] == 1
    first, second = desk.wait_at_gate(), desk.wait_at_gate()
    desk.running(first)
    assert desk.api.job(second)["state"] == "ready"
    told = desk.ask("PATCH", f"/nodes/{sysid}", {"queues": {desk.queue: None}})
    assert desk.queue not in told["queues"]
    desk.running(second)
    bad = desk.ask("PATCH", f"/nodes/{sysid}", {"slotz": 1}, 422)
    assert bad["code"] == "unknown_field"
    assert desk.ask("PATCH", "/nodes/nobody", {}, 404)["code"] == "node_not_found"


def test_what_is_refused(desk):
    """Unknown fields, bad values, names never used."""
    for body, code in [({"slotz": 1}, "unknown_field"), ({"slots": -1}, "invalid_value"),
                       ({"slots": "two"}, "wrong_type"), ({"policy": "x"}, "invalid_value"),
                       ({"rate": "fast"}, "invalid_value"),
                       ({"priority_min": 5, "priority_max": 1}, "invalid_value"),
                       ({"resources": ["a b"]}, "invalid_name"), ([], "wrong_type"),
                       ({"resources": ["nope"]}, "resource_unknown")]:
        answer = desk.api.request("PUT", f"/queues/{desk.queue}", body)
        assert (answer.status, answer.json()["code"]) == (422, code), (body, answer)
    for method, path in [("GET", ""), ("DELETE", ""), ("POST", "/clear"), ("POST", "/resume")]:
        told = desk.ask(method, f"/queues/{desk.queue}{path}", status=404)
        assert told["code"] == "queue_not_found"
    assert desk.ask("GET", "/queues/..bad", status=422)["code"] == "invalid_name"


def test_a_queue_is_paused_before_its_first_job(desk):
    """`pause` brings it into being; what comes waits, and goes on with `resume`."""
    told = desk.ask("POST", f"/queues/{desk.queue}/pause", {"reason": "deploy"})
    assert told["paused"] and told["pause_reason"] == "deploy", told
    id = desk.api.add(command=["true"], queue=desk.queue)["id"]
    explained = desk.ask("GET", f"/jobs/{id}/explain")
    assert explained["reason"] == "queue_paused", explained
    assert explained["help"] == f"pawl queue resume {desk.queue}", explained
    desk.ask("POST", f"/queues/{desk.queue}/resume")
    assert desk.api.until(id)["state"] == "done"


def test_definitions_survive_a_restart(home):
    """What the API defined is there again, and obeyed."""
    daemon = home.daemon("--slots", "4", data=home.path / "again")
    daemon.start()
    api = daemon.api()
    api.request("PUT", "/queues/mail", {"slots": 1, "paused": True, "rate": "10/s"})
    api.request("PUT", "/resources/lic", {"list": ["a", "b"]})
    api.close()
    daemon.stop()
    daemon.start()
    api = daemon.api()
    told = api.get("/queues/mail")
    assert told["paused"] and told["slots"] == 1 and told["defined"]
    assert told["rate"] == {"jobs": 10, "per": "PT1S"}
    assert api.get("/resources/lic")["list"] == ["a", "b"]
    assert [item["name"] for item in api.get("/queues")["items"]] == ["mail"]
    api.close()
    daemon.stop()


def test_the_command_line(desk):
    """S0.72, S0.74, S0.75, S0.77: pawl queue does what the API does."""
    for key in ("x", "y"):
        desk.cli("resource", "set", key, "--quantity", 1)
    out = json.loads(desk.cli("queue", "set", desk.queue, "--slots", 2, "--rate", "5/min",
                              "--resources", "x,y", "--aging", "1.5", "--json"))
    assert (out["slots"], out["resources"], out["aging"]) == (2, ["x", "y"], 1.5)
    out = json.loads(desk.cli("queue", "set", desk.queue, "--slots", "none", "--resources",
                              "none", "--json"))
    assert out["slots"] is None and out["resources"] == [] and out["aging"] == 1.5
    assert "paused" in desk.cli("queue", "pause", desk.queue, "--reason", "tea")
    assert "tea" in desk.cli("queue", "show", desk.queue)
    waiting = desk.quick()
    assert desk.queue in desk.cli("queue", "ls")
    assert "paused: tea" in desk.cli("explain", waiting)
    assert json.loads(desk.cli("queue", "clear", desk.queue, "--json"))["cleared"] == 1
    desk.cli("queue", "resume", desk.queue)
    desk.cli("queue", "rm", desk.queue)
    assert not desk.get()["defined"]
    desk.cli("queue", "show", "never-used", code=3)


def test_declared_in_the_file(home):
    """Queues and resources of the configuration file are there, and stay as it says."""
    config = home.path / "queues.yaml"
    config.write_text("queues:\n  - { name: mail, slots: 2, rate: 10/s }\n"
                      "resources:\n  - { name: lic, kind: discrete, list: [a, b] }\n")
    daemon = home.daemon("--config", str(config), data=home.path / "declared")
    daemon.start()
    api = daemon.api()
    mail = api.get("/queues/mail")
    assert (mail["slots"], mail["declared"]) == (2, True)
    lic = api.get("/resources/lic")
    assert (lic["list"], lic["declared"]) == (["a", "b"], True)
    answer = api.request("PUT", "/queues/mail", {"slots": 3})
    assert (answer.status, answer.json()["code"]) == (409, "declared")
    answer = api.request("POST", "/queues/mail/pause")
    assert answer.status == 200 and answer.json()["paused"], answer
    api.close()
    daemon.stop()
