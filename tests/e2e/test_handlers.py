# SPDX-License-Identifier: Apache-2.0
"""Handlers against a real daemon: set, used, versioned, switched, deleted, and what the
end of their jobs brings about (founding document 002)."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402

ECHO = "read line; echo \"R: 200 $line\""


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def node(home):
    return home.daemon("--slots", "4", "--set", "daemon.grace=500ms").start()


class Tenant:
    """A tenant of the test's own, so that tests do not see each other."""

    def __init__(self, node, home):
        self.api, self.home = node.api(), home
        self.node = node
        self.name = self.api.tenant = "t" + uuid.uuid4().hex[:10]

    def ask(self, method, path, body=None, status=200, **headers):
        """A founding path when it begins with two slashes."""
        if path.startswith("//"):
            path = f"//{self.name}{path[1:]}"
        else:
            path += ("&" if "?" in path else "?") + f"tenant={self.name}"
        answer = self.api.request(method, path, body, headers)
        assert answer.status == status, answer
        return answer.json()

    def set(self, type, body, status=None, **fields):
        answer = self.api.request("PUT", f"/handlers/{type}?tenant={self.name}",
                                  {"lang": "sh", "body": body, **fields})
        assert answer.status == status if status else answer.status in (200, 201), answer
        return answer.json()

    def get(self, type, status=200):
        return self.ask("GET", f"/handlers/{type}", status=status)

    def add(self, type, payload="", **fields):
        return self.api.add(type=type, payload=payload, tenant=self.name, **fields)["id"]

    def lines(self, type, *payloads, query=""):
        told = self.ask("POST", f"//job/{type}/add{query}", "\n".join(payloads).encode())
        return told["ids"]

    def until(self, id, *states):
        return self.api.until(id, states) if states else self.api.until(id)

    def result(self, id):
        answer = self.api.request("GET", f"/jobs/{id}/result?tenant={self.name}")
        assert answer.status == 200, answer
        return answer.body.decode()

    def of(self, type):
        return sorted(self.api.all(type=type, tenant=self.name), key=lambda job: job["id"])

    def until_one_of(self, type):
        return wait_for(lambda: self.of(type), 120)[0]

    def gate(self):
        return self.home.path / uuid.uuid4().hex

    def cli(self, *words, stdin=None, code=0):
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("PAWL_")}
        done = subprocess.run(
            [program(), words[0], "--tenant", self.name, *map(str, words[1:])], input=stdin,
            capture_output=True, timeout=120, cwd=self.home.path,
            env={**env, "PAWL_SERVER": f"unix:{self.node.socket()}"})
        assert done.returncode == code, done.stderr.decode()
        return done.stdout.decode()


@pytest.fixture
def tenant(node, home):
    tenant = Tenant(node, home)
    yield tenant
    tenant.api.close()


@pytest.fixture
def other(node, home):
    tenant = Tenant(node, home)
    yield tenant
    tenant.api.close()


WAIT = "while [ ! -e \"$GATE\" ]; do sleep 0.02; done; "


# --- setting, and running what was added ----------------------------------------------

def test_a_handler_set_by_the_api_runs_jobs(tenant):
    """S2.80, S2.81, S2.2, S2.3, S2.51, S2.52."""
    made = tenant.set("echo", ECHO, status=201)
    assert (made["type"], made["tenant"], made["version"]) == ("echo", tenant.name, 1)
    assert (made["lang"], made["body"], made["enabled"]) == ("sh", ECHO, True)
    assert tenant.get("echo") == made
    job = tenant.until(tenant.add("echo", "hello there"))
    assert (job["state"], job["code"], job["exitcode"]) == ("done", "ok", 200)
    assert tenant.result(job["id"]) == "hello there"


