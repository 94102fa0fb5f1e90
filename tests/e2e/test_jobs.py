# SPDX-License-Identifier: Apache-2.0
"""The whole life of a job over HTTP: everything that can be asked, and what comes of it."""
import base64
import contextlib
import datetime
import json
import pathlib
import sqlite3
import sys
import threading
import time
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for   # noqa: E402
from lib.daemon import Place, files_below, stopped   # noqa: E402

NDJSON = {"Content-Type": "application/x-ndjson"}
ID = 13


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def node(home):
    return home.daemon("--slots", "4", "--set", "daemon.grace=60s",
                       env={"PAWL_SECRET_OF_THE_DAEMON": "1", "LANG": "C.UTF-8"}).start()


@pytest.fixture
def api(node):
    api = node.api()
    yield api
    api.close()


@pytest.fixture
def queue():
    """A queue of the test's own, so that tests do not see each other's jobs."""
    return "q-" + uuid.uuid4().hex[:12]


@pytest.fixture
def slots(api):
    """One slot, and nothing starts until the test says go()."""
    assert api.request("PATCH", "/config", {"enabled": False,
                                            "max_concurrent_jobs": 1}).status == 200
    yield lambda: api.request("PATCH", "/config", {"enabled": True})
    assert api.request("PATCH", "/config", {"enabled": True,
                                            "max_concurrent_jobs": 4}).status == 200


def shell(api, script, *args, **fields):
    command = ["/bin/sh", "-c", script, "sh", *map(str, args)]
    return api.add(command=command, **{"max_retries": 0, **fields})


def gate(home):
    return home.path / uuid.uuid4().hex


def gated(api, path, **fields):
    """A job that runs until `path` exists."""
    job = shell(api, "while [ ! -e \"$1\" ]; do sleep 0.02; done", path, **fields)
    return job["id"]


def ran(api, script, *args, **fields):
    return api.until(shell(api, script, *args, **fields)["id"])


def when(text):
    assert text.endswith("Z") and len(text) == 24, text
    return datetime.datetime.fromisoformat(text[:-1] + "+00:00")


# --- adding and looking ---------------------------------------------------------------

def test_add_one_job_and_look_at_it(api, queue):
    """S2.13-S2.22, S2.36, S1.31-S1.35, S0.42, S0.46."""
    before = datetime.datetime.now(datetime.timezone.utc)
    answer = api.request("POST", "/jobs", {
        "command": ["/bin/true"], "queue": queue, "priority": 7, "payload": "p",
        "name": "a name for people: é", "tags": ["b", "a"], "service_time": "90s",
        "held": True})
    assert answer.status == 201
    id, job = answer.json()["id"], answer.json()["job"]
    assert len(id) == ID and id == id.lower()
    assert job["id"] == id
    assert (job["state"], job["lock"], job["attempt"]) == ("held", "", 0)
    assert (job["type"], job["tenant"], job["queue"]) == ("run", "default", queue)
    assert (job["priority"], job["payload"]) == (7, "p")
    assert job["name"] == "a name for people: é"
    assert sorted(job["tags"]) == ["a", "b"]
    assert job["service_time"] == "PT1M30S"
    assert job["command"] == ["/bin/true"]
    assert abs((when(job["created_at"]) - before).total_seconds()) < 60
    for field in ("code", "exitcode", "exit_status", "signal", "error", "started_at",
                  "finished_at"):
        assert job[field] is None, field
    assert api.job(id) == job
    api.act(id, "cancel")


def test_every_field_is_in_the_object(api):
    job = api.add(command=["/bin/true"], held=True)
    for field in """id tenant type queue priority payload state dt lock created_at run_at
            delay started_at finished_at attempt retry_number max_retries retry_delay
            retry_window max_run_time service_time expected_finish_at last_heartbeat_at code
            exitcode exit_status signal error result_size progress message held after then
            on_error unique parent schedule group tags resources user env cwd command node
            name document_uri param protocol children files keep_state""".split():
        assert field in job, field
    api.act(job["id"], "cancel")


def test_ids_are_ordered_by_time(api, queue):
    ids = [api.add(command=["/bin/true"], queue=queue)["id"] for _ in range(20)]
    assert ids == sorted(ids) and len(set(ids)) == 20


def test_a_type_nobody_handles_waits_blocked(api):
    """S2.83: and says why; no attempt is charged."""
    job = api.add(type="nobody.handles.this", payload="x")
    assert (job["state"], job["reason"]) == ("blocked", "no_handler")
    explained = api.get(f"/jobs/{job['id']}/explain")
    assert "no_handler" in json.dumps(explained)
    assert api.job(job["id"])["attempt"] == 0
    assert api.act(job["id"], "cancel")["state"] == "cancelled"


def test_a_job_of_a_tenant_is_not_seen_by_others(api):
    """S2.5, S2.6, I9."""
    job = api.add(command=["/bin/true"], tenant="acme", held=True)
    assert job["tenant"] == "acme"
    assert api.request("GET", f"/jobs/{job['id']}?tenant=acme").status == 200
    assert api.request("GET", f"/jobs/{job['id']}?tenant=other").status == 404
    assert api.request("POST", f"/jobs/{job['id']}/cancel?tenant=other").status == 404
    ids = [item["id"] for item in api.all(tenant="other")]
    assert job["id"] not in ids
    assert api.request("POST", f"/jobs/{job['id']}/cancel?tenant=acme").status == 200


# --- wait= ----------------------------------------------------------------------------

def test_wait_answers_with_the_end(api):
    answer = api.request("POST", "/jobs?wait=PT60S",
                         {"command": ["/bin/sh", "-c", "echo 'R: 200 forty-two'"],
                          "protocol": True})
    assert answer.status == 200, answer
    told = answer.json()
    job = told.get("job", told)
    assert (job["state"], job["exitcode"]) == ("done", 200)
    assert "forty-two" in json.dumps(told)


def test_wait_answers_202_when_it_has_passed(api, home):
    path = gate(home)
    command = ["/bin/sh", "-c", "while [ ! -e \"$0\" ]; do sleep 0.02; done", str(path)]
    began = time.monotonic()
    answer = api.request("POST", "/jobs?wait=300ms", {"command": command})
    assert answer.status == 202, answer
    assert time.monotonic() - began > 0.25
    job = answer.json().get("job", answer.json())
    assert job["state"] in ("ready", "running")
    path.touch()
    assert api.until(job["id"])["state"] == "done"


# --- Idempotency-Key ------------------------------------------------------------------

