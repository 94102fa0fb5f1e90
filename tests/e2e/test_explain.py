# SPDX-License-Identifier: Apache-2.0
"""GET /jobs/{id}/explain: every state answers, with every reason in order, an estimate where
one can be given, and a command that helps."""
import os
import pathlib
import signal
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
    assert answer["text"] == f"it waits for job {held}, which is held" and words(answer) == ["blocked"]
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


def test_others_that_go_first_are_told_beside_a_full_queue(api):
    """Every reason in order: no slot of the queue, then those of higher priority."""
    queue = "q" + uuid.uuid4().hex[:8]
    assert api.request("PUT", f"/queues/{queue}", {"slots": 1}).status < 300
    running = api.add(command=["sleep", "600"], queue=queue)["id"]
    told(api, running, "running")
    first, second, last = (api.add(command=["true"], queue=queue, priority=priority)["id"]
                           for priority in (9, 8, 1))
    wait_for(lambda: api.get(f"/jobs/{last}/explain")["ahead"] == 2, PATIENCE)
    answer = api.get(f"/jobs/{last}/explain")
    assert words(answer)[0] == answer["reason"] == "queue_full", answer
    assert f"queue {queue} runs 1 job here and has 1 slot" in answer["text"]
    behind = answer["reasons"][words(answer).index("behind_others")]
    assert behind["text"] == "2 jobs of its queue go first", answer
    assert "behind_others" not in words(api.get(f"/jobs/{first}/explain"))
    for id in (last, second, first, running):
        api.act(id, "cancel")


def test_who_held_it_is_told(api):
    """A held, paused, halted or cancelled job says who did it and when, also when an
    operation did; so does a paused queue."""
    who = f"uid:{os.getuid()}"
    held = api.add(command=["true"], delay=3600)["id"]
    api.act(held, "hold")
    answer = told(api, held, "held")
    assert answer["by"]["who"] == who and answer["by"]["at"] >= api.job(held)["created_at"]
    assert f"by {who}" in answer["text"], answer
    api.act(held, "cancel")
    assert told(api, held, "cancelled")["by"]["who"] == who
    stopped = api.add(command=["sleep", "600"])["id"]
    told(api, stopped, "running")
    api.act(stopped, "pause")
    assert told(api, stopped, "paused")["by"]["who"] == who
    api.act(stopped, "halt")
    assert told(api, stopped, "halted")["by"]["who"] == who
    api.act(stopped, "cancel")
    queue = "q" + uuid.uuid4().hex[:8]
    many = api.add(command=["true"], delay=3600, queue=queue)["id"]
    answer = api.request("POST", "/operations", {"action": "hold", "q": f"queue:{queue}"})
    assert answer.status == 202, answer
    answer = told(api, many, "held")
    assert answer["by"]["who"] == who and "operation" in answer["text"], answer
    assert api.request("POST", f"/queues/{queue}/pause", {}).status < 300
    assert api.request("PUT", f"/queues/{queue}", {"slots": 3, "paused": True}).status < 300
    reason = api.get(f"/jobs/{many}/explain")["reasons"][1]
    assert reason["reason"] == "queue_paused" and f"by {who}" in reason["text"], reason
    assert "by" not in api.get(f"/jobs/{api.add(command=['true'])['id']}/explain")
    api.act(many, "cancel")


def reason_of(api, id, word):
    """The reason with this word, once the job has it."""
    def found():
        answer = api.get(f"/jobs/{id}/explain")
        assert answer["state"] == "ready", answer
        return [reason for reason in answer["reasons"] if reason["reason"] == word]
    wait_for(found, PATIENCE, f"{id} to say {word}")
    return found()[0]