@pytest.mark.parametrize("method, add, get, delete", [
    ("POST", "//handler/add/{}/add?method=sh", "//handler/get/{}",
     ("POST", "//handler/del/{}/delete")),
    ("PUT", "//handler/add/{}/add?method=sh", "//handler/get/{}",
     ("DELETE", "//handler/del/{}/delete")),
    ("PUT", "//handler/{}?method=sh", "//handler/{}", ("DELETE", "//handler/{}")),
])
def test_the_founding_paths(tenant, method, add, get, delete):
    """S2.59-S2.62, S2.82: lines in, ids in their order, payloads on standard input."""
    body = b"#!/bin/sh\nread line\necho \"R: 200 <$line>\"\n"
    told = tenant.ask(method, add.format("echo"), body)
    assert (told["ok"], told["version"], told["lang"]) == (True, 1, "sh")
    shown = tenant.ask("GET", get.format("echo"))
    assert shown["body"] == body.decode()
    payloads = [f"payload {number}" for number in range(20)]
    ids = tenant.lines("echo", *payloads)
    assert ids == sorted(ids)
    for id, payload in zip(ids, payloads):
        job = tenant.until(id)
        assert (job["state"], job["payload"], job["type"]) == ("done", payload, "echo")
        assert tenant.result(id) == f"<{payload}>"
    assert tenant.ask(delete[0], delete[1].format("echo"))["ok"] is True
    gone = tenant.ask("GET", get.format("echo"), status=404)
    assert gone["ok"] is False and gone["error"] == gone["detail"] != ""
    tenant.ask(delete[0], delete[1].format("echo"), status=404)


def test_a_founding_handler_as_an_object(tenant):
    """S2.98: the object says the same in JSON; the query adds to it."""
    told = tenant.ask("PUT", "//handler/echo?max_retries=2&queue=slow",
                      {"lang": "exec", "body": ["ignored"]}, status=422)
    assert told["code"] == "wrong_type"
    told = tenant.ask("PUT", "//handler/echo?max_retries=2&queue=slow",
                      {"lang": "exec", "body": "cat"})
    assert (told["lang"], told["max_retries"], told["queue"]) == ("exec", 2, "slow")


def test_the_command_line(tenant):
    """pawl handler set, get, ls, versions, rollback, disable, enable, rm."""
    script = tenant.home.path / f"{tenant.name}.sh"
    script.write_text(ECHO + "\n")
    assert tenant.cli("handler", "set", "echo", "--file", script, "--retries", "3",
                      "--queue", "slow", "--then", "next", "--exit-map", "3=400",
                      "--env", "A=1", "--max-run-time", "1m") == "echo version 1\n"
    made = tenant.get("echo")
    assert (made["lang"], made["body"]) == ("sh", ECHO + "\n")
    assert (made["max_retries"], made["queue"], made["then"]) == (3, "slow", "next")
    assert (made["exit_map"], made["env"]) == ({"3": 400}, {"A": "1"})
    assert made["max_run_time"] == "PT1M"
    assert tenant.cli("handler", "get", "echo", "--body") == ECHO + "\n"
    assert ECHO in tenant.cli("handler", "get", "echo")
    assert json.loads(tenant.cli("handler", "get", "echo", "--json")) == made
    assert tenant.cli("handler", "set", "echo", "-", stdin=b"echo 'R: 200 in'") == \
        "echo version 2\n"
    assert tenant.cli("handler", "set", "echo", "--lang", "exec", "--", "echo", "a  b",
                      "R: 200 c") == "echo version 3\n"
    assert json.loads(tenant.get("echo")["body"]) == ["echo", "a  b", "R: 200 c"]
    listed = tenant.cli("handler", "ls").splitlines()
    assert listed[0].split()[:3] == ["TYPE", "LANG", "VERSION"]
    assert listed[1].split()[:4] == ["echo", "exec", "3", "enabled"] and len(listed) == 2
    assert [line.split()[2] for line in
            tenant.cli("handler", "versions", "echo").splitlines()[1:]] == ["3", "2", "1"]
    assert tenant.cli("handler", "rollback", "echo") == "echo version 4\n"
    assert tenant.get("echo")["body"] == "echo 'R: 200 in'"
    assert tenant.cli("handler", "rollback", "echo", "1") == "echo version 5\n"
    assert tenant.cli("handler", "disable", "echo") == "echo version 5 (disabled)\n"
    assert tenant.cli("handler", "enable", "echo") == "echo version 5\n"
    id = tenant.cli("add", "echo", "said").strip()
    assert tenant.until(id)["state"] == "done" and tenant.result(id) == "said"
    assert tenant.cli("handler", "rm", "echo") == "echo removed\n"
    tenant.cli("handler", "get", "echo", code=3)
    tenant.cli("handler", "rm", "echo", code=3)
    tenant.cli("handler", "rollback", "echo", "77", code=3)
    for words in (["set", "echo"], ["set"], ["get"], ["stet", "echo"], ["ls", "x"],
                  ["set", "echo", "a", "b"], ["rollback", "echo", "x"],
                  ["set", "echo", "x", "--file", script]):
        tenant.cli("handler", *words, code=2)