def test_a_repeat_with_the_same_key_is_the_same_job(api, queue):
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    job = {"command": ["/bin/true"], "queue": queue}
    first = api.request("POST", "/jobs", job, headers)
    again = api.request("POST", "/jobs", job, headers)
    assert first.status == again.status == 201
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json()["id"] == first.json()["id"]
    assert len(api.all(queue=queue)) == 1


def test_a_repeat_with_another_body_is_refused(api, queue):
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    api.request("POST", "/jobs", {"command": ["/bin/true"], "queue": queue}, headers)
    other = api.request("POST", "/jobs", {"command": ["/bin/false"], "queue": queue}, headers)
    assert (other.status, other.json()["code"]) == (422, "idempotency_mismatch")
    assert len(api.all(queue=queue)) == 1


def test_the_same_key_from_many_clients_at_once(node, queue):
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    answers = []

    def ask():
        answers.append(node.api().request(
            "POST", "/jobs", {"command": ["/bin/true"], "queue": queue}, headers))
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status for answer in answers} <= {201, 409}
    assert len({answer.json()["id"] for answer in answers if answer.status == 201}) == 1
    assert len(node.api().all(queue=queue)) == 1


# --- many at once ---------------------------------------------------------------------

def test_lines_good_and_bad(api, queue):
    """S2.59 in its new form: one answer per line, in order, and a summary."""
    lines = [json.dumps({"command": ["/bin/true"], "queue": queue, "name": f"n{n}"})
             for n in range(5)]
    lines[1] = '{"command": ["/bin/true"], "colour": 1}'
    lines[3] = "this is no JSON"
    answer = api.request("POST", "/jobs", "\n".join(lines).encode() + b"\n", NDJSON)
    assert answer.status == 200
    *told, last = answer.lines()
    assert [line["line"] for line in told] == [1, 2, 3, 4, 5]
    assert ["id" in line for line in told] == [True, False, True, False, True]
    assert told[1]["error"]["code"] == "unknown_field"
    assert told[3]["error"]["code"] == "malformed_json"
    assert last == {"summary": {"accepted": 3, "rejected": 2, "durable": True}}
    ids = [line["id"] for line in told if "id" in line]
    assert ids == sorted(ids)
    stored = api.all(queue=queue)
    assert sorted(job["id"] for job in stored) == ids
    assert sorted(job["name"] for job in stored) == ["n0", "n2", "n4"]


def test_an_array(api, queue):
    body = [{"command": ["/bin/true"], "queue": queue, "payload": str(n)} for n in range(3)]
    answer = api.request("POST", "/jobs", body)
    assert answer.status == 200
    *told, last = answer.lines()
    assert [line["line"] for line in told] == [1, 2, 3]
    assert last["summary"]["accepted"] == 3
    assert {job["payload"] for job in api.all(queue=queue)} == {"0", "1", "2"}


def test_a_thousand_lines(api, queue):
    body = b"".join(json.dumps({"type": "later", "queue": queue, "payload": f"{n}"}).encode()
                    + b"\n" for n in range(1000))
    answer = api.request("POST", "/jobs", body, NDJSON)
    assert answer.lines()[-1]["summary"]["accepted"] == 1000
    jobs = api.all(queue=queue)
    assert len(jobs) == 1000
    by_id = sorted(jobs, key=lambda job: job["id"])
    assert [job["payload"] for job in by_id] == [str(n) for n in range(1000)]
    assert [job["id"] for job in jobs] == [job["id"] for job in reversed(by_id)]


def test_the_founding_path(api, queue):
    """S2.37, S2.59, S2.72: every line a job, answered with their ids."""
    path = f"//acme/job/lines/add?queue={queue}&priority=9&max_retries=1&retry_delay=PT0.2S"
    answer = api.request("POST", path, "one\ntwo é\n\nlast without newline".encode())
    assert answer.status == 200, answer
    told = answer.json()
    assert told["ok"] is True and told["count"] == len(told["ids"])
    jobs = sorted(api.all(queue=queue, tenant="acme"), key=lambda job: job["id"])
    assert [job["id"] for job in jobs] == told["ids"]
    payloads = [job["payload"] for job in jobs]
    assert [text for text in payloads if text] == ["one", "two é", "last without newline"]
    for job in jobs:
        assert (job["type"], job["tenant"], job["priority"]) == ("lines", "acme", 9)
        assert (job["max_retries"], job["retry_delay"]) == (1, "PT0.2S")
        assert job["state"] == "blocked"
    plain = api.request("POST", path, b"three\n", {"Accept": "text/plain"})
    assert plain.body.decode().split() == [
        job["id"] for job in api.all(queue=queue, tenant="acme", limit=1)][:1]


# --- lists ----------------------------------------------------------------------------

@pytest.fixture
def ten(api, queue):
    """Ten held jobs with tags, types and priorities."""
    jobs = [api.add(type="even" if n % 2 == 0 else "odd", command=["/bin/true"],
                    queue=queue, held=True, priority=n, tags=[f"t{n % 3}"],
                    name=f"n{n}") for n in range(10)]
    yield [job["id"] for job in jobs]
    for job in jobs:
        api.request("DELETE", f"/jobs/{job['id']}")


def listed(api, **query):
    return [job["id"] for job in api.all(**query)]


def test_lists_are_newest_first(api, ten, queue):
    assert listed(api, queue=queue) == list(reversed(ten))


def test_filters(api, ten, queue):
    assert listed(api, queue=queue, type="even") == list(reversed(ten[::2]))
    assert listed(api, queue=queue, type="even,odd") == list(reversed(ten))
    assert listed(api, queue=queue, tag="t1") == [ten[7], ten[4], ten[1]]
    assert listed(api, queue=queue, priority=3) == [ten[3]]
    assert listed(api, queue=queue, state="ready") == []
    assert listed(api, queue=queue, state="ready,held") == list(reversed(ten))
    created = {id: api.job(id)["created_at"] for id in ten}
    middle = created[ten[4]]
    later = {id for id in ten if created[id] > middle}
    at_or_later = {id for id in ten if created[id] >= middle}
    assert later <= set(listed(api, queue=queue, created_after=middle)) <= at_or_later
    assert set(ten) - at_or_later <= set(listed(api, queue=queue, created_before=middle)) \
        <= set(ten) - later


def test_query_text(api, ten, queue):
    """interfaces 6."""
    assert listed(api, q=f"queue:{queue} priority:>=8") == [ten[9], ten[8]]
    assert listed(api, q=f"queue:{queue} type:ev* -tag:t0") == [ten[8], ten[4], ten[2]]
    assert listed(api, q=f"queue:{queue} state:held,ready created:>-1h") == \
        list(reversed(ten))


