# SPDX-License-Identifier: Apache-2.0
"""Actions on everything that matches, against a real daemon: every action, dry run,
progress, stop, kill -9 in between; groups; clones."""
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


@pytest.fixture
def tag():
    return "t" + uuid.uuid4().hex[:10]


def operate(api, **fields):
    answer = api.request("POST", "/operations", fields)
    assert answer.status == 202, answer
    told = answer.json()
    assert answer.headers["Location"].endswith("/operations/" + told["id"])
    return told


def over(api, told):
    return wait_for(lambda: (lambda now: now if now["state"] != "running" else None)(
        api.get(f"/operations/{told['id']}")), LONG)


def held(api, tag, count, **fields):
    return [api.add(command=["true"], held=True, tags=[tag], **fields)["id"]
            for _ in range(count)]


def states(api, ids):
    return {api.job(id)["state"] for id in ids}


def test_a_waiting_crowd(api, tag):
    """S0.75, S0.78: everything that matches is released, held, changed, cancelled,
    retried and removed."""
    jobs = held(api, tag, 20, run_at="2999-01-01T00:00:00Z")
    other = held(api, "other-" + tag, 1)[0]
    told = operate(api, action="release", q=f"tag:{tag}", dry_run=True)
    assert (told["count"], told["dry_run"], told["state"]) == (20, True, "done")
    assert states(api, jobs) == {"held"}
    for action, state, q in (("release", "deferred", ""), ("hold", "held", ""),
                             ("cancel", "cancelled", "state:held ")):
        told = operate(api, action=action, q=f"{q}tag:{tag}")
        assert told["count"] == 20
        told = over(api, told)
        assert (told["state"], told["acted"], told["refused"]) == ("done", 20, 0), told
        assert told["progress"] == 100 and told["finished_at"]
        assert states(api, jobs) == {state}
    told = over(api, operate(api, action="set", q=f"tag:{tag}", priority=7, queue="slow"))
    assert (told["acted"], told["refused"]) == (0, 20) # they are over
    assert over(api, operate(api, action="retry", q=f"tag:{tag}"))["acted"] == 20
    for id in jobs:
        api.until(id, "done", seconds=LONG)
    assert over(api, operate(api, action="rm", q=f"tag:{tag}"))["acted"] == 20
    assert all(api.request("GET", f"/jobs/{id}").status == 404 for id in jobs)
    assert api.job(other)["state"] == "held"
    assert told["id"] in [item["id"] for item in api.get("/operations")["items"]]


def test_set(api, tag):
    """S0.78: priorities of many."""
    jobs = held(api, tag, 3)
    told = over(api, operate(api, action="set", q=f"tag:{tag}", priority=9, queue="slow"))
    assert told["acted"] == 3
    for id in jobs:
        job = api.job(id)
        assert (job["priority"], job["queue"]) == (9, "slow")


def test_a_running_crowd(api, tag):
    """S0.75: pause, resume and kill of all that run."""
    jobs = [api.add(command=["sleep", "600"], tags=[tag])["id"] for _ in range(3)]
    for id in jobs:
        api.until(id, "running", seconds=LONG)
    for action, state in (("pause", "paused"), ("resume", "running")):
        assert over(api, operate(api, action=action, q=f"tag:{tag}"))["acted"] == 3
        assert states(api, jobs) == {state}
    assert over(api, operate(api, action="kill", q=f"tag:{tag}"))["acted"] == 3
    for id in jobs:
        assert api.until(id, seconds=LONG)["state"] == "cancelled"


def test_groups_are_cancelled_and_retried(api, tag):
    jobs = [api.add(command=["sh", "-c", "exit 65"], group=tag, max_retries=0)["id"]
            for _ in range(3)]
    waiting = api.add(command=["true"], group=tag, held=True)["id"]
    for id in jobs:
        assert api.until(id, seconds=LONG)["state"] == "failed"
    answer = api.request("POST", f"/groups/{tag}/retry")
    assert answer.status == 202 and answer.json()["count"] == 3, answer
    assert over(api, answer.json())["acted"] == 3
    for id in jobs:
        wait_for(lambda: api.job(id)["attempt"] == 2 and
                 api.job(id)["state"] == "failed", LONG)
    answer = api.request("POST", f"/groups/{tag}/cancel")
    assert answer.status == 202 and over(api, answer.json())["acted"] == 1
    assert api.job(waiting)["state"] == "cancelled"
    told = api.get(f"/groups/{tag}")
    assert told["final"] and told["counts"]["cancelled"] == 1


