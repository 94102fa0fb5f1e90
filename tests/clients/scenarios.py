# SPDX-License-Identifier: Apache-2.0
"""scenarios - what every client must do, told once and run with each of them.

A driver is a small program around a client. `DRIVER client` reads a line of JSON for each
thing to do, and answers with a line: {"ok": value} or {"error": {"code", "status", "ids"}}.

    {"do":"open","url",…}      a client: token, tenant, retry_for (seconds), keyless
    {"do":"add","type",…}      text, base64 or json is the payload; key; fields
    {"do":"add_many","jobs"}   each as in add
    {"do":"get","id"}  {"do":"wait","id","timeout"}     the job: id, state, error, attempt,
                               payload and result as {"text"} or {"base64"}
    {"do":"cancel","id"}       its state
    {"do":"run"}               a worker does what waits in a fake

`DRIVER worker {"url","tenant","concurrency","lease"}` works until SIGTERM, with a poll of half
a second; it exits with another status than 0 if it cannot. Its handlers:
upper, echo, number (n + 1), wait (progress 10, until the file of its payload is there),
stoppable (until told to stop; then makes that file), fail, retry and snooze (the first
time), crash, child (adds a job of type echo).

Files of tests/e2e import everything from here and define `command`, the driver's.
"""
import base64
import contextlib
import json
import os
import signal
import subprocess
import time
import uuid

import pytest

from clients.door import Door
from lib.api import wait_for
from lib.daemon import Place
from lib.tls import certificate, tls_options

SECONDS = 120
BIG = 9007199254740993 # no double has this value
UNICODE = "Zoë ✓ 日本 \U0001f40e \"\\\n\t\u0001 line"
BYTES = bytes(range(256)) * 3
HANDLERS = ("upper", "echo", "number", "wait", "stoppable", "fail", "retry", "snooze", "crash",
            "child")
CUT_OFF = (503, {"Retry-After": "1"}, b'{"code":"store_unavailable","detail":"away"}')
BUSY = (503, {"Retry-After": "1"}, b'{"code":"draining","detail":"later"}')
QUOTA = (429, {"Retry-After": "1"}, b'{"code":"quota_exceeded","detail":"enough"}')


class Refused(Exception):
    """The client said that it failed."""

    def __init__(self, error):
        super().__init__(str(error))
        self.code, self.status, self.ids = error["code"], error["status"], error.get("ids")