@pytest.mark.parametrize("limit", [1, 3, 10, 1000])
def test_pages(api, ten, queue, limit):
    assert listed(api, queue=queue, limit=limit) == list(reversed(ten))
    page = api.get(f"/jobs?queue={queue}&limit={limit}")
    assert len(page["items"]) == min(limit, 10)
    assert bool(page["next_cursor"]) == (limit < 10)


def test_pages_miss_and_repeat_nothing_while_jobs_come(api, ten, queue):
    page = api.get(f"/jobs?queue={queue}&limit=4")
    new = api.add(command=["/bin/true"], queue=queue, held=True)["id"]
    seen = [job["id"] for job in page["items"]]
    while page["next_cursor"]:
        page = api.get(f"/jobs?queue={queue}&limit=4&cursor={page['next_cursor']}")
        seen += [job["id"] for job in page["items"]]
    assert [id for id in seen if id != new] == list(reversed(ten))
    assert len(seen) == len(set(seen))


def test_an_item_is_what_get_of_one_gives(api, ten, queue):
    for item in api.all(queue=queue):
        assert item == api.job(item["id"])


# --- order (S0.6-S0.8, S0.47, S3.1-S3.4, S3.52) ---------------------------------------

def test_priority_first_then_age(api, home, queue, slots):
    witness = gate(home)
    ids = {}
    for n, priority in enumerate([1, 5, 10, 5, -3, 10, 2147483647]):
        job = shell(api, 'echo "$PAWL_JOB_ID $PAWL_PRIORITY" >>"$1"', witness, queue=queue,
                    priority=priority)
        ids[n] = job["id"]
    expected = [ids[n] for n in (6, 2, 5, 1, 3, 0, 4)]
    assert listed(api, queue=queue, state="ready", order="dispatch") == expected
    slots()
    for id in expected:
        api.until(id)
    told = [line.split() for line in witness.read_text().splitlines()]
    assert [id for id, _ in told] == expected
    assert [int(priority) for _, priority in told] == [2147483647, 10, 10, 5, 5, 1, -3]


def test_a_changed_priority_changes_the_order(api, home, queue, slots):
    """S0.78, S3.5."""
    witness = gate(home)
    first, second, third = [shell(api, 'echo "$PAWL_JOB_ID" >>"$1"', witness, queue=queue)
                            ["id"] for _ in range(3)]
    assert api.request("PATCH", f"/jobs/{third}", {"priority": 9}).json()["priority"] == 9
    slots()
    for id in (first, second, third):
        api.until(id)
    assert witness.read_text().split() == [third, first, second]


def test_slots_bound_what_runs_at_once(api, home, queue):
    """S0.8, S0.14, S0.64, S3.9: four slots, all of them used, never more."""
    path = gate(home)
    ids = [gated(api, path, queue=queue) for _ in range(7)]
    wait_for(lambda: len(listed(api, queue=queue, state="running")) == 4, 120)
    assert len(listed(api, queue=queue, state="ready")) == 3
    path.touch()
    for id in ids:
        assert api.until(id)["state"] == "done"


def test_more_slots_start_more_at_once(api, home, queue, slots):
    """S0.74: at run time, both ways; lowering kills nothing."""
    path = gate(home)
    ids = [gated(api, path, queue=queue) for _ in range(4)]
    slots()
    wait_for(lambda: len(listed(api, queue=queue, state="running")) == 1, 120)
    api.request("PATCH", "/config", {"max_concurrent_jobs": 3})
    wait_for(lambda: len(listed(api, queue=queue, state="running")) == 3, 120)
    api.request("PATCH", "/config", {"max_concurrent_jobs": 1})
    assert len(listed(api, queue=queue, state="running")) == 3
    path.touch()
    for id in ids:
        assert api.until(id)["state"] == "done"


def test_nothing_starts_while_disabled(api, queue, slots):
    """S0.18."""
    id = shell(api, "true", queue=queue)["id"]
    time.sleep(0.3)
    assert api.job(id)["state"] == "ready"
    slots()
    assert api.until(id)["state"] == "done"


def test_a_new_job_starts_at_once(api):
    """S0.9, S0.10: its coming nudges the scheduler; the tick comes only every second. One
    that was added right behind another's end would wait for a tick almost as long."""
    waits = []

    def soon():
        job = ran(api, "true")
        waits.append((when(job["started_at"]) - when(job["created_at"])).total_seconds())
        return waits[-1] < 0.2
    wait_for(soon, message=lambda: f"{waits}")


def test_an_end_starts_the_next_at_once(api, queue, slots):
    """S0.12: no slot waits for the tick: with one for each start, seven seconds would be
    the least."""
    took = []

    def quick():
        ids = [shell(api, "true", queue=queue)["id"] for _ in range(8)]
        slots()
        last = [api.until(id) for id in ids][-1]
        first = api.job(ids[0])
        took.append((when(last["started_at"]) - when(first["started_at"])).total_seconds())
        return took[-1] < 6
    wait_for(quick, message=lambda: f"{took}")


# --- time -----------------------------------------------------------------------------

def test_a_deferred_job_runs_when_its_time_has_come(api):
    """S2.9, S2.15, S1.33."""
    began = time.time()
    job = shell(api, "true", delay="700ms")
    assert job["state"] == "deferred"
    assert began + 0.699 <= when(job["dt"]).timestamp() <= time.time() + 0.7
    ended = api.until(job["id"])
    assert ended["state"] == "done"
    assert when(ended["started_at"]) >= when(job["dt"])