# --- languages (S2.100, S2.103) -------------------------------------------------------

@pytest.mark.parametrize("lang, body", [
    ("exec", "cat"),
    ("exec", "sh -c 'cat; true \"a  b\"'"),
    ("exec", '["sh", "-c", "cat", "x"]'),
    ("sh", "cat"),
    ("bash", "mapfile -t lines; printf '%s\\n' \"${lines[@]}\""),
])
def test_languages(tenant, lang, body):
    if lang == "bash" and not os.path.exists("/bin/bash"):
        pytest.skip("there is no bash")
    tenant.set("copy", body, lang=lang)
    id = tenant.until(tenant.add("copy", "first\nsecond"))["id"]
    log = tenant.api.request("GET", f"/jobs/{id}/log?stream=stdout")
    assert log.body == b"first\nsecond\n"


@pytest.mark.parametrize("fields, code", [
    ({"lang": "fortran"}, "invalid_value"),
    ({"body": ""}, "missing_field"),
    ({"body": "x" * ((1 << 20) + 1)}, "handler_too_large"),
    ({"lang": "exec", "body": "'open"}, "invalid_value"),
    ({"bodi": "x"}, "unknown_field"),
    ({"batch": 10001}, "invalid_value"),
    ({"then": "not a name"}, "invalid_name"),
    ({"then": "x"}, "invalid_value"), # its own type: it would go on without end
    ({"exit_map": {"1": 99}}, "invalid_value"),
])
def test_bad_handlers_are_refused_and_nothing_is_set(tenant, fields, code):
    answer = tenant.api.request("PUT", f"/handlers/x?tenant={tenant.name}",
                                {"lang": "sh", "body": "true", **fields})
    assert answer.status in (413, 422) and answer.json()["code"] == code, answer
    tenant.get("x", 404)


# --- a type without a handler ---------------------------------------------------------

def test_jobs_wait_for_a_handler_and_are_freed(tenant):
    """S2.83, S2.79: it is said why, and no attempt is charged."""
    ids = tenant.lines("echo", "one", "two", "three")
    job = tenant.api.job(ids[0])
    assert (job["state"], job["reason"], job["attempt"]) == ("blocked", "no_handler", 0)
    told = tenant.ask("GET", f"/jobs/{ids[0]}/explain")
    assert told["reason"] == "no_handler"
    assert told["text"].startswith("no handler for type echo")
    assert told["help"].startswith("pawl handler set echo ")
    assert told["until"] == job["dt"]
    tenant.set("echo", ECHO)
    assert [tenant.result(tenant.until(id)["id"]) for id in ids] == ["one", "two", "three"]
    assert tenant.api.job(ids[0])["attempt"] == 1


def test_the_first_handler_speaks_for_jobs_that_came_before(tenant):
    """As if they had come after it."""
    id = tenant.add("late")
    own = tenant.add("late", queue="mine", max_retries=0)
    tenant.set("late", "exit 1", queue="slow", priority=8, max_retries=1,
               retry_delay="10ms", on_error="alarm")
    job, mine = tenant.until(id), tenant.until(own)
    assert (job["queue"], job["priority"], job["attempt"]) == ("slow", 8, 2)
    assert (mine["queue"], mine["attempt"]) == ("mine", 1)
    assert job["state"] == mine["state"] == "rejected"
    assert len(tenant.of("alarm")) == 2


