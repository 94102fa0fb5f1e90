# SPDX-License-Identifier: Apache-2.0
"""Jobs that wait for other jobs, against a real daemon: every condition, chains, parents
that are over, gone or run again, kill -9 between the end of a parent and its children."""
import json
import pathlib
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place               # noqa: E402

LONG = 120


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def node(home):
    return home.daemon("--slots", "4", "--set", "daemon.grace=500ms").start()


@pytest.fixture
def api(node):
    api = node.api(LONG)
    yield api
    api.close()


def gate(home):
    return home.path / uuid.uuid4().hex


def waiting(gate, then="true"):
    return ["sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.02; done; {then}"]


def run(api, *command, **fields):
    return api.add(command=list(command), max_retries=0, **fields)["id"]


def end(api, id):
    return api.until(id, seconds=LONG)


def test_a_child_waits_until_its_parent_is_done(home, api):
    """after: the job begins blocked, says for whom, and runs when that one is
    done."""
    door = gate(home)
    parent = run(api, *waiting(door))
    child = run(api, "true", after=[parent])
    job = api.job(child)
    assert job["state"] == "blocked" and parent in job["reason"]
    assert job["after"] == [{"id": parent, "on": "ok"}]
    told = api.get(f"/jobs/{child}/explain")
    assert told["state"] == "blocked" and parent in told["text"], told
    door.touch()
    first, second = end(api, parent), end(api, child)
    assert (first["state"], second["state"]) == ("done", "done")
    assert second["started_at"] >= first["finished_at"]
    assert second["reason"] is None


@pytest.mark.parametrize("command, ok, any, fail", [
    (["true"], "done", "done", "cancelled"),
    (["sh", "-c", "exit 65"], "cancelled", "done", "done"),
    (["false"], "cancelled", "done", "done"),
])
def test_every_condition(home, api, command, ok, any, fail):
    door = gate(home)
    parent = run(api, *waiting(door, "; ".join(command[2:]) or command[0]))
    children = {on: run(api, "true", after=[{"id": parent, "on": on}])
                for on in ("ok", "any", "fail")}
    door.touch()
    end(api, parent)
    ended = {on: end(api, id) for on, id in children.items()}
    assert {on: job["state"] for on, job in ended.items()} == \
        {"ok": ok, "any": any, "fail": fail}
    for job in ended.values():
        if job["state"] == "cancelled":
            assert parent in job["reason"] and "any more" in job["reason"]


def test_a_chain_falls_together(home, api):
    door = gate(home)
    ids = [run(api, *waiting(door, "exit 64"))]
    for _ in range(5):
        ids.append(run(api, "true", after=[ids[-1]]))
    last = run(api, "true", after=[{"id": ids[-1], "on": "any"}])
    door.touch()
    assert [end(api, id)["state"] for id in ids] == ["failed"] + ["cancelled"] * 5
    assert end(api, last)["state"] == "done"


def test_several_parents(home, api):
    doors = [gate(home) for _ in range(3)]
    parents = [run(api, *waiting(door)) for door in doors]
    child = run(api, "true", after=parents)
    assert "and 2 more" in api.job(child)["reason"]
    for door, parent in zip(doors[:2], parents):
        door.touch()
        end(api, parent)
    wait_for(lambda: "more" not in api.job(child)["reason"], LONG)
    assert api.job(child)["state"] == "blocked"
    doors[2].touch()
    assert end(api, child)["state"] == "done"


def test_parents_that_are_over_and_gone(api):
    done = run(api, "true")
    end(api, done)
    assert end(api, run(api, "true", after=[done]))["state"] == "done"
    assert api.request("DELETE", f"/jobs/{done}").status == 200
    late = end(api, run(api, "true", after=[done]))
    assert late["state"] == "cancelled" and "not there any more" in late["reason"]
    late = end(api, run(api, "true", after=[{"id": done, "on": "any"}]))
    assert late["state"] == "done"


def test_a_parent_that_is_removed_was_cancelled(home, api):
    parent = run(api, "true", held=True)
    child = run(api, "true", after=[parent])
    anyway = run(api, "true", after=[{"id": parent, "on": "any"}])
    assert api.request("DELETE", f"/jobs/{parent}").status == 200
    assert end(api, child)["state"] == "cancelled"
    assert end(api, anyway)["state"] == "done"


def broken_chain(home, api, group):
    """A -> B -> C, each of which writes its name; A fails until the cause is mended."""
    order, mended = gate(home), gate(home)
    a = run(api, "sh", "-c", f"test -e {mended} || exit 65; echo A >> {order}", group=group)
    b = run(api, "sh", "-c", f"sleep 0.2; echo B >> {order}", after=[a], group=group)
    c = run(api, "sh", "-c", f"echo C >> {order}", after=[b], group=group)
    assert [end(api, id)["state"] for id in (a, b, c)] == ["failed", "cancelled", "cancelled"]
    mended.touch()
    return a, b, c, order


def in_order(api, ids, order):
    for id in ids:
        api.until(id, states=("done",), seconds=LONG)
    return order.read_text().split() == ["A", "B", "C"]