def test_run_at(api):
    for seconds in (0.5, 5, 50): # on a busy machine it may have come when the job does
        at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
        text = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        job = shell(api, "true", run_at=text)
        if job["state"] == "deferred":
            break
    assert (job["state"], job["run_at"]) == ("deferred", text)
    ended = api.until(job["id"])
    assert when(ended["started_at"]) >= at.replace(microsecond=at.microsecond // 1000 * 1000)


@pytest.mark.parametrize("text,shown", [
    ("PT1H30M", "PT1H30M"), ("T30M", "PT30M"), ("90s", "PT1M30S"), ("1h30m", "PT1H30M"),
    (90, "PT1M30S"), ("PT0.2S", "PT0.2S"), ("200ms", "PT0.2S"), ("P1D", "PT24H")])
def test_durations(api, text, shown):
    job = api.add(command=["/bin/true"], held=True, max_run_time=text)
    assert job["max_run_time"] == shown
    api.act(job["id"], "cancel")


# --- outcomes (S2.50-S2.56, S2.116, S2.121, S2.122) -----------------------------------

OUTCOMES = [
    ("exit 0", "done", "ok", 200, 0, None),
    ("exit 3", "rejected", "error", 500, 3, None),
    ("exit 1", "rejected", "error", 500, 1, None),
    ("exit 255", "rejected", "error", 500, 255, None),
    ("exit 75", "rejected", "retry", 175, 75, None),
    ("exit 64", "failed", "failed", 464, 64, None),
    ("exit 65", "failed", "failed", 465, 65, None),
    ("exit 66", "failed", "failed", 466, 66, None),
    ("exit 77", "failed", "failed", 477, 77, None),
    ("exit 78", "failed", "failed", 478, 78, None),
    ("kill -KILL $$", "rejected", "error", 501, None, 9),
    ("kill -SEGV $$", "rejected", "error", 501, None, 11),
]


@pytest.mark.parametrize("script,state,code,exitcode,status,number", OUTCOMES)
def test_outcomes(api, script, state, code, exitcode, status, number):
    job = ran(api, script)
    assert (job["state"], job["code"], job["exitcode"]) == (state, code, exitcode)
    assert (job["exit_status"], job["signal"]) == (status, number)
    assert bool(job["error"]) == (code != "ok")
    assert job["attempt"] == 1
    assert job["lock"] == "__done"


@pytest.mark.parametrize("command", [["/no/such/program"], ["no-such-program-anywhere"],
                                     ["/etc/passwd"], ["/tmp"]], ids=str)
def test_a_program_that_cannot_be_started(api, command):
    job = api.until(api.add(command=command, max_retries=0)["id"])
    assert (job["state"], job["code"], job["exitcode"]) == ("rejected", "error", 503)
    assert (job["exit_status"], job["signal"]) == (None, None)
    assert job["error"]


def test_a_directory_that_is_not_there(api):
    job = api.until(api.add(command=["/bin/true"], cwd="/no/such/place", max_retries=0)["id"])
    assert (job["state"], job["exitcode"]) == ("rejected", 503)
    assert "/no/such/place" in job["error"] or "directory" in job["error"]


SAID = [("R: 200 fine", 0, "done", 200), ("R: 404 gone", 0, "failed", 404),
        ("R: 150 busy", 0, "rejected", 150), ("R: 555 bad", 0, "rejected", 555),
        ("R: 302 moved", 0, "rejected", 302), ("R: 200 fine", 7, "done", 200),
        ("R: 99 no", 0, "done", 200), ("r: 404 no", 0, "done", 200),
        (" R: 404 no", 0, "done", 200)]


@pytest.mark.parametrize("line,status,state,exitcode", SAID)
def test_an_r_line_overrides_the_exit_status(api, line, status, state, exitcode):
    job = ran(api, 'echo "$1"; exit "$2"', line, status, protocol=True)
    assert (job["state"], job["exitcode"], job["exit_status"]) == (state, exitcode, status)
    if line == "R: 404 gone":
        assert api.request("GET", f"/jobs/{job['id']}/result").body == b"gone"


def test_without_protocol_lines_mean_nothing(api, queue):
    """So that `pawl run -- cat FILE` obeys nothing; S2.49."""
    job = ran(api, "echo 'R: 404 no'; echo 'J: other|payload'; echo 'P: 50 half'", queue=queue)
    assert (job["state"], job["exitcode"], job["progress"]) == ("done", 200, None)
    assert listed(api, parent=job["id"]) == []


# --- retries (S1.30, S2.54, S2.55, S2.58, S1.20, S1.55) -------------------------------

def test_retries_until_rejected(api, home):
    witness = gate(home)
    job = ran(api, 'echo "$PAWL_ATTEMPT" >>"$1"; exit 3', witness, max_retries=2,
              retry_delay="50ms")
    assert (job["state"], job["attempt"], job["retry_number"]) == ("rejected", 3, 2)
    assert witness.read_text().split() == ["1", "2", "3"]
    rows = sorted(api.get(f"/jobs/{job['id']}/attempts")["items"],
                  key=lambda row: row["attempt"])
    assert [row["attempt"] for row in rows] == [1, 2, 3]
    assert [row["retry_number"] for row in rows] == [0, 1, 2]
    assert all(row["exitcode"] == 500 for row in rows)


def test_a_retry_comes_after_its_delay(api):
    job = ran(api, "exit 75", max_retries=1, retry_delay="600ms")
    first, second = sorted(api.get(f"/jobs/{job['id']}/attempts")["items"],
                           key=lambda row: row["attempt"])
    waited = (when(second["started_at"]) - when(first["finished_at"])).total_seconds()
    assert 0.6 * 0.9 - 0.01 <= waited
    assert job["code"] == "retry"


def test_a_retry_that_succeeds(api, home):
    mark = gate(home)
    job = ran(api, 'if [ -e "$1" ]; then exit 0; fi; touch "$1"; exit 3', mark,
              max_retries=5, retry_delay="20ms")
    assert (job["state"], job["attempt"], job["retry_number"]) == ("done", 2, 1)
    assert job["error"] is None


def test_between_attempts_it_is_retrying(api):
    id = shell(api, "exit 75", max_retries=1, retry_delay="1h")["id"]
    job = api.until(id, "retrying")
    assert (job["lock"], job["attempt"], job["code"]) == ("", 1, "retry")
    assert when(job["dt"]) > datetime.datetime.now(datetime.timezone.utc)
    api.act(id, "retry") # the answer tells the job as it is by then: it may have run already
    wait_for(lambda: api.job(id)["attempt"] == 2, 120)
    api.request("POST", f"/jobs/{id}/cancel")


def test_the_retry_window_ends_in_rejected(api):
    for window in (0.45, 4.5, 45): # a busy machine may need all of it for one attempt
        job = api.until(api.add(command=["/bin/sh", "-c", "exit 75"], retry_delay="100ms",
                                retry_window=f"{window}s")["id"])
        assert job["state"] == "rejected"
        assert job["attempt"] <= 2 + window / 0.09 # a delay is at least so long
        if job["attempt"] >= 2:
            break
    assert job["attempt"] >= 2


def test_failed_is_never_retried(api):
    """S2.53."""
    job = ran(api, "exit 65", max_retries=5, retry_delay="10ms")
    assert (job["state"], job["attempt"]) == ("failed", 1)


# --- actions (S0.75, S4.74-S4.79) -----------------------------------------------------

def test_hold_and_release(api, queue, slots):
    id = shell(api, "true", queue=queue)["id"]
    assert api.act(id, "hold")["state"] == "held"
    slots()
    other = shell(api, "true", queue=queue)["id"]
    assert api.until(other)["state"] == "done"
    assert api.job(id)["state"] == "held"
    assert api.act(id, "release")["state"] in ("ready", "running", "done")
    assert api.until(id)["state"] == "done"


def test_cancel_a_waiting_job(api, home):
    for delay in (0.3, 3, 30): # one that has begun on a busy machine proves nothing
        mark = gate(home)
        id = shell(api, 'touch "$1"', mark, delay=f"{delay}s")["id"]
        answer = api.request("POST", f"/jobs/{id}/cancel")
        if answer.status == 200 and answer.json()["attempt"] == 0:
            break
    job = answer.json()
    assert (job["state"], job["lock"], job["attempt"]) == ("cancelled", "__done", 0)
    time.sleep(delay + 0.2)
    assert not mark.exists()


def test_cancel_a_running_job(api):
    id = shell(api, "trap 'echo bye; exit 0' TERM; echo up; "
                    "while :; do sleep 0.02; done")["id"]
    wait_for(lambda: api.log(id) == b"up\n", 120)
    api.act(id, "cancel", body={})
    job = api.until(id)
    assert (job["state"], job["attempt"]) == ("cancelled", 1)
    assert api.log(id, stream="stdout") == b"up\nbye\n"


def test_kill_gives_no_chance(api):
    id = shell(api, "trap 'echo bye' TERM; echo up; while :; do sleep 0.02; done")["id"]
    wait_for(lambda: api.log(id) == b"up\n", 120)
    api.act(id, "kill")
    job = api.until(id)
    assert (job["state"], job["signal"]) == ("cancelled", 9)
    assert api.log(id) == b"up\n"


def test_pause_and_resume(api, home):
    path = gate(home)
    id = shell(api, "while [ ! -e \"$1\" ]; do echo; sleep 0.02; done", path)["id"]
    wait_for(lambda: api.log(id), 120)
    paused = api.act(id, "pause")
    assert (paused["state"], paused["attempt"]) == ("paused", 1)
    assert paused["lock"] not in ("", "__done")
    wait_for(lambda: stopped(f"PAWL_JOB_ID={id}"), message="it goes on")
    wait_for(lambda: quiet(api, id), message="what it had printed does not end")
    path.touch()
    assert quiet(api, id) and api.job(id)["state"] == "paused"
    # The answer tells the job as it is by then: it may have seen its gate already.
    assert api.act(id, "resume")["state"] in ("running", "done")
    assert api.until(id)["state"] == "done"


def quiet(api, id):
    """It has not printed for ten of its beats."""
    before = len(api.log(id))
    time.sleep(0.2)
    return len(api.log(id)) == before


def test_halt_keeps_progress_and_resume_goes_on(api):
    """S4.78, S4.83: the state directory is there again."""
    id = shell(api, 'f="$PAWL_STATE_DIR/step"; if [ -e "$f" ]; then cat "$f"; exit 0; fi; '
                    'echo half >"$f"; echo up; while :; do sleep 0.02; done',
               keep_state=True)["id"]
    wait_for(lambda: api.log(id) == b"up\n", 120)
    api.act(id, "halt")
    halted = api.until(id, "halted")
    assert (halted["lock"], halted["retry_number"]) == ("", 0)
    assert api.act(id, "resume")["state"] in ("ready", "running", "done")
    ended = api.until(id)
    assert (ended["state"], ended["attempt"], ended["retry_number"]) == ("done", 2, 0)
    assert api.log(id) == b"half\n"
    assert api.log(id, attempt=1) == b"up\n"


def test_retry_leaves_a_final_state(api, home):
    mark = gate(home)
    job = ran(api, 'test -e "$1"', mark)
    assert job["state"] == "rejected"
    mark.touch()
    again = api.act(job["id"], "retry")
    assert again["retry_number"] == 0
    ended = api.until(job["id"])
    assert (ended["state"], ended["attempt"]) == ("done", 2)
    assert len(api.get(f"/jobs/{job['id']}/attempts")["items"]) == 2


def test_what_makes_no_sense_is_refused_with_what_would(api):
    done = ran(api, "true")["id"]
    for action in ("cancel", "kill", "hold", "release", "pause", "resume", "halt"):
        answer = api.request("POST", f"/jobs/{done}/{action}")
        assert (answer.status, answer.json()["code"]) == (409, "invalid_state"), action
        assert answer.json()["allowed"], action
    assert api.job(done)["state"] == "done"
    waiting = api.add(command=["/bin/true"], held=True)["id"]
    for action in ("pause", "resume", "halt"):
        answer = api.request("POST", f"/jobs/{waiting}/{action}")
        assert answer.status == 409, (action, answer)
    assert api.act(waiting, "cancel")["state"] == "cancelled"


def test_patch(api, queue, slots):
    id = shell(api, 'cat; echo "$PAWL_QUEUE"')["id"]
    answer = api.request("PATCH", f"/jobs/{id}", {
        "priority": -5, "queue": queue, "payload": "new", "tags": ["x"],
        "max_run_time": "1h"})
    assert answer.status == 200, answer
    job = answer.json()
    assert (job["priority"], job["queue"], job["payload"]) == (-5, queue, "new")
    assert (job["tags"], job["max_run_time"]) == (["x"], "PT1H")
    assert api.job(id) == job
    assert listed(api, queue=queue) == [id]
    slots()
    api.until(id)
    assert api.log(id) == f"new\n{queue}\n".encode()
    late = api.request("PATCH", f"/jobs/{id}", {"priority": 1})
    assert (late.status, late.json()["code"]) == (409, "invalid_state")


def test_patch_of_run_at_defers_and_brings_forward(api):
    id = shell(api, "true", delay=3600)["id"]
    answer = api.request("PATCH", f"/jobs/{id}", {"run_at": "2020-01-01T00:00:00Z"})
    assert answer.status == 200, answer
    assert api.until(id)["state"] == "done"


def test_delete(node, api, home):
    """Removes rows, logs and all; cancels first if need be."""
    done = ran(api, "echo something")["id"]
    path = gate(home)
    running = gated(api, path)
    waiting = api.add(command=["/bin/true"], held=True)["id"]
    api.until(running, "running")
    for id in (done, running, waiting):
        assert api.request("DELETE", f"/jobs/{id}").status in (200, 204)
        assert api.request("GET", f"/jobs/{id}").status == 404
        assert api.request("GET", f"/jobs/{id}/attempts").status == 404
        wait_for(lambda id=id: not files_below(node.data / "logs", id))
    wait_for(lambda: not node.jobs(), 120)


# --- what a job sees (interfaces 3) ---------------------------------------------------

def test_the_environment_of_a_job(node, api, queue):
    """S0.31, S0.37, S0.57: who it is, where its document is, and nothing of the daemon's."""
    id = shell(api, "env -0; echo; cat \"$PAWL_JOB_FILE\"; test -w \"$PAWL_JOB_FILE\" || "
                    "echo; echo x >\"$PAWL_TEMP_DIR/x\"; stat -c %a \"$PAWL_JOB_FILE\" >&2",
               queue=queue, priority=8, env={"OWN": "a b=c", "LANG": "de_DE"},
               max_run_time="1h", payload="p")["id"]
    api.until(id)
    text, _, document = api.log(id, stream="stdout").rpartition(b"\0\n")
    env = dict(item.split("=", 1) for item in text.decode().split("\0"))
    assert env["PAWL_JOB_ID"] == env["JQM_JI_ID"] == id or env["JQM_JI_ID"].isdigit()
    assert env["PAWL_JOB_TYPE"] == "run" and env["PAWL_TENANT"] == "default"
    assert env["PAWL_QUEUE"] == env["JQM_Q_NAME"] == queue
    assert env["PAWL_PRIORITY"] == "8" and env["PAWL_ATTEMPT"] == "1"
    assert env["PAWL_NODE"] == env["JQM_NODE_NAME"]
    assert env["PAWL_TOKEN"] and env["PAWL_API_URL"].startswith("http://127.0.0.1:")
    assert when(env["PAWL_DEADLINE"]) > datetime.datetime.now(datetime.timezone.utc)
    assert env["PAWL_TEMP_DIR"].startswith(str(node.data))
    assert (env["OWN"], env["LANG"]) == ("a b=c", "de_DE")
    assert "PAWL_SECRET_OF_THE_DAEMON" not in env
    assert "PAWL_STATE_DIR" not in env and "PAWL_FILES_DIR" not in env
    known = {"PATH", "HOME", "LANG", "TZ", "USER", "OWN", "PWD", "SHLVL", "_", "OLDPWD"}
    others = {name for name in env
              if name not in known and not name.startswith(("PAWL_", "JQM_"))}
    assert not others, others
    job = json.loads(document)
    assert (job["id"], job["queue"], job["payload"]) == (id, queue, "p")
    for path in (env["PAWL_TEMP_DIR"] + "/x", env["PAWL_JOB_FILE"]):
        wait_for(lambda path=path: not pathlib.Path(path).exists(), 120, f"{path} is left")
    mode = api.log(id, stream="stderr").split()[-1]
    assert int(mode, 8) & 0o222 == 0, f"the document can be written: {mode}"


def test_the_payload_comes_on_standard_input(api):
    """S2.8: a newline at its end."""
    for payload, expected in (("plain", b"plain\n"), ("two\nlines\n", b"two\nlines\n"),
                              ("", None), ("é\u2028", "é\u2028\n".encode())):
        id = shell(api, "cat", payload=payload)["id"]
        api.until(id)
        if expected is not None:
            assert api.log(id) == expected


def test_binary_payloads_come_as_they_are(api):
    """S2.76."""
    data = bytes(range(256)) * 3
    id = shell(api, "cat", payload_base64=base64.b64encode(data).decode())["id"]
    assert api.until(id)["payload_base64"] == base64.b64encode(data).decode()
    assert api.log(id) == data


def test_a_large_payload(api):
    text = "0123456789abcdef" * (3 << 16)
    id = shell(api, "wc -c", payload=text)["id"]
    api.until(id)
    assert int(api.log(id)) == len(text) + 1
    assert api.job(id)["payload"] == text


def test_the_working_directory(api, home):
    id = shell(api, "pwd", cwd=str(home.path))["id"]
    api.until(id)
    assert api.log(id).decode().strip() == str(home.path)


def test_arguments_arrive_as_they_were_sent(api):
    words = ["a b", "", "*", "$HOME", "'\"\\", "\n", "é", "-n", "--"]
    id = api.add(command=["/usr/bin/printf", "[%s]", *words], max_retries=0)["id"]
    assert api.until(id)["state"] == "done"
    assert api.log(id).decode() == "".join(f"[{word}]" for word in words)


# --- logs and results -----------------------------------------------------------------

def test_follow_streams_until_the_end(node, api, home):
    path = gate(home)
    id = shell(api, "echo first; while [ ! -e \"$1\" ]; do sleep 0.02; done; echo last",
               path)["id"]
    follower = node.api(120)
    follower.conn.connect()
    follower.conn.request("GET", f"/api/v1/jobs/{id}/log?follow=1")
    response = follower.conn.getresponse()
    assert response.status == 200
    assert response.read(6) == b"first\n"
    assert api.job(id)["state"] == "running"
    path.touch()
    assert response.read() == b"last\n"
    follower.close()
    assert api.until(id)["state"] == "done"


def test_follow_of_an_ended_job_ends_at_once(api):
    id = ran(api, "echo all")["id"]
    assert api.log(id, follow=1) == b"all\n"


def test_logs_of_each_attempt(api):
    id = ran(api, 'echo "this is $PAWL_ATTEMPT"; exit 3', max_retries=1,
             retry_delay="10ms")["id"]
    assert api.log(id, attempt=1) == b"this is 1\n"
    assert api.log(id, attempt=2) == b"this is 2\n"
    assert api.log(id) == b"this is 2\n"
    assert api.request("GET", f"/jobs/{id}/log?attempt=3").status == 404


def test_results(api):
    """S2.51, S2.117."""
    id = ran(api, r"printf 'R: 200 <<5\na\000b\nc'", protocol=True)["id"]
    assert api.job(id)["result_size"] == 5
    assert api.request("GET", f"/jobs/{id}/result").body == b"a\0b\nc"
    none = ran(api, "true")["id"]
    answer = api.request("GET", f"/jobs/{none}/result")
    assert (answer.status, answer.json()["code"]) == (404, "result_not_found")


def test_progress(api, home):
    path = gate(home)
    id = shell(api, "echo 'P: 45 nearly half'; while [ ! -e \"$1\" ]; do sleep 0.02; done; "
                    "echo 'P: 90'", path, protocol=True)["id"]
    job = wait_for(lambda: (job := api.job(id))["progress"] and job, 120)
    assert (job["progress"], job["message"]) == (45, "nearly half")
    path.touch()
    assert api.until(id)["progress"] == 90


# --- children (S2.47, S2.48, S2.119, S2.120) ------------------------------------------

def test_j_lines_become_jobs(node, api):
    id = ran(api, "echo 'J: child.one|first payload'; echo '#J: child.two|second'; "
                  "echo ' J: no|no'; echo 'J: not a name|x'; echo 'J:child|no space'",
             protocol=True)["id"]
    children = sorted(api.all(parent=id), key=lambda job: job["id"])
    assert [(job["type"], job["payload"]) for job in children] == [
        ("child.one", "first payload"), ("child.two", "second")]
    told = "`J: not a name|x`: no type can have this name"
    assert api.job(id)["message"] == f"2 lines were refused, the first: {told}"
    wait_for(lambda: f'event=job.lines_refused job={id} count=2 first="{told}"' in node.log(),
             message=lambda: node.tail())
    for job in children:
        assert (job["parent"], job["tenant"], job["state"]) == (id, "default", "blocked")


@pytest.mark.parametrize("mark", ["J", "#J", "J!"])
def test_children_stay_with_the_tenant(api, mark):
    """S2.120: whatever the line says."""
    job = api.add(command=["/bin/sh", "-c", f"echo '{mark}: other:x|p'"], tenant="acme",
                  protocol=True)
    wait_for(lambda: api.request("GET", f"/jobs/{job['id']}?tenant=acme").json()["state"]
             == "done", 120)
    child, = api.all(parent=job["id"], tenant="acme")
    assert (child["tenant"], child["type"], child["payload"]) == ("acme", "other:x", "p")
    assert api.all(parent=job["id"]) == []


def test_a_retried_attempt_does_not_add_twice(api):
    id = ran(api, "echo 'J: once|x'; if [ $PAWL_ATTEMPT = 1 ]; then exit 3; fi",
             protocol=True, max_retries=1, retry_delay="10ms")["id"]
    assert len(api.all(parent=id)) == 1


def test_j_with_a_mark_adds_at_once(api, home):
    path = gate(home)
    id = shell(api, "echo 'J!: at.once|x'; while [ ! -e \"$1\" ]; do sleep 0.02; done",
               path, protocol=True)["id"]
    wait_for(lambda: api.all(parent=id), 120)
    assert api.job(id)["state"] == "running"
    path.touch()
    api.until(id)
    assert len(api.all(parent=id)) == 1


# --- the database (S1.9, S1.31-S1.48, S2.16, S2.22-S2.27) -----------------------------

def rows(node, text, *args):
    path = f"file:{node.data}/pawl.db?mode=ro"
    with contextlib.closing(sqlite3.connect(path, uri=True, timeout=120)) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(text, args)]