def test_a_job_that_never_gets_a_handler_is_rejected(tenant):
    """S2.83: when its window is over."""
    id = tenant.add("never", retry_window="300ms")
    job = tenant.until(id)
    assert (job["state"], job["reason"], job["attempt"]) == ("rejected", "no_handler", 0)


def test_a_restart_forgets_neither_handlers_nor_who_waits(home):
    """S2.79."""
    node = home.daemon(data=home.path / "again").start()
    api = node.api()
    assert api.request("PUT", "/handlers/echo", {"body": ECHO}).status == 201
    assert api.request("PUT", "/handlers/gone", {"body": ECHO}).status == 201
    assert api.request("DELETE", "/handlers/gone").status == 200
    waiting = api.add(type="later", payload="p")["id"]
    node.restart()
    api = node.api()
    assert api.get("/handlers/echo")["version"] == 1
    assert api.request("GET", "/handlers/gone").status == 404
    assert api.until(api.add(type="echo", payload="x")["id"])["state"] == "done"
    assert api.job(waiting)["state"] == "blocked"
    assert api.request("PUT", "/handlers/gone", {"body": ECHO}).json()["version"] == 2
    assert api.request("PUT", "/handlers/later", {"body": ECHO}).status == 201
    node.restart() # at once: what was answered holds
    assert node.api().until(waiting)["state"] == "done"
    node.cleanup()
    shutil.rmtree(node.data)


# --- versions -------------------------------------------------------------------------

def test_the_newest_version_is_used_and_running_jobs_keep_theirs(tenant):
    """S2.94, S2.96."""
    gate = tenant.gate()
    first = tenant.set("work", WAIT + "echo 'R: 200 first'; exit 3", env={"GATE": str(gate)},
                       exit_map={"3": 200})
    old = tenant.add("work")
    tenant.until(old, "running")
    second = tenant.set("work", "echo 'R: 200 second'", status=200)
    assert (first["version"], second["version"]) == (1, 2)
    assert first["id"] != second["id"] and first["created_at"] <= second["created_at"]
    new = tenant.add("work")
    assert tenant.until(new)["state"] == "done" and tenant.result(new) == "second"
    gate.touch()
    assert tenant.until(old)["state"] == "done" and tenant.result(old) == "first"
    versions = tenant.ask("GET", "/handlers/work/versions")
    assert [item["version"] for item in versions["items"]] == [2, 1]
    assert versions["next_cursor"] is None


def test_the_version_goes_with_the_attempt(tenant):
    """S2.94, S2.96: also over kill -9 of the daemon: what was started with a version ends by
    its exit_map and keep_result; each attempt tells which it was."""
    gate = tenant.gate()
    tenant.set("work", WAIT + "echo 'R: 0 x'; exit 3", env={"GATE": str(gate)},
               exit_map={"3": 475}, max_retries=0)
    old = tenant.add("work")
    tenant.until(old, "running")
    tenant.set("work", "[ $PAWL_ATTEMPT = 2 ] || exit 3", status=200, exit_map={"3": 100},
               retry_delay="PT0.1S")
    tenant.node.restart()
    tenant.api = tenant.node.api(120, tenant.name)
    gate.touch()
    job = tenant.until(old)
    assert (job["state"], job["exitcode"]) == ("failed", 475), job
    new = tenant.add("work", held=True)
    tenant.set("work", "[ $PAWL_ATTEMPT = 2 ] || exit 3", exit_map={"3": 101},
               retry_delay="PT0.1S")
    tenant.api.act(new, "release")
    assert tenant.until(new)["state"] == "done"
    for id, versions in ((old, [1]), (new, [3, 3])):
        runs = tenant.api.get(f"/jobs/{id}/attempts")["items"]
        assert [run["handler_version"] for run in runs] == versions, runs


def test_rollback(tenant):
    """S2.94: what an older version was becomes the newest."""
    for number in range(1, 4):
        tenant.set("work", f"echo 'R: 200 {number}'")
    told = tenant.ask("POST", "/handlers/work/rollback")
    assert (told["version"], told["body"]) == (4, "echo 'R: 200 2'")
    told = tenant.ask("POST", "/handlers/work/rollback", {"version": 1})
    assert told["version"] == 5
    id = tenant.add("work")
    assert tenant.until(id)["state"] == "done" and tenant.result(id) == "1"
    tenant.ask("POST", "/handlers/work/rollback", {"version": 99}, status=404)


