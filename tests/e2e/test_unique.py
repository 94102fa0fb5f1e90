# SPDX-License-Identifier: Apache-2.0
"""Keys that one job at a time may hold, against a real daemon: reject, ignore, replace, a
time, bulk adds, races, restarts."""
import concurrent.futures
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


@pytest.fixture
def key():
    return "order " + uuid.uuid4().hex


def send(api, key, on_conflict=None, hold=None, headers=None, **fields):
    unique = {"key": key}
    if on_conflict:
        unique["on_conflict"] = on_conflict
    if hold:
        unique["for"] = hold
    return api.request("POST", "/jobs", {"command": ["true"], "unique": unique, **fields},
                       headers)


def id_of(answer, status=201):
    assert answer.status == status, answer
    return answer.json()["id"]


def test_reject_until_it_is_over(api, key):
    first = id_of(send(api, key, held=True))
    assert api.job(first)["unique"] == {"key": key, "for": "", "on_conflict": "reject"}
    answer = send(api, key)
    assert answer.status == 409 and answer.json()["code"] == "unique_conflict", answer
    assert first in answer.json()["detail"]
    assert id_of(send(api, key, tenant="other-" + key[-8:]))
    api.act(first, "cancel")
    second = id_of(send(api, key))
    assert second != first


def test_ignore_answers_with_the_one_that_is_there(api, key):
    first = id_of(send(api, key, "ignore", held=True))
    answer = send(api, key, "ignore")
    assert answer.status == 200 and answer.json()["job"]["state"] == "held", answer
    assert answer.json()["id"] == first
    assert answer.headers["Location"].endswith(first)


def test_replace_cancels_the_one_that_waits(home, api, key):
    first = id_of(send(api, key, "replace", held=True))
    door = home.path / uuid.uuid4().hex
    second = id_of(send(api, key, "replace", command=[
        "sh", "-c", f"while [ ! -e {door} ]; do sleep 0.02; done"]))
    job = api.job(first)
    assert job["state"] == "cancelled" and second in job["reason"]
    api.until(second, "running", seconds=LONG)
    answer = send(api, key, "replace")
    assert answer.status == 409 and second in answer.json()["detail"]
    door.touch()
    api.until(second, seconds=LONG)
    assert id_of(send(api, key, "replace"))


def test_a_time_holds_the_key_beyond_the_end(api, key):
    first = id_of(send(api, key, "ignore", hold="PT1H"))
    assert api.until(first, seconds=LONG)["state"] == "done"
    assert id_of(send(api, key, "ignore", hold="PT1H"), 200) == first
    api.request("DELETE", f"/jobs/{first}")
    assert id_of(send(api, key, "ignore", hold="PT1H")) != first


def test_every_line_by_itself(api, key):
    def line(name, on_conflict):
        return {"command": ["true"], "held": True,
                "unique": {"key": f"{key} {name}", "on_conflict": on_conflict}}
    items = [line("a", "reject"), line("a", "reject"), line("a", "ignore"),
             {"command": ["true"]}, line("b", "ignore")]
    for answer in (api.request("POST", "/jobs", items),
                   api.request("POST", "/jobs",
                               "\n".join(map(json.dumps, items)).encode(),
                               {"Content-Type": "application/x-ndjson"})):
        told = answer.lines()
        first = told[0].get("id") or first
        assert told[1]["error"]["code"] == "unique_conflict"
        assert told[2] == {"line": 3, "id": first, "existing": True}
        assert "existing" not in told[3]
    assert told[0]["error"]["code"] == "unique_conflict"
    assert told[4]["existing"] is True
    assert told[5]["summary"] == {"accepted": 3, "rejected": 2, "durable": True}


def test_a_line_alone(api, key):
    """One refused line is no refused request."""
    first = id_of(send(api, key, held=True))
    body = json.dumps({"command": ["true"], "unique": {"key": key}}).encode()
    answer = api.request("POST", "/jobs", body, {"Content-Type": "application/x-ndjson"})
    assert answer.status == 200 and first in answer.lines()[0]["error"]["detail"], answer
    assert answer.lines()[1]["summary"]["rejected"] == 1


def test_many_at_once_make_one(node, key):
    def one(_):
        api = node.api(LONG)
        try:
            return send(api, key, "ignore", held=True).json()["id"]
        finally:
            api.close()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(one, range(40)))) == 1


def test_with_an_idempotency_key(api, key):
    headers = {"Idempotency-Key": key.replace(" ", "-")}
    first = id_of(send(api, key, headers=headers, held=True))
    again = send(api, key, headers=headers, held=True)
    assert id_of(again) == first and again.headers["Idempotency-Replayed"] == "true"
    answer = send(api, key, held=True)
    assert answer.status == 409


def test_kill_9(home, key):
    node = home.daemon(data=home.path / "crash").start()
    api = node.api(LONG)
    first = id_of(send(api, key, held=True))
    node.restart()
    api = node.api(LONG)
    assert send(api, key).status == 409
    second = id_of(send(api, key, "replace", held=True))
    node.restart()
    api = node.api(LONG)
    assert api.job(first)["state"] == "cancelled"
    assert id_of(send(api, key, "ignore"), 200) == second
    api.close()


def test_bad_requests(api):
    for unique in ("k", {}, {"key": ""}, {"key": "k", "for": "soon"},
                   {"key": "k", "on_conflict": "panic"}, {"key": "k", "till": 1}):
        answer = api.request("POST", "/jobs", {"command": ["true"], "unique": unique})
        assert answer.status == 422, answer


def test_jobs_that_no_request_adds_merge_too(api, key):
    """S3.48: J: lines, `then` and schedules of a highlander type become the one that
    waits; the one that is too many says so."""
    name = "h" + key[-8:]
    answer = api.request("PUT", f"/handlers/{name}",
                         {"lang": "sh", "body": "true", "highlander": True})
    assert answer.status == 201, answer
    first = id_of(api.request("POST", "/jobs", {"type": name, "held": True}))

    def merged():
        jobs = api.get(f"/jobs?type={name}&limit=1000")["items"]
        ids = [job["id"] for job in jobs if job["id"] != first]
        for id in ids: # each was decided when it came to be
            job = api.job(id)
            assert job["state"] == "cancelled", job
            assert job["reason"] == f"merged into job {first}", job
        return len(ids)

    api.add(command=["sh", "-c", f"echo 'J: {name}|a'; echo 'J: {name}|b'"],
            protocol=True)
    wait_for(lambda: merged() == 2, LONG)
    api.add(command=["true"], then=name)
    wait_for(lambda: merged() == 3, LONG)
    schedule = {"cron": "@every 1s", "overlap": "allow", "type": name}
    answer = api.request("PUT", f"/schedules/{name}", schedule)
    assert answer.status == 201, answer
    answer = api.request("POST", f"/schedules/{name}/trigger")
    assert answer.status == 201 and answer.json()["job"]["state"] == "cancelled", answer
    wait_for(lambda: merged() >= 5, LONG) # the one above, and one of its times
    assert api.request("DELETE", f"/schedules/{name}").status == 200
    api.act(first, "release")
    assert api.until(first, seconds=LONG)["state"] == "done"