def job_row(node, id):
    row, = rows(node, "SELECT * FROM job WHERE id = ?", id)
    return row


def attempt_rows(node, id):
    return rows(node, "SELECT * FROM job_resource WHERE job_id = ? ORDER BY attempt", id)


def seen_twice(node, api, id):
    """A job and its row, unless a sign of life came between the two looks."""
    shown, row = api.job(id), job_row(node, id)
    return (shown, row) if api.job(id) == shown else None


def test_the_tables_of_001_in_every_state(node, api, home, queue):
    """While the daemon runs: (dt, lock) as 002 has them, the words of 001."""
    now = datetime.datetime.now(datetime.timezone.utc)
    path = gate(home)
    ids = {
        "deferred": api.add(command=["/bin/true"], delay=3600)["id"],
        "blocked": api.add(type="nobody.handles.this")["id"],
        "held": api.add(command=["/bin/true"], held=True)["id"],
        "running": gated(api, path, service_time="90s"),
        "paused": gated(api, path),
        "retrying": shell(api, "exit 75", max_retries=1, retry_delay="1h")["id"],
        "done": ran(api, "true")["id"],
        "failed": ran(api, "exit 65")["id"],
        "rejected": ran(api, "exit 3")["id"],
        "cancelled": api.add(command=["/bin/true"], held=True)["id"],
        "halted": gated(api, gate(home)),
    }
    api.until(ids["halted"], "running")
    api.act(ids["halted"], "halt")
    api.until(ids["halted"], "halted")
    api.act(ids["cancelled"], "cancel")
    api.until(ids["paused"], "running")
    api.act(ids["paused"], "pause")
    api.until(ids["running"], "running")
    api.until(ids["retrying"], "retrying")
    sysid = api.job(ids["running"])["lock"]
    words = {"running": "InProgress", "paused": "InProgress", "retrying": "Failed",
             "done": "Completed", "failed": "Failed", "rejected": "Rejected"}
    for state, id in ids.items():
        shown, row = wait_for(lambda id=id: seen_twice(node, api, id))
        assert shown["state"] == state
        assert row["state"] == state
        assert row["status"] == words.get(state, "Cancelled" if state == "cancelled"
                                          else "Pending")
        assert row["lock"] == shown["lock"] == {
            "running": sysid, "paused": sysid, "done": "__done", "failed": "__done",
            "rejected": "__done", "cancelled": "__done"}.get(state, "")
        dt = when(shown["dt"])
        assert row["dt"] == shown["dt"]
        if state in ("deferred", "retrying", "running", "paused"):
            assert now < dt < now + datetime.timedelta(hours=2)
        elif state == "blocked": # until its retry window is over
            assert now + datetime.timedelta(hours=5) < dt < now + datetime.timedelta(hours=7)
        elif shown["lock"] == "__done":
            assert 999 * 365 < (dt - now).days < 1001 * 366
        else:
            assert dt <= datetime.datetime.now(datetime.timezone.utc)
        assert {"id", "description", "execution_time", "service_time"} <= set(row)
    check_attempts(node, ids)
    path.touch()
    api.act(ids["paused"], "resume")
    for state in ("deferred", "blocked", "held", "retrying", "halted"):
        api.act(ids[state], "cancel")