def test_disable_and_enable(tenant):
    tenant.set("echo", ECHO)
    assert tenant.ask("POST", "/handlers/echo/disable")["enabled"] is False
    ids = [tenant.add("echo", str(number)) for number in range(3)]
    assert tenant.api.job(ids[0])["state"] == "blocked"
    told = tenant.ask("GET", f"/jobs/{ids[0]}/explain")
    assert told["reason"] == "handler_disabled"
    assert told["help"].startswith("pawl handler enable echo")
    assert tenant.ask("POST", "/handlers/echo/enable")["enabled"] is True
    assert [tenant.result(tenant.until(id)["id"]) for id in ids] == ["0", "1", "2"]


def test_delete_lets_running_jobs_end(tenant):
    """S2.61, S2.82."""
    gate = tenant.gate()
    tenant.set("work", WAIT + "echo 'R: 200 ended'", env={"GATE": str(gate)})
    running = tenant.add("work")
    tenant.until(running, "running")
    tenant.ask("DELETE", "/handlers/work")
    tenant.get("work", 404)
    after = tenant.add("work")
    assert tenant.api.job(after)["state"] == "blocked"
    gate.touch()
    assert tenant.until(running)["state"] == "done"
    assert tenant.result(running) == "ended"
    assert tenant.set("work", "echo 'R: 200 again'", status=201)["version"] == 2
    assert tenant.until(after)["state"] == "done" and tenant.result(after) == "again"


# --- tenants (S2.4-S2.6, S2.95) -------------------------------------------------------

def test_tenants_are_kept_apart(tenant, other):
    tenant.set("work", "echo 'R: 200 mine'")
    theirs = other.add("work")
    assert other.api.job(theirs)["state"] == "blocked"
    other.get("work", 404)
    other.ask("DELETE", "/handlers/work", status=404)
    other.ask("GET", "/handlers/work/versions", status=404)
    other.ask("POST", "/handlers/work/rollback", {"version": 1}, status=404)
    assert other.ask("GET", "/handlers")["items"] == []
    other.set("work", "echo 'R: 200 theirs'", status=201)
    mine = tenant.add("work")
    assert tenant.result(tenant.until(mine)["id"]) == "mine"
    assert other.result(other.until(theirs)["id"]) == "theirs"
    other.ask("DELETE", "/handlers/work")
    assert tenant.get("work")["version"] == 1


@pytest.mark.parametrize("mark", ["J", "#J", "J!"])
def test_children_are_of_the_same_tenant_and_run(tenant, mark):
    """S2.5: whatever the line says about tenants; the parent is told."""
    tenant.set("child", ECHO)
    tenant.set("parent", f"echo '{mark}: child|from above'; echo '{mark}: x-child|forged'")
    parent = tenant.until(tenant.add("parent"))
    child = tenant.until_one_of("child")
    forged = tenant.until_one_of("x-child")
    assert child["parent"] == forged["parent"] == parent["id"]
    assert child["tenant"] == forged["tenant"] == tenant.name
    assert tenant.until(child["id"])["state"] == "done"
    assert tenant.result(child["id"]) == "from above"
    assert tenant.api.job(forged["id"])["state"] == "blocked"


# --- what follows an end --------------------------------------------------------------

def test_then_gets_the_result_as_payload(tenant):
    """S2.118: of the handler, and of a job that says otherwise; over two steps."""
    tenant.set("one", "read line; echo \"R: 200 1$line\"", then="two")
    tenant.set("two", "read line; echo \"R: 200 2$line\"", then="three")
    tenant.set("three", ECHO)
    first = tenant.add("one", "x")
    last = tenant.until(tenant.until_one_of("three")["id"])
    assert last["payload"] == "21x" and tenant.result(last["id"]) == "21x"
    second, = tenant.of("two")
    assert (second["payload"], second["parent"]) == ("1x", first)
    assert last["parent"] == second["id"]
    tenant.add("one", "y", then="other")
    assert tenant.until_one_of("other")["payload"] == "1y"
    assert len(tenant.of("two")) == 1