def test_a_busy_resource_names_its_holders(api):
    """Resource X busy: how much is wanted and free, every job that holds some, the one that
    should end first in front, and when that is."""
    key = "r" + uuid.uuid4().hex[:8]
    queue = "q" + key
    assert api.request("PUT", f"/resources/{key}",
                       {"kind": "quantity", "quantity": 2}).status < 300
    slow, quick = (api.add(command=["sleep", "600"], queue=queue, resources={key: 1},
                           service_time=time)["id"] for time in ("PT2H", "PT1H"))
    for id in (slow, quick):
        told(api, id, "running")
    last = api.add(command=["true"], queue=queue, resources={key: 1})["id"]
    reason = reason_of(api, last, "resource_busy")
    assert reason["resource"] == key and reason["held_by"] == quick
    assert reason["holders"] == [quick, slow] and reason["until"], reason
    assert f"held by {quick}, {slow}" in reason["text"] and "0 of 2" in reason["text"]
    answer = api.get(f"/jobs/{last}/explain")
    assert answer["reason"] == "resource_busy" and answer["until"] == reason["until"]
    large = api.add(command=["true"], queue=queue + "b", resources={key: 1})["id"]
    reason_of(api, large, "resource_busy")
    for id in (last, large, slow, quick):
        api.act(id, "cancel")


def test_a_full_node_a_full_queue_and_others_before(home):
    """No slot, with an estimate where the running job has one; behind n jobs of higher
    priority; a queue without a slot; switched off; node draining: each with its command."""
    node = home.daemon("--slots", "1", "--set", "daemon.grace=500ms",
                       "--set", "daemon.drain=10m", data=home.path / "full").start()
    api = node.api()
    first = api.add(command=["sleep", "600"], queue="a", service_time="PT1H")["id"]
    told(api, first, "running")
    low = api.add(command=["true"], queue="a", priority=3)["id"]
    reason = reason_of(api, low, "no_free_slot")
    assert reason["until"] and "max_concurrent_jobs=2" in reason["help"], reason
    assert api.get(f"/jobs/{low}/explain")["until"] == reason["until"]
    high = [api.add(command=["true"], queue="a", priority=9)["id"] for _ in range(3)]
    answer = api.get(f"/jobs/{low}/explain")
    assert (answer["reason"], answer["ahead"]) == ("behind_others", 3), answer
    assert "3 jobs" in answer["text"]
    assert api.request("PUT", "/queues/a", {"slots": 1}).status < 300
    reason = reason_of(api, high[0], "queue_full")
    assert reason["until"] and reason["help"] == "pawl queue set a --slots 2", reason
    assert api.request("PATCH", "/config", {"enabled": False}).status < 300
    reason = reason_of(api, high[0], "disabled")
    assert reason["help"] == "pawl config set enabled=true"
    assert api.get(f"/jobs/{high[0]}/explain")["reason"] == "disabled"
    assert api.request("PATCH", "/config", {"enabled": True}).status < 300
    os.kill(node.pid, signal.SIGTERM) # it waits for the one that runs, and starts no other
    reason_of(api, high[0], "draining")
    assert api.get(f"/jobs/{high[0]}/explain")["reason"] == "draining"
    node.kill()
    node.kill_launcher()


def test_a_tenants_limit_is_named_and_the_advice_helps(home):
    """A job that waits for its tenant's max_running says so; a higher limit lets it run."""
    daemon = home.daemon("--slots", "4", data=home.path / "tenant-limit")
    daemon.start()
    try:
        api = daemon.api()
        assert api.request("PUT", "/tenants/small", {"max_running": 1}).status in (200, 201)
        first = api.request("POST", "/jobs?tenant=small", {"command": ["sleep", "600"]}).json()["id"]
        api.until(first, states=("running",), tenant="small")
        second = api.request("POST", "/jobs?tenant=small", {"command": ["true"]}).json()["id"]
        told = api.request("GET", f"/jobs/{second}/explain?tenant=small").json()
        assert told["reason"] == "tenant_full" and "max_running 1" in told["text"], told
        assert told["help"] == "pawl tenant set small --max-running 2", told
        answer = api.request("PUT", "/tenants/small", {"max_running": 2})
        assert answer.status == 200, answer
        assert api.until(second, tenant="small")["state"] == "done"
    finally:
        daemon.stop()