def test_a_ready_job_in_the_database(node, api, slots):
    """S2.22: dt has come, the lock is empty."""
    id = shell(api, "true")["id"]
    shown = api.job(id)
    row = job_row(node, id)
    assert (shown["state"], shown["lock"]) == ("ready", "")
    assert (row["state"], row["status"], row["lock"], row["dt"]) == (
        "ready", "Pending", "", shown["dt"])
    assert when(shown["dt"]) <= datetime.datetime.now(datetime.timezone.utc)
    slots()
    assert api.until(id)["lock"] == "__done"


def test_a_running_job_shows_signs_of_life(node, api, home):
    """S1.10, S1.28, S2.24, I13: the lease is renewed, and a healthy job never broken."""
    assert api.request("PATCH", "/config", {"job_stale_interval": "1s"}).status == 200
    path = gate(home)
    id = gated(api, path)
    first = api.until(id, "running")
    later = wait_for(lambda: (job := api.job(id))["last_heartbeat_at"] >
                     first["last_heartbeat_at"] and job, 120, "it shows no sign of life")
    assert later["dt"] > first["dt"]
    old = time.monotonic() + 1.5 # longer than its lease
    wait_for(lambda: time.monotonic() > old, 120)
    assert (api.job(id)["state"], api.job(id)["attempt"]) == ("running", 1)
    assert attempt_rows(node, id)[0]["last_heartbeat_time"] > first["last_heartbeat_at"]
    path.touch()
    assert api.until(id)["attempt"] == 1
    assert api.request("PATCH", "/config", {"job_stale_interval": None}).status == 200