def test_kill_9_and_stop(home, tag):
    """It goes on where it was, and acts on nothing that came later."""
    node = home.daemon("--slots", "2", data=home.path / "crash").start()
    api = node.api(LONG)
    body = "\n".join(str(number) for number in range(3000)).encode()
    answer = api.request("POST", f"//default/job/{tag}/add?held=true", body)
    assert answer.status == 200, answer
    told = operate(api, action="cancel", q=f"type:{tag}")
    assert told["count"] == 3000
    later = api.add(type=tag, held=True)["id"]
    node.restart()
    api = node.api(LONG)
    told = over(api, told)
    assert (told["state"], told["acted"], told["refused"]) == ("done", 3000, 0), told
    assert api.job(later)["state"] == "held"
    told = operate(api, action="hold", q=f"type:{tag}")
    answer = api.request("DELETE", f"/operations/{told['id']}")
    assert answer.status == 200 and answer.json()["state"] in ("stopped", "done")
    node.restart()
    api = node.api(LONG)
    assert api.get(f"/operations/{told['id']}")["state"] in ("stopped", "done")
    api.close()


def test_bad_requests(api):
    for body in ({}, {"action": "cancel"}, {"q": "state:ready"},
                 {"action": "dance", "q": "state:ready"},
                 {"action": "cancel", "q": "state:"}, {"action": "cancel", "q": "no:where"},
                 {"action": "set", "q": "state:ready"},
                 {"action": "cancel", "q": "state:ready", "priority": 3},
                 {"action": "cancel", "q": "state:ready", "dry_run": "yes"},
                 {"action": "set", "q": "state:ready", "queue": "a b"}, []):
        answer = api.request("POST", "/operations", body)
        assert answer.status == 422, (body, answer)
    assert api.request("GET", "/operations/nonsense").status == 404
    assert api.request("DELETE", "/operations/0000000000000").status == 404


def test_a_clone_refuses_what_it_does_not_read(api, tag):
    first = api.add(command=["true"], tags=[tag])
    answer = api.request("POST", f"/jobs/{first['id']}/clone", {"payload": "other"})
    assert (answer.status, answer.json()["code"]) == (422, "unknown_field"), answer
    assert api.request("POST", f"/jobs/{first['id']}/clone", {}).status == 201


def test_a_traceparent_reaches_the_job(api, tag):
    """Only one that can be one; others are left out, as W3C Trace Context asks."""
    good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    for trace, seen in [(good, good), ("00-xyz", ""), ("00-" + "0" * 32 + good[35:], "")]:
        answer = api.request("POST", "/jobs?wait=PT60S", {
            "command": ["sh", "-c", 'printf "%s" "R: 200 [$TRACEPARENT]"'],
            "protocol": True, "tags": [tag]}, headers={"Traceparent": trace})
        assert answer.status == 200, answer
        assert answer.json()["result"] == f"[{seen}]", (trace, answer)


def test_a_clone_is_a_new_job_like_the_old_one(api, tag):
    first = api.add(command=["sh", "-c", "echo hello"], tags=[tag], priority=3, name="one",
                    env={"A": "1"}, queue="slow", max_retries=2)
    api.until(first["id"], seconds=LONG)
    answer = api.request("POST", f"/jobs/{first['id']}/clone")
    assert answer.status == 201, answer
    clone = answer.json()["job"]
    assert clone["id"] != first["id"]
    for field in ("command", "tags", "priority", "name", "env", "queue", "max_retries",
                  "type", "payload", "cwd"):
        assert clone[field] == first[field], field
    assert api.until(clone["id"], seconds=LONG)["state"] == "done"
    assert api.request("POST", "/jobs/0000000000000/clone").status == 404