def test_a_circle_of_then_ends_with_a_word(tenant):
    """Two handlers that follow each other: `chain_max` steps, then the last job says why
    nothing follows it."""
    api = tenant.api
    assert api.get("/config")["chain_max"] == 1000
    assert api.request("PATCH", "/config", {"chain_max": 4}).status == 200
    try:
        tenant.set("tick", "read n; echo \"R: 200 $((n + 1))\"", then="tock")
        tenant.set("tock", "read n; echo \"R: 200 $((n + 1))\"", then="tick")
        first = tenant.add("tick", "0")
        jobs = wait_for(lambda: (found := tenant.of("tick") + tenant.of("tock")) and
                        any("follows" in (job.get("message") or "") for job in found) and
                        found, 120)
        assert sorted(job["payload"] for job in jobs) == ["0", "1", "2", "3", "4"]
        assert all(job["state"] == "done" for job in jobs)
        last = max(jobs, key=lambda job: job["payload"])
        assert last["message"] == (
            "no job of type tock follows: 4 `then` steps in a row led to this one, as many "
            "as `chain_max` allows")
        assert first in {job["id"] for job in jobs}
    finally:
        assert api.request("PATCH", "/config", {"chain_max": None}).status == 200


def test_then_follows_only_success(tenant):
    tenant.set("one", "echo 'R: 400 no'", then="two")
    assert tenant.until(tenant.add("one"))["state"] == "failed"
    assert tenant.of("two") == []


def test_on_error(tenant):
    """One job per failure, with the job and what went wrong."""
    tenant.set("work", "exit 65", on_error="alarm")
    tenant.set("alarm", "cat >&2; exit 64", on_error="alarm")
    id = tenant.add("work")
    assert tenant.until(id)["state"] == "failed"
    alarm = tenant.until(tenant.until_one_of("alarm")["id"])
    told = json.loads(alarm["payload"])
    assert (told["job"]["id"], told["job"]["type"]) == (id, "work")
    assert told["job"]["state"] == "failed" and "65" in told["error"]
    assert alarm["parent"] == id
    assert alarm["state"] == "failed" # and calls itself no more
    assert len(tenant.of("alarm")) == 1


# --- statuses (S2.50-S2.58) -----------------------------------------------------------

@pytest.mark.parametrize("said, state, code", [
    (200, "done", "ok"), (299, "done", "ok"), (400, "failed", "failed"),
    (499, "failed", "failed"), (100, "rejected", "retry"), (199, "rejected", "retry"),
    (500, "rejected", "error"), (599, "rejected", "error")])
def test_statuses(tenant, said, state, code):
    """S2.50, S2.52-S2.56, S2.58: 1xx and 5xx run again, 4xx does not."""
    tenant.set("work", f"echo 'R: {said} data'", max_retries=1, retry_delay="10ms")
    job = tenant.until(tenant.add("work"))
    assert (job["state"], job["code"], job["exitcode"]) == (state, code, said)
    assert job["attempt"] == (2 if state == "rejected" else 1)
    assert tenant.result(job["id"]) == "data"


def test_a_retry_that_succeeds(tenant):
    """S2.54, S2.57: at least once, until it is done."""
    tenant.set("work", "[ $PAWL_ATTEMPT = 3 ] || { echo 'R: 100 wait'; exit; }; "
                       "echo 'R: 200 at last'", retry_delay="10ms")
    job = tenant.until(tenant.add("work"))
    assert (job["state"], job["attempt"]) == ("done", 3)
    assert tenant.result(job["id"]) == "at last"


@pytest.mark.parametrize("status, state, exitcode", [
    (3, "failed", 400), (4, "done", 250), (0, "rejected", 150), (5, "rejected", 500),
    (75, "failed", 475)])
def test_exit_map(tenant, status, state, exitcode):
    tenant.set("work", f"exit {status}", max_retries=0,
               exit_map={"3": 400, "4": 250, "0": 150, "75": 475})
    job = tenant.until(tenant.add("work"))
    assert (job["state"], job["exitcode"], job["exit_status"]) == (state, exitcode, status)