def check_attempts(node, ids):
    """A row of job_resource for every attempt, with a resource that exists."""
    resources = {row["id"]: row["name"] for row in rows(node, "SELECT id, name FROM resource")}
    for state, status in (("running", "InProgress"), ("paused", "InProgress"),
                          ("retrying", "Failed"), ("done", "Completed"),
                          ("failed", "Failed"), ("rejected", "Rejected")):
        row, = attempt_rows(node, ids[state])
        assert row["status"] == status
        assert row["retry_number"] == 0
        assert resources[row["resource_id"]]
        assert row["original_execution_time"] and row["actual_execution_time"]
        assert bool(row["actual_finish_time"]) == (state not in ("running", "paused"))
        assert row["last_heartbeat_time"]
        assert row["id"] and "service_time" in row
    running, = attempt_rows(node, ids["running"])
    expected = (when(running["expected_finish_time"]) -
                when(running["actual_execution_time"])).total_seconds()
    assert expected == 90
    for state in ("deferred", "blocked", "held"):
        assert attempt_rows(node, ids[state]) == []
    nobodys, = attempt_rows(node, ids["cancelled"]) # else 001's pick would offer it
    assert (nobodys["status"], nobodys["resource_id"]) == ("Cancelled", 8589934592)
    assert nobodys["actual_execution_time"] is None