def test_a_retry_of_all_keeps_the_order(home, api):
    """The newest first, as operations go: each still runs behind the one before it."""
    *ids, order = broken_chain(home, api, "dag1")
    answer = api.request("POST", "/operations", {
        "action": "retry", "q": "group:dag1 state:failed,cancelled"})
    assert answer.status == 202 and answer.json()["count"] == 3
    assert in_order(api, ids, order)


def test_a_retry_of_the_first_brings_back_what_fell_with_it(home, api):
    *ids, order = broken_chain(home, api, "dag2")
    api.act(ids[0], "retry")
    assert in_order(api, ids, order)


def test_a_retried_child_waits_for_its_parent(home, api):
    """It is blocked until someone retries that one, too; `without_after` runs it now."""
    a, b, c, order = broken_chain(home, api, "dag3")
    assert api.act(b, "retry")["state"] == "blocked"
    explained = api.request("GET", f"/jobs/{b}/explain").json()
    assert a in explained["text"], explained
    assert "retry" in explained["help"], explained
    answer = api.request("POST", f"/jobs/{c}/retry", {"without_after": True})
    assert answer.status == 200, answer
    api.until(c, states=("done",), seconds=LONG)
    assert order.read_text().split() == ["C"]
    assert api.job(b)["state"] == "blocked"
    assert api.request("POST", f"/jobs/{a}/cancel", {"without_after": True}).status == 422
    api.act(a, "retry")
    api.until(b, states=("done",), seconds=LONG)
    assert order.read_text().split() == ["C", "A", "B"]


def test_a_held_child(home, api):
    door = gate(home)
    parent = run(api, *waiting(door))
    child = run(api, "true", after=[parent], held=True)
    door.touch()
    end(api, parent)
    assert api.job(child)["state"] == "held"
    api.act(child, "release")
    assert end(api, child)["state"] == "done"


def test_what_cannot_be_is_refused(api):
    """Cycles cannot be written: only ids of jobs that exist are taken."""
    for after in (["build"], ["7zzzzzzzzzzzz"], [{"on": "ok"}], [7], {"id": "x"},
                  [{"id": "0" * 13, "on": "sometimes"}]):
        answer = api.request("POST", "/jobs", {"command": ["true"], "after": after})
        assert answer.status == 422, answer
        assert answer.json()["pointer"].startswith("/after"), answer
    parent = run(api, "true")
    answer = api.request("POST", "/jobs", {"command": ["true"], "after": [parent, parent]})
    assert answer.status == 422 and "twice" in answer.json()["detail"]
    lines = "\n".join(json.dumps({"command": ["true"], "after": after})
                      for after in ([parent], ["me"]))
    answer = api.request("POST", "/jobs", lines.encode(),
                         {"Content-Type": "application/x-ndjson"})
    told = answer.lines()
    assert "id" in told[0] and told[1]["error"]["code"] == "invalid_value"
    assert end(api, told[0]["id"])["state"] == "done"


def test_other_tenants_jobs_are_not_there(api):
    """S2.6: waiting for another tenant's job is what waiting for an id is that no job ever
    had: nothing tells whether it exists, runs or has ended."""
    held = run(api, "true", tenant="stranger", held=True)
    ended = run(api, "true", tenant="stranger")
    api.until(ended, tenant="stranger", seconds=LONG)
    for on, state in (("ok", "cancelled"), ("fail", "cancelled"), ("any", "done")):
        told = set()
        for parent in (held, ended, "0000000000001"):
            child = run(api, "true", after=[{"id": parent, "on": on}])
            job = end(api, child)
            assert job["state"] == state, (on, parent, job)
            why = api.get(f"/jobs/{child}/explain")["text"]
            told.add((json.dumps(job["error"]) + why).replace(parent, "ID"))
        assert len(told) == 1, told


def test_many_children_and_kill_9(home):
    """No child is forgotten or started too early, wherever the daemon dies."""
    node = home.daemon("--slots", "4", data=home.path / "crash").start()
    api = node.api(LONG)
    door = gate(home)
    parent = run(api, *waiting(door))
    lines = "\n".join(json.dumps({"command": ["true"], "max_retries": 0, "group": "kids",
                                  "after": [{"id": parent, "on": "any"}]})
                      for _ in range(1500))
    answer = api.request("POST", "/jobs", lines.encode(),
                         {"Content-Type": "application/x-ndjson"})
    assert answer.lines()[-1]["summary"]["accepted"] == 1500
    assert api.get("/groups/kids")["counts"]["blocked"] == 1500
    node.restart()
    api = node.api(LONG)
    assert api.get("/groups/kids")["counts"]["blocked"] == 1500
    door.touch()
    wait_for(lambda: api.get("/groups/kids")["counts"]["blocked"] < 1500, LONG)
    node.restart()
    api = node.api(LONG)
    wait_for(lambda: api.get("/groups/kids")["counts"]["blocked"] == 0, LONG)
    assert api.get("/groups/kids")["total"] == 1500
    api.close()