class Driver:
    """A client of the language that is tested."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen(
            [*command, "client"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, **(env or {})})

    def start(self, **what):
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        assert line, f"the driver ended with {self.process.wait(SECONDS)}"
        said = json.loads(line)
        if "error" in said:
            raise Refused(said["error"])
        return said["ok"]

    def ask(self, **what):
        self.start(**what)
        return self.answer()

    def add(self, type, **more):
        return self.ask(do="add", type=type, **more)

    def get(self, id):
        return self.ask(do="get", id=id)

    def wait(self, id):
        return self.ask(do="wait", id=id, timeout=SECONDS)

    def close(self):
        self.process.stdin.close()
        try:
            assert self.process.wait(SECONDS) == 0 # else a sanitizer has found something
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.process.stdout.close()


class World:
    """A daemon, a tenant with handlers, and clients and workers of the language."""

    def __init__(self, place, command):
        self.place, self.command = place, command
        self.node = place.daemons[0]
        self.tenant = "t" + uuid.uuid4().hex[:10]
        self.api = self.node.api(SECONDS, self.tenant)
        self.folder = place.path / self.tenant
        self.folder.mkdir()
        for type in HANDLERS:
            answer = self.api.request("PUT", f"/handlers/{type}?tenant={self.tenant}",
                                      {"lang": "pull", "retry_delay": "PT0.1S"})
            assert answer.status == 201, answer
        self.ends = contextlib.ExitStack()

    @property
    def url(self):
        return f"unix:{self.node.socket()}"

    def client(self, url=None, env=None, **options):
        driver = Driver(self.command, env)
        self.ends.callback(driver.close)
        driver.ask(do="open", url=url or self.url, **{"tenant": self.tenant, **options})
        return driver

    def worker(self, concurrency=2, lease=30, url=None, env=None, stderr=None):
        ask = {"url": url or self.url, "tenant": self.tenant, "concurrency": concurrency,
               "lease": lease}
        process = subprocess.Popen([*self.command, "worker", json.dumps(ask)], stderr=stderr,
                                   stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
        self.ends.callback(end, process)
        return process

    def door(self):
        door = Door(self.node.socket())
        self.ends.callback(door.close)
        return door

    def file(self, name):
        return str(self.folder / name)

    def open_gate(self, name):
        (self.folder / name).touch()

    def in_hand(self, id):
        """A worker has the job, and has told progress."""
        wait_for(lambda: self.api.job(id)["progress"] == 10, SECONDS,
                 lambda: f"nobody took {self.api.job(id)}")

    def count(self, **query):
        return len(self.api.all(tenant=self.tenant, **query))


def end(process):
    if process.poll() is None:
        process.kill()
    process.wait()


@pytest.fixture(scope="module")
def place():
    with Place() as made:
        made.daemon("--slots", "2").start()
        yield made


@pytest.fixture
def world(place, command):
    made = World(place, command)
    with made.ends:
        yield made
    made.api.close()


# --- Adding and asking ---------------------------------------------------------------------

def test_payloads_and_results_come_back_as_they_were_sent(world):
    """Text of any alphabet, bytes, and numbers that no double has."""
    client = world.client()
    long = UNICODE * 10_000
    sent = [client.add("echo", text=UNICODE), client.add("echo", text=""),
            client.add("echo", base64=base64.b64encode(BYTES).decode()),
            client.add("number", json={"n": BIG}), client.add("echo", text=long)]
    assert client.get(sent[0])["payload"] == {"text": UNICODE}
    assert client.get(sent[2])["payload"] == {"base64": base64.b64encode(BYTES).decode()}
    assert json.loads(client.get(sent[3])["payload"]["text"]) == {"n": BIG}
    world.worker()
    done = [client.wait(id) for id in sent]
    assert [job["state"] for job in done] == ["done"] * 5 and done[4]["result"] == {"text": long}
    assert done[0]["result"] == {"text": UNICODE}
    assert done[1]["result"] in ({"text": ""}, None)
    assert done[2]["result"] == {"base64": base64.b64encode(BYTES).decode()}
    assert json.loads(done[3]["result"]["text"]) == {"n": BIG + 1}


def test_fields_of_a_job_are_passed_on(world):
    id = world.client().add("echo", text="x", fields={"priority": 9, "tags": ["a", "b"],
                                                      "delay": "PT1H"})
    job = world.api.job(id)
    assert (job["priority"], job["tags"], job["state"]) == (9, ["a", "b"], "deferred")


def test_many_jobs_in_one_request(world):
    door = world.door()
    client = world.client(door.url)
    ids = client.ask(do="add_many", jobs=[{"type": "echo", "text": f"job {n}"}
                                          for n in range(3000)])
    assert len(set(ids)) == 3000 and ids == sorted(ids) and len(door.seen) == 1
    assert world.count() == 3000
    assert client.get(ids[2999])["payload"] == {"text": "job 2999"}
    assert client.ask(do="add_many", jobs=[]) == []


def test_a_bad_job_among_many_is_told_and_the_others_are_added(world):
    with pytest.raises(Refused) as why:
        world.client().ask(do="add_many", jobs=[
            {"type": "echo", "text": "a"}, {"type": "echo", "fields": {"colour": "blue"}},
            {"type": "echo", "text": "c"}])
    assert why.value.code == "unknown_field"
    assert [bool(id) for id in why.value.ids] == [True, False, True]
    assert world.count() == 2


def test_what_is_refused_is_told_by_its_code(world):
    client = world.client()
    for ask, code, status in [
            ({"do": "get", "id": "0000000000000"}, "job_not_found", 404),
            ({"do": "cancel", "id": "0000000000000"}, "job_not_found", 404),
            ({"do": "add", "type": "not a name"}, "invalid_name", 422)]:
        with pytest.raises(Refused) as why:
            client.ask(**ask)
        assert (why.value.code, why.value.status) == (code, status)


def test_a_job_can_be_cancelled_twice(world):
    client = world.client()
    id = client.add("echo", text="x")
    assert client.ask(do="cancel", id=id) == "cancelled"
    assert client.ask(do="cancel", id=id) == "cancelled"
    assert client.wait(id)["state"] == "cancelled"


def test_waiting_has_an_end(world):
    client = world.client()
    id = client.add("echo", text="x")
    with pytest.raises(Refused) as why:
        client.ask(do="wait", id=id, timeout=0.2)
    assert why.value.code == "timeout"


# --- Trouble -----------------------------------------------------------------------------------

def test_a_lost_answer_adds_nothing_twice(world):
    """The same key is sent again, and the daemon answers as it did the first time."""
    door = world.door()
    client = world.client(door.url)
    door.todo = ["lose", "lose"]
    id = client.add("echo", text="once")
    door.todo = ["lose"]
    ids = client.ask(do="add_many", jobs=[{"type": "echo", "text": str(n)} for n in range(5)])
    keys = [key for _, key in door.seen]
    assert len(keys) == 5 and len(set(keys[:3])) == 1 and len(set(keys[3:])) == 1
    assert keys[0] and keys[3] and keys[0] != keys[3]
    assert {job["id"] for job in world.api.all(tenant=world.tenant)} == {id, *ids}
    other = client.add("echo", text="mine", key="order-17")
    assert client.add("echo", text="mine", key="order-17") == other


def test_a_connection_that_was_hung_up_is_no_failure(world):
    """The daemon hangs up on who is silent for a minute: that is not trouble to wait for."""
    door = world.door()
    client = world.client(door.url, retry_for=0)
    door.todo = ["last", "last"]
    assert len({client.add("echo", text=f"{n}") for n in range(3)}) == 3
    assert world.count() == 3


def test_retry_after_is_obeyed(world):
    door = world.door()
    client = world.client(door.url)
    door.todo = [BUSY]
    client.add("echo", text="patient")
    times = [when for when, _ in door.seen]
    assert len(times) == 2 and times[1] - times[0] >= 0.99
    assert world.count() == 1


def test_patience_has_an_end(world):
    door = world.door()
    client = world.client(door.url, retry_for=1)
    door.todo = [QUOTA] * 10
    with pytest.raises(Refused) as why:
        client.add("echo", text="never")
    assert (why.value.code, why.value.status) == ("quota_exceeded", 429)
    assert 1 <= len(door.seen) <= 3 and world.count() == 0
    nobody = world.client("http://127.0.0.1:9", retry_for=0.2)
    with pytest.raises(Refused) as why:
        nobody.add("echo", text="never")
    assert (why.value.code, why.value.status) == ("daemon_unreachable", 0)


def test_the_key_is_left_out_only_when_told_to(world):
    """A node that is cut off from its store refuses keys."""
    door = world.door()
    door.todo = [CUT_OFF] * 10
    with pytest.raises(Refused) as why:
        world.client(door.url, retry_for=1).add("echo", text="no")
    assert why.value.code == "store_unavailable" and all(key for _, key in door.seen)
    door.todo, door.seen = [CUT_OFF], []
    world.client(door.url, keyless=True).add("echo", text="yes")
    assert [bool(key) for _, key in door.seen] == [True, False] and world.count() == 1
    # After a lost answer nobody knows whether it was added: it needs the key.
    door.todo, door.seen = ["lose", CUT_OFF], []
    world.client(door.url, keyless=True).add("echo", text="once")
    assert len({key for _, key in door.seen}) == 1 and world.count() == 2


def test_https_and_tokens(world, tmp_path):
    cert, key = certificate(tmp_path, "one")
    node = world.place.daemon(*tls_options(cert, key), data=world.folder / "tls").start()
    made = node.api().request("POST", "/tokens", {"name": "app", "scopes": ["read", "enqueue"]})
    url = "https://%s:%d" % node.address()
    trust = {"SSL_CERT_FILE": str(cert), "NODE_EXTRA_CA_CERTS": str(cert)}
    with pytest.raises(Refused) as why:
        world.client(url, trust, tenant=None).add("echo", text="x")
    assert (why.value.code, why.value.status) == ("token_missing", 401)
    worker = world.worker(url=url, env=trust, stderr=subprocess.DEVNULL)
    assert worker.wait(SECONDS) > 0 # it may not work
    client = world.client(url, trust, tenant=None, token=made.json()["token"])
    assert client.get(client.add("echo", text="x"))["payload"] == {"text": "x"}
    with pytest.raises(Refused) as why:
        world.client(url, tenant=None, retry_for=0).add("echo", text="x")
    assert why.value.code == "daemon_unreachable" # its certificate is not known
    node.cleanup()


# --- Working -------------------------------------------------------------------------------------

def test_how_a_handler_ends_its_job(world):
    client = world.client()
    world.worker()
    ids = {type: client.add(type, text="x", fields={"max_retries": 1}) for type in
           ("fail", "retry", "snooze", "crash", "child")}
    done = {type: client.wait(id) for type, id in ids.items()}
    assert done["fail"]["state"] == "failed" and done["fail"]["error"] == "no such thing"
    assert done["fail"]["attempt"] == 1
    for type, result in (("retry", "second"), ("snooze", "woke")):
        assert done[type]["state"] == "done" and done[type]["attempt"] == 2
        assert done[type]["result"] == {"text": result}
    assert done["crash"]["state"] == "rejected" and "broken" in done["crash"]["error"]
    assert done["child"]["state"] == "done"
    grandchild, = world.api.all(tenant=world.tenant, parent=ids["child"])
    assert grandchild["payload"] == f"of {ids['child']}" and grandchild["priority"] == 7
    for type in ("retry", "snooze"):
        codes = [attempt["code"] for attempt in
                 world.api.get(f"/jobs/{ids[type]}/attempts")["items"]]
        assert codes[0] != "error" and codes[1] == "ok" # neither is an error


def test_jobs_run_side_by_side_and_are_renewed(world):
    """dt is the end of the lease: it moves while the attempt is the same."""
    client = world.client()
    world.worker(concurrency=3, lease=6)
    ids = [client.add("wait", text=world.file("gate")) for _ in range(3)]
    for id in ids:
        world.in_hand(id)
    assert world.api.job(ids[0])["message"] == "waiting"
    first = {id: world.api.job(id)["dt"] for id in ids}
    for id in ids:
        wait_for(lambda id=id: world.api.job(id)["dt"] > first[id], SECONDS)
    world.open_gate("gate")
    assert [client.wait(id)["attempt"] for id in ids] == [1, 1, 1]


def test_sigterm_finishes_what_is_in_hand_and_takes_no_more(world):
    client = world.client()
    worker = world.worker(concurrency=2)
    ids = [client.add("wait", text=world.file("gate")) for _ in range(2)]
    for id in ids:
        world.in_hand(id)
    behind = client.add("echo", text="later")
    worker.send_signal(signal.SIGTERM)
    world.open_gate("gate")
    assert worker.wait(SECONDS) == 0
    for id in ids:
        job = client.get(id)
        assert job["state"] == "done" and job["attempt"] == 1
    assert client.get(behind)["state"] in ("ready", "done") # the other slot may have had it
    assert world.count(state="running") == 0


def test_an_idle_worker_asks_with_pauses_and_stops(world):
    """Also where the daemon does not let it wait."""
    door = world.door()
    door.others["/claims"] = [(204, {}, b"")] * 1000
    client = world.client()
    began = time.monotonic()
    worker = world.worker(url=door.url)
    wait_for(lambda: len(door.asked.get("/claims", [])) >= 4, SECONDS)
    count = len(door.asked["/claims"])
    assert count <= (time.monotonic() - began) / 0.5 + 1 # however late they came
    door.others["/claims"].clear()
    assert client.wait(client.add("echo", text="x"))["state"] == "done"
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(SECONDS) == 0


def test_a_result_is_told_again_when_its_answer_is_lost(world):
    door = world.door()
    door.others["/claims/finish"] = ["lose", BUSY]
    client = world.client()
    world.worker(url=door.url)
    job = client.wait(client.add("echo", text="once"))
    assert job["state"] == "done" and job["attempt"] == 1
    wait_for(lambda: len(door.asked["/claims/finish"]) == 3, SECONDS)
    assert client.wait(client.add("echo", text="next"))["state"] == "done" # it goes on


def test_a_cancelled_job_hears_of_it(world):
    client = world.client()
    world.worker(lease=3) # renewed, and so told, every second
    id = client.add("stoppable", text=world.file("stopped"))
    world.in_hand(id)
    client.ask(do="cancel", id=id)
    wait_for(lambda: os.path.exists(world.file("stopped")), SECONDS)
    assert client.wait(id)["state"] == "cancelled"


def test_a_worker_that_slept_too_long_has_lost_its_job(world):
    client = world.client()
    worker = world.worker(lease=2)
    id = client.add("stoppable", text=world.file("stopped"), fields={"max_retries": 0})
    world.in_hand(id)
    worker.send_signal(signal.SIGSTOP)
    try:
        assert client.wait(id)["state"] == "rejected"
    finally:
        worker.send_signal(signal.SIGCONT)
    wait_for(lambda: os.path.exists(world.file("stopped")), SECONDS)
    assert client.wait(client.add("echo", text="next"))["state"] == "done"
    assert client.get(id)["state"] == "rejected"


def test_a_restart_of_the_daemon_is_lived_through(world):
    """By clients that wait, workers that work, and those that add meanwhile."""
    waiting, adding = world.client(retry_for=SECONDS), world.client(retry_for=SECONDS)
    world.worker(concurrency=2)
    id = waiting.add("wait", text=world.file("gate"), fields={"max_retries": 0})
    world.in_hand(id)
    waiting.start(do="wait", id=id, timeout=SECONDS)
    world.node.kill()
    adding.start(do="add", type="echo", text="while it is away")
    world.open_gate("gate")
    world.node.start()
    world.api.close()
    job = waiting.answer()
    assert job["state"] == "done" and job["attempt"] == 1 and job["result"] == {"text": "waited"}
    later = adding.answer()
    assert waiting.wait(later)["result"] == {"text": "while it is away"}
    assert world.count() == 2


# --- For the tests of applications ---------------------------------------------------------

def test_a_fake_keeps_jobs_until_a_worker_runs(world):
    client = world.client("fake:")
    id = client.add("upper", text="word")
    assert client.get(id)["state"] == "ready" and client.get(id)["payload"] == {"text": "word"}
    number = client.add("number", json={"n": BIG})
    failed, crashed = client.add("fail"), client.add("crash")
    assert client.add("upper", text="x", key="k") == client.add("upper", text="x", key="k")
    parent = client.add("child", text="x")
    client.ask(do="run")
    done = client.wait(id)
    assert done["state"] == "done" and done["result"] == {"text": "WORD"}
    assert json.loads(client.wait(number)["result"]["text"]) == {"n": BIG + 1}
    assert client.wait(failed)["error"] == "no such thing"
    assert client.wait(failed)["state"] == "failed"
    assert client.wait(crashed)["state"] == "rejected"
    assert client.wait(parent)["state"] == "done"
    with pytest.raises(Refused) as why:
        client.get("0000000000000")
    assert why.value.code == "job_not_found"
    assert world.count() == 0 # no daemon has heard of it


def test_inline_runs_a_job_when_it_is_added(world):
    client = world.client("inline:")
    assert client.get(client.add("upper", text="word"))["result"] == {"text": "WORD"}
    ids = client.ask(do="add_many", jobs=[{"type": "upper", "text": "a"},
                                          {"type": "echo", "base64": "/wAB"}])
    assert client.wait(ids[0])["result"] == {"text": "A"}
    assert client.wait(ids[1])["result"] == {"base64": "/wAB"}
    with pytest.raises(Refused) as why:
        client.add("unheard-of", text="x")
    assert why.value.code == "handler_not_found"