def test_two_jobs_at_once_hold_two_resources(node, api, home):
    """S1.12, S1.19, S1.24: a slot is one row of resource, taken by one at a time; there are
    as many as can run, and who gets none waits until one is free."""
    path = gate(home)
    ids = [gated(api, path) for _ in range(5)]
    for id in ids[:4]:
        api.until(id, "running")
    held = [attempt_rows(node, id)[0]["resource_id"] for id in ids[:4]]
    assert len(set(held)) == 4
    assert api.job(ids[4])["state"] == "ready" and attempt_rows(node, ids[4]) == []
    path.touch()
    for id in ids:
        api.until(id)


# --- the daemon's other answers -------------------------------------------------------

def test_explain_says_why_it_does_not_run(api):
    """In words and fields."""
    held = api.add(command=["/bin/true"], held=True)["id"]
    later = api.add(command=["/bin/true"], delay=3600)["id"]
    assert "held" in json.dumps(api.get(f"/jobs/{held}/explain"))
    assert api.job(later)["dt"] in json.dumps(api.get(f"/jobs/{later}/explain")) or \
        "deferred" in json.dumps(api.get(f"/jobs/{later}/explain"))
    for id in (held, later):
        api.act(id, "cancel")


def test_the_three_lines_of_analytics(node, api, queue):
    """S2.11, S2.12, interfaces 8: never the payload."""
    id = ran(api, "true", queue=queue, payload="secret-payload")["id"]
    wait_for(lambda: f"event=job.finished job={id}" in node.log())
    lines = [line for line in node.log().splitlines() if f"job={id}" in line]
    events = [word for line in lines for word in line.split() if word.startswith("event=")]
    text = "\n".join(lines)
    for event in ("job.added", "job.started", "job.finished"):
        assert event in text, text
    assert f"queue={queue}" in text and "dur_ms=" in text
    assert "secret-payload" not in node.log()
    assert len(events) in (0, len(lines))


def test_the_counts(api, queue):
    """S2.110, S0.80, S0.81."""
    busy = "ready,running,retrying,deferred,paused,halted"
    wait_for(lambda: not listed(api, state=busy)) # of tests before this one
    before = api.get("/stats")
    ran(api, "true", queue=queue, priority=9)
    ran(api, "exit 65", queue=queue, priority=9)
    held = api.add(command=["/bin/true"], queue=queue, held=True)["id"]
    after = api.get("/stats")
    for state, more in (("done", 1), ("failed", 1), ("held", 1), ("ready", 0)):
        assert after["jobs"][state] == before["jobs"][state] + more, state
    mine, = [row for row in after["queues"] if row["queue"] == queue]
    assert mine["jobs"] == {"done": 1, "failed": 1, "held": 1}
    assert after["totals"]["added"] == before["totals"]["added"] + 3
    was, row = [next(({k: row[k] for k in ("added", "started", "finished")}
                      for row in stats["by_priority"] if str(row["priority"]) == "9"),
                     {"added": 0, "started": 0, "finished": 0}) for stats in (before, after)]
    assert row == {key: number + 2 for key, number in was.items()}
    api.act(held, "cancel")


def test_health_and_metrics(node, api):
    assert api.request("GET", "/livez").status == 200
    assert api.request("GET", "/readyz").status == 200
    text = api.request("GET", "/metrics").body.decode()
    for name in ("pawl_jobs_added_total", "pawl_jobs_finished_total", "pawl_jobs{",
                 "pawl_slots", "pawl_journal_sync_seconds", "pawl_build_info"):
        assert name in text, name
    nodes = api.get("/nodes")["items"]
    assert [item["pid"] for item in nodes] == [node.pid]
    assert api.get("/openapi.json")["openapi"].startswith("3.1")


# --- purge (S2.26, S2.91, S2.92) ------------------------------------------------------

def test_old_jobs_are_really_deleted():
    """At the start, and from then on every minute."""
    with Place() as place:
        node = place.daemon("--set", "scheduling.keep_done=1s",
                            "--set", "scheduling.keep_other=1h").start()
        api = node.api()
        done = [ran(api, "echo x; echo 'R: 200 r'", protocol=True)["id"] for _ in range(3)]
        failed = ran(api, "echo x; exit 65")["id"]
        held = api.add(command=["/bin/true"], held=True)["id"]
        kept = files_below(node.data / "logs", ".out")
        assert len(kept) >= 4
        old = time.monotonic() + 1.1
        wait_for(lambda: time.monotonic() > old, 120)
        node.restart()
        api = node.api()
        wait_for(lambda: not listed(api, state="done"), 120, "they are not purged")
        assert sorted(listed(api)) == sorted([failed, held])
        for id in done:
            assert api.request("GET", f"/jobs/{id}").status == 404
            wait_for(lambda id=id: not files_below(node.data / "logs", id))
        assert [row["id"] for row in rows(node, "SELECT id FROM job WHERE status != "
                                                "'Pending'")] == [failed]
        assert {row["job_id"] for row in rows(node, "SELECT job_id FROM job_resource")} == \
            {failed}
        assert rows(node, "SELECT * FROM result") == []
        assert api.request("PATCH", "/config", {"keep_other": "1s"}).status == 200
        node.restart()
        api = node.api()
        wait_for(lambda: listed(api) == [held], 120, "failed ones are not purged")