def test_a_line_counts_more_than_the_exit_map(tenant):
    tenant.set("work", "echo 'R: 200 fine'; exit 3", exit_map={"3": 400})
    assert tenant.until(tenant.add("work"))["exitcode"] == 200


# --- defaults -------------------------------------------------------------------------

def test_a_job_takes_what_it_does_not_say_itself(tenant):
    tenant.set("work", "echo \"R: 200 $A $B $PWD\"", queue="slow", priority=-3,
               service_time="90s", max_run_time="1m", max_retries=4, retry_delay="2s",
               retry_window="1h", env={"A": "1", "B": "2"}, cwd="/")
    job = tenant.api.job(tenant.add("work"))
    assert (job["queue"], job["priority"], job["max_retries"]) == ("slow", -3, 4)
    assert (job["service_time"], job["max_run_time"]) == ("PT1M30S", "PT1M")
    assert (job["retry_delay"], job["retry_window"]) == ("PT2S", "PT1H")
    assert tenant.until(job["id"])["state"] == "done"
    assert tenant.result(job["id"]) == "1 2 /"
    own = tenant.add("work", queue="own", priority=0, max_retries=0, env={"B": "own"},
                     cwd="/tmp")
    job = tenant.until(own)
    assert (job["queue"], job["priority"], job["max_retries"]) == ("own", 0, 0)
    assert tenant.result(own) == "1 own /tmp"


def test_a_body_that_never_returns_is_ended(tenant):
    tenant.set("loop", "while :; do sleep 0.05; done", max_run_time="300ms", max_retries=0)
    job = tenant.until(tenant.add("loop"))
    assert (job["state"], job["exitcode"]) == ("rejected", 504)


def test_a_result_that_is_not_kept_still_reaches_then(tenant):
    tenant.set("one", ECHO, keep_result=False, then="two")
    id = tenant.add("one", "passed on")
    assert tenant.until(id)["result_size"] == 0
    assert tenant.until_one_of("two")["payload"] == "passed on"


def test_many_lines_through_a_handler(tenant):
    """S2.59: as many as come, each once."""
    out = tenant.gate()
    tenant.set("note", f"cat >>{out}")
    ids = tenant.lines("note", *(f"line {number}" for number in range(300)))
    for id in ids:
        assert tenant.until(id)["state"] == "done"
    assert sorted(out.read_text().splitlines()) == sorted(
        f"line {number}" for number in range(300))


# --- Trying out --------------------------------------------------------------------------

def tried(tenant, type, body=None, status=200):
    return tenant.ask("POST", f"/handlers/{type}/test", {"timeout": "PT60S", **(body or {})},
                      status=status)


def test_a_handler_is_tried_out_and_nothing_is_kept(tenant):
    tenant.set("try", "read line; echo \"got $line\"; echo oops >&2; echo 'J: next|x';"
                 " echo 'J!: now|y'; echo \"R: 201 $line!\"", then="after", max_retries=3)
    told = tried(tenant, "try", {"payload": "hello"})
    assert (told["code"], told["exitcode"], told["exit_status"]) == ("ok", 201, 0)
    assert told["result"] == "hello!" and told["error"] is None
    assert "got hello\n" in told["stdout"] and told["stderr"] == "oops\n"
    assert sorted((job["type"], job["payload"]) for job in told["jobs"]) == [
        ("next", "x"), ("now", "y")]
    assert tenant.api.all(tenant=tenant.name) == []


def test_a_trial_takes_an_older_version_or_one_that_is_not_stored(tenant):
    tenant.set("try", "echo 'R: 200 one'")
    tenant.set("try", "exit 3", exit_map={"3": 404})
    assert tried(tenant, "try")["exitcode"] == 404
    assert tried(tenant, "try", {"version": 1})["result"] == "one"
    told = tried(tenant, "new", {"handler": {"lang": "exec", "body": "cat"}, "payload": "text"})
    assert told["stdout"] == "text\n"
    tenant.get("new", 404)
    told = tried(tenant, "new", {"handler": {"lang": "exec", "body": "/no/such/program"}})
    assert told["code"] == "error" and "/no/such/program" in told["error"], told


