# SPDX-License-Identifier: Apache-2.0
"""What has happened to a job, and what goes wrong, told by the API."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for  # noqa: E402
from lib.daemon import Place  # noqa: E402


@pytest.fixture(scope="module")
def node():
    with Place() as place:
        yield place.daemon("--slots", "2").start()


def add(api, **job):
    answer = api.request("POST", "/jobs", job)
    assert answer.status == 201, answer.body
    return answer.json()["id"]


def ended(api, job, states=("done", "failed", "rejected", "cancelled")):
    return wait_for(lambda: api.get(f"/jobs/{job}")["state"] in states, 120)


def test_every_attempt_and_every_hand_is_told_in_order(node):
    api = node.api()
    job = add(api, command=["sh", "-c", "exit 9"], held=True)
    for act in ("release", "retry"):
        answer = api.request("POST", f"/jobs/{job}/{act}", {"reason": "because"})
        assert answer.status == 200, answer.body
        ended(api, job)
    items = api.get(f"/jobs/{job}/events")["items"]
    assert [item["type"] for item in items] == [
        "job.added", "job.release", "job.started", "attempt.finished",
        "job.retry", "job.started", "attempt.finished"], items
    assert [item["at"] for item in items] == sorted(item["at"] for item in items)
    assert [item["attempt"] for item in items] == [None, None, 1, 1, None, 2, 2]
    assert {item["who"] for item in items if item["type"] in ("job.release", "job.retry")} == \
        {f"uid:{os.geteuid()}"}
    assert items[3]["data"]["exit_status"] == 9
    assert items[4]["data"]["before"]["state"] == "rejected"


def test_nobody_is_told_of_a_job_of_another_tenant(node):
    api = node.api()
    job = add(api, tenant="other", command=["true"])
    assert api.request("GET", f"/jobs/{job}/events").status == 404
    assert api.request("GET", f"/jobs/{job}/events?tenant=other").status == 200


def test_errors_are_grouped_by_message(node):
    api = node.api()
    body = "payload === 'x' ? pawl.fail('no user') : pawl.fail(`timeout after ${payload} s`)"
    put = api.request("PUT", "/handlers/grouped", {"lang": "node", "body": body})
    if put.status == 422:
        pytest.skip("there is no node")
    jobs = [add(api, type="grouped", payload=text) for text in ("3", "x", "40", "500")]
    for job in jobs:
        ended(api, job)
    found = api.get("/errors?q=type:grouped")
    assert not found["partial"] and found["scanned"] == 4
    assert [(item["message"], item["count"], item["jobs"]) for item in found["items"]] == [
        ("timeout after N s", 3, {"failed": 3}), ("no user", 1, {"failed": 1})]
    first = found["items"][0]
    assert (first["example"], first["newest"], first["oldest"]) == \
        ("timeout after 500 s", jobs[3], jobs[0])
    assert api.get("/errors?q=type:nobody")["items"] == []


def test_a_bad_query_is_refused(node):
    answer = node.api().request("GET", "/errors?q=nonsense:1")
    assert answer.status == 400 or answer.status == 422
    assert answer.json()["code"] == "invalid_query"
