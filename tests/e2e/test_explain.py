# SPDX-License-Identifier: Apache-2.0
"""GET /jobs/{id}/explain: every state answers, with every reason in order, an estimate where
one can be given, and a command that helps."""
import pathlib
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place               # noqa: E402

PATIENCE = 120


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def api(home):
    return home.daemon("--slots", "4", "--set", "daemon.grace=500ms").start().api()


def told(api, id, state):
    """What is said of the job once it is in this state."""
    wait_for(lambda: api.job(id)["state"] == state, PATIENCE, f"{id} to be {state}")
    answer = api.get(f"/jobs/{id}/explain")
    assert answer["state"] == state and answer["text"], answer
    if state != "ready":
        first = answer["reasons"][0]
        assert (first["reason"], first["text"]) == (answer["reason"], answer["text"])
    return answer


def words(answer):
    return [reason["reason"] for reason in answer["reasons"]]


def test_jobs_that_wait_say_for_what(api):
    """Due at, held and why, what will be in the way then, blocked by whom."""
    queue = "q" + uuid.uuid4().hex[:8]
    assert api.request("PUT", f"/queues/{queue}", {"slots": 1}).status < 300
    assert api.request("POST", f"/queues/{queue}/pause", {"reason": "upgrade"}).status < 300
    later = api.add(command=["true"], delay=3600, queue=queue)["id"]
    answer = told(api, later, "deferred")
    assert api.job(later)["dt"] in answer["text"] and answer["until"] == api.job(later)["dt"]
    assert words(answer) == ["not_due", "queue_paused"], answer
    assert answer["help"] == f"pawl set {later} --at now"
    held = api.add(command=["true"], held=True, queue=queue)["id"]
    answer = told(api, held, "held")
    assert words(answer) == ["held", "queue_paused"]
    assert "upgrade" in answer["reasons"][1]["text"]
    assert answer["reasons"][1]["help"] == f"pawl queue resume {queue}"
    child = api.add(command=["true"], after=[held])["id"]
    answer = told(api, child, "blocked")
    assert held in answer["text"] and words(answer) == ["blocked"]
    typed = api.add(type="t" + queue, payload="x")["id"]
    answer = told(api, typed, "blocked")
    assert words(answer) == ["no_handler"] and "pawl handler set" in answer["help"]
    for id in (later, held, typed):
        api.act(id, "cancel")


def test_jobs_that_run_say_where(api):
    """Node, slot, and when it should end; paused and halted say how to go on."""
    id = api.add(command=["sleep", "600"], service_time="PT1H")["id"]
    answer = told(api, id, "running")
    assert "slot" in answer["text"] and "should end" in answer["text"], answer
    assert answer["since"] and answer["until"] and answer["help"] == f"pawl logs -f {id}"
    api.act(id, "pause")
    answer = told(api, id, "paused")
    assert answer["help"] == f"pawl resume {id}" and "keeps its slot" in answer["text"]
    api.act(id, "halt")
    answer = told(api, id, "halted")
    assert answer["help"] == f"pawl resume {id}" and "progress" in answer["text"]
    api.act(id, "cancel")
    answer = told(api, id, "cancelled")
    assert answer["help"] == f"pawl retry {id}" and answer["since"]


def test_jobs_that_failed_say_how(api):
    """Which attempt, with what, and when the next one follows."""
    id = api.add(command=["sh", "-c", "exit 3"], max_retries=5, retry_delay=3600)["id"]
    answer = told(api, id, "retrying")
    assert "attempt 1 ended error" in answer["text"], answer
    assert "retry 1 of 5 follows" in answer["text"] and answer["until"] == api.job(id)["dt"]
    api.act(id, "cancel")
    id = api.add(command=["sh", "-c", "exit 65"])["id"]
    answer = told(api, id, "failed")
    assert "65" in answer["text"] and words(answer) == ["failed"]
    id = api.add(command=["true"])["id"]
    assert told(api, id, "done")["help"] is None


def test_the_order_of_a_queue_with_aging_counts(api):
    """S3.4, S3.7: who goes first is told in the queue's own order, aging included."""
    queue = "q" + uuid.uuid4().hex[:8]
    assert api.request("PUT", f"/queues/{queue}",
                       {"aging": 60000}).status < 300
    assert api.request("POST", f"/queues/{queue}/pause", {}).status < 300
    old = api.add(command=["true"], queue=queue, priority=1)["id"]
    first = api.job(old)["dt"]
    wait_for(lambda: api.job(api.add(command=["true"])["id"])["dt"] > first,
             PATIENCE, "the clock to move on")
    young = api.add(command=["true"], queue=queue, priority=2)["id"]
    wait_for(lambda: api.get(f"/jobs/{young}/explain")["ahead"] >= 1, PATIENCE,
             "the older job to be ahead")
    assert api.get(f"/jobs/{old}/explain")["ahead"] == 0