def test_a_warm_handler_is_tried_too(tenant):
    told = tried(tenant, "warm", {"payload": "up", "handler": {
        "lang": "python", "body": "return payload.upper()"}, "timeout": "PT60S"})
    assert (told["code"], told["result"]) == ("ok", "UP"), told
    told = tried(tenant, "warm", {"handler": {
        "lang": "python", "body": "raise ValueError('no')"}, "timeout": "PT60S"})
    assert told["code"] == "error" and "no" in told["error"], told


def test_a_trial_that_never_ends_is_ended(tenant):
    told = tried(tenant, "loop", {"handler": {"body": "while :; do sleep 0.1; done"},
                             "timeout": "PT0.5S"})
    assert told["timed_out"] is True and told["exitcode"] == 504


def test_a_call_to_a_private_address_is_refused_in_a_trial_too(tenant):
    told = tried(tenant, "web", {"handler": {"lang": "http", "body": "http://127.0.0.1:9/"}})
    assert told["code"] in ("failed", "error") and "127.0.0.1" in told["error"], told


def test_a_disabled_handler_can_be_tried(tenant):
    tenant.set("off", "echo 'R: 200 works'", enabled=False)
    assert tried(tenant, "off")["result"] == "works"


def test_a_handler_is_tried_from_the_command_line(tenant):
    tenant.set("try", "cat; echo 'R: 200 fine'")
    def pawl(*words, **more):
        return subprocess.run([program(), "handler", "test", *words, "--tenant", tenant.name,
                               "--server", f"unix:{tenant.node.socket()}"], text=True,
                              capture_output=True, timeout=120, **more)
    done = pawl("try", "word", stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and done.stdout == \
        "word\nR: 200 fine\nok 200\nresult: fine\n", done
    assert pawl("try", "-", input="typed").stdout.startswith("typed\n")
    assert pawl("none", stdin=subprocess.DEVNULL).returncode == 3
    tenant.set("bad", "exit 65")
    assert pawl("bad", stdin=subprocess.DEVNULL).returncode == 1


# --- Bad input ---------------------------------------------------------------------------

@pytest.mark.parametrize("query, body, status, code", [
    ("?method=cobol", b"x", 422, "invalid_value"),
    ("?method=sh", b"", 422, "missing_field"),
    ("?method=sh", b"x" * (1 << 20) + b"x", 413, "handler_too_large"),
    ("?method=sh", b"x" * 131072, 413, "handler_too_large"),
    ("?method=sh", b"a\0b", 422, "invalid_value"),
    ("?method=sh", b"\xff", 422, "invalid_value"),
], ids=["unknown-lang", "empty", "over-1M", "over-argument", "nul", "no-utf8"])
def test_a_bad_handler_is_refused_and_the_old_one_stays(tenant, query, body, status, code):
    tenant.set("keep", ECHO)
    told = tenant.ask("POST", f"//handler/add/keep/add{query}", body, status=status)
    assert told["code"] == code
    assert tenant.get("keep")["version"] == 1
    id, = tenant.lines("keep", "still works")
    tenant.until(id)
    assert tenant.result(id) == "still works"


def test_payloads_with_nul_and_without_newline_arrive_whole(tenant):
    """S2.8, S2.72, S2.76: bytes as received; the task gets its newline."""
    tenant.set("bytes", "od -An -tx1 | tr -d ' \\n' | sed 's/^/R: 200 /'")
    told = tenant.ask("POST", "//job/bytes/add", b"a\0b\n\xff\xfe\nlast")
    results = []
    for id in told["ids"]:
        tenant.until(id)
        results.append(tenant.result(id))
    assert results == ["6100620a", "fffe0a", "6c6173740a"]


def test_a_line_over_the_limit_is_refused_whole(tenant):
    body = b"ok\n" + b"x" * (16 * 1024 * 1024 + 1) + b"\n"
    told = tenant.ask("POST", "//job/large/add", body, status=413)
    assert told["code"] == "payload_too_large" and "payload 2" in told["detail"]
    assert tenant.of("large") == []
