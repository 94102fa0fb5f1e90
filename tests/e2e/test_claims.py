# SPDX-License-Identifier: Apache-2.0
"""Pull workers against a real daemon: claims, leases, results, restarts, and clients that
go away (interfaces, claims; founding documents 001 and 002)."""
import json
import pathlib
import socket
import sys
import threading
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.daemon import Place  # noqa: E402


@pytest.fixture(scope="module")
def node():
    with Place() as place:
        yield place.daemon("--slots", "2").start()


class Tenant:
    """A tenant of the test's own, with pull handlers."""

    def __init__(self, node, *types):
        self.node, self.api = node, node.api(120)
        self.name = self.api.tenant = "t" + uuid.uuid4().hex[:10]
        for type in types or ("mail",):
            self.handler(type)

    def handler(self, type, **fields):
        answer = self.api.request("PUT", f"/handlers/{type}?tenant={self.name}",
                                  {"lang": "pull", **fields})
        assert answer.status in (200, 201), answer

    def add(self, type="mail", **fields):
        return self.api.add(type=type, tenant=self.name, **fields)["id"]

    def ask(self, what="", **body):
        answer = self.api.request("POST", f"/claims{what}?tenant={self.name}", body)
        assert answer.status in (200, 204), answer
        return answer.json() if answer.status == 200 else {"jobs": []}

    def claim(self, **body):
        return self.ask(**body)["jobs"]

    def one(self, **body):
        jobs = self.claim(wait="PT60S", **body)
        assert len(jobs) == 1, jobs
        return jobs[0]

    def tell(self, what, job, **fields):
        item = {"id": job["id"], "attempt": job["attempt"], "token": job["token"]}
        answer = self.ask(what, items=[{**item, **fields}])
        assert [found["id"] for found in answer["items"]] == [job["id"]]
        return answer["items"][0]["status"]

    def renew(self, job, **fields):
        return self.tell("/renew", job, **fields)

    def finish(self, job, **fields):
        return self.tell("/finish", job, **fields)


@pytest.fixture
def tenant(node):
    return Tenant(node)


def metric(node, name):
    text = node.api().request("GET", "/metrics").body.decode()
    return float(next(line.split()[1] for line in text.splitlines()
                      if line.startswith(name + " ")))


def test_a_worker_takes_a_job_and_finishes_it(tenant):
    """S1.11, S1.53, S2.31: nodes of execution ask for work; a running job is theirs by
    token, and what they get says when it was due and how long it should take."""
    id = tenant.add(payload="hello", priority=7, service_time="PT90S")
    due = tenant.api.job(id)["run_at"]
    job = tenant.one(worker="w-1", lease="PT1M")
    assert job["id"] == id and job["payload"] == "hello" and job["attempt"] == 1
    assert job["state"] == "running" and job["priority"] == 7 and job["token"]
    assert job["run_at"] == due and job["service_time"] == "PT1M30S"
    seen = tenant.api.job(id)
    assert seen["state"] == "running" and seen["message"] == "w-1"
    assert tenant.claim() == [] # nothing else
    assert tenant.renew(job, progress=40, message="page 4") == "ok"
    assert tenant.finish(job, exitcode=201, result={"pages": [1, 2]}) == "ok"
    seen = tenant.api.job(id)
    assert seen["state"] == "done" and seen["exitcode"] == 201 and seen["code"] == "ok"
    assert tenant.api.get(f"/jobs/{id}/result") == {"pages": [1, 2]}


@pytest.mark.parametrize("exitcode, state, code", [
    (200, "done", "ok"), (404, "failed", "failed"), (150, "rejected", "retry"),
    (500, "rejected", "error")])
def test_the_status_decides(tenant, exitcode, state, code):
    """S2.50, S2.52 to S2.55: status codes of a worker are those of any job."""
    id = tenant.add(max_retries=0)
    assert tenant.finish(tenant.one(), exitcode=exitcode, error="because") == "ok"
    job = tenant.api.job(id)
    assert (job["state"], job["code"], job["exitcode"]) == (state, code, exitcode)
    assert job["error"] == (None if state == "done" else "because")


def test_a_long_poll_is_answered_when_work_arrives(tenant):
    got = []
    other = Tenant.__new__(Tenant)
    other.name, other.api = tenant.name, tenant.node.api(120, tenant.name)
    thread = threading.Thread(target=lambda: got.append(other.one()))
    thread.start()
    id = tenant.add()
    thread.join(120)
    assert [job["id"] for job in got] == [id]


def test_many_at_once_by_queue_and_type(node):
    """Order and turns are those of lanes; a claim may name queues and types."""
    tenant = Tenant(node, "mail", "scan")
    a = [tenant.add(queue="a", payload=str(k)) for k in range(3)]
    scan = tenant.add("scan", queue="a")
    b = [tenant.add(queue="b", priority=k) for k in range(3)]
    assert [job["id"] for job in tenant.claim(types=["scan"], max=10)] == [scan]
    jobs = tenant.claim(queues=["b"], max=2)
    assert [job["id"] for job in jobs] == [b[2], b[1]] # by priority
    rest = [job["id"] for job in tenant.claim(max=10)]
    assert rest == [a[0], a[1], b[0], a[2]] # two had been taken of b, one of a


def test_a_lapsed_lease_is_an_error_with_the_usual_delay(node, tenant):
    """S1.28: a worker that is not heard from loses its job, which runs again."""
    before, late = metric(node, "pawl_leases_expired_total"), \
        metric(node, "pawl_late_results_total")
    id = tenant.add(retry_delay="PT0.1S", max_retries=1)
    first = tenant.one(lease="PT1S")
    second = tenant.one(lease="PT60S") # comes when the lease is over
    assert second["id"] == id and second["attempt"] == 2 and second["retry_number"] == 1
    assert tenant.renew(first) == "lost"
    assert tenant.finish(first, result="too late") == "late"
    assert tenant.api.job(id)["state"] == "running"
    assert tenant.finish(second, result="in time") == "ok"
    assert tenant.api.request("GET", f"/jobs/{id}/result").body == b"in time"
    attempts = tenant.api.get(f"/jobs/{id}/attempts")["items"]
    assert [attempt["code"] for attempt in attempts] == ["error", "ok"]
    assert metric(node, "pawl_leases_expired_total") >= before + 1
    assert metric(node, "pawl_late_results_total") >= late + 1


def test_a_cancel_is_heard_at_the_next_renewal(tenant):
    told, killed, paused = tenant.add(), tenant.add(), tenant.add()
    jobs = {job["id"]: job for job in tenant.claim(max=3)}
    assert tenant.api.act(paused, "pause", status=409)["code"] == "invalid_state"
    tenant.api.act(told, "cancel")
    assert tenant.renew(jobs[told]) == "cancel"
    assert tenant.renew(jobs[paused]) == "ok"
    assert tenant.finish(jobs[told], exitcode=200) == "ok"
    assert tenant.api.job(told)["state"] == "cancelled"
    tenant.api.act(killed, "kill")
    assert tenant.api.job(killed)["state"] == "cancelled"
    assert tenant.renew(jobs[killed]) == "lost"
    assert tenant.finish(jobs[killed]) == "late"


def test_jobs_come_with_a_result(tenant):
    """What a result adds is durable with it, of the same tenant whatever it says."""
    id = tenant.add(max_retries=3, retry_delay="PT0.1S")
    more = [{"type": "mail", "payload": "x", "tenant": "other", "priority": 9}]
    assert tenant.finish(tenant.one(), exitcode=500, jobs=more) == "ok"
    again = tenant.one()
    assert again["id"] == id # the failed attempt has added nothing
    assert tenant.finish(again, jobs=more) == "ok"
    child = tenant.one()
    assert child["parent"] == id and child["tenant"] == tenant.name
    assert child["payload"] == "x" and child["priority"] == 9
    assert tenant.claim() == []


def test_a_worker_that_hangs_up_loses_no_job(node, tenant):
    """A job that cannot be delivered is given back at once, uncharged."""
    body = json.dumps({"wait": "PT60S"}).encode()
    head = f"POST /api/v1/claims?tenant={tenant.name} HTTP/1.1\r\nHost: localhost\r\n" \
           f"Content-Length: {len(body)}\r\n\r\n"
    for _ in range(5):
        gone = socket.socket(socket.AF_UNIX)
        gone.connect(node.socket())
        gone.sendall(head.encode() + body)
        gone.close()
    id = tenant.add()
    job = tenant.one()
    assert job["id"] == id and job["retry_number"] == 0
    assert tenant.finish(job) == "ok"


def test_a_type_of_a_pull_handler_never_starts_here(tenant):
    """Slots are free, and yet nothing runs it but a worker."""
    id = tenant.add()
    plain = tenant.api.add(command=["true"], tenant=tenant.name)["id"]
    tenant.api.until(plain, seconds=120)
    assert tenant.api.job(id)["state"] == "ready"
    explained = tenant.api.get(f"/jobs/{id}/explain")
    assert explained["reason"] == "no_worker", explained
    assert "worker" in explained["text"]


def test_tenants_do_not_see_each_other(node, tenant):
    stranger = Tenant(node)
    id = tenant.add()
    assert stranger.claim() == []
    job = tenant.one()
    assert stranger.renew(job) == "lost" and stranger.finish(job) == "late"
    assert tenant.api.job(id)["state"] == "running"
    forged = {**job, "token": "0" * len(job["token"])}
    assert tenant.renew(forged) == "lost" and tenant.finish(forged) == "late"
    assert tenant.finish(job) == "ok"


def test_claims_survive_any_restart():
    """Tokens stay right over kill -9; leases begin anew; nothing is lost."""
    with Place() as place:
        node = place.daemon().start()
        tenant = Tenant(node)
        kept = tenant.add()
        jobs = {kept: tenant.one(lease="PT1H")}
        dropped = tenant.add(max_retries=0)
        jobs[dropped] = tenant.one(lease="PT2S")
        waiting = tenant.add()
        node.restart()
        tenant.api = node.api(120, tenant.name)
        assert tenant.renew(jobs[kept]) == "ok"
        assert tenant.finish(jobs[kept], result="r") == "ok"
        node.restart()
        tenant.api = node.api(120, tenant.name)
        assert tenant.api.job(kept)["state"] == "done"
        assert tenant.api.request("GET", f"/jobs/{kept}/result").body == b"r"
        job = tenant.api.until(dropped, seconds=120)
        assert job["state"] == "rejected" and job["code"] == "error"
        assert tenant.finish(jobs[dropped]) == "late"
        assert tenant.one()["id"] == waiting
        assert node.stop(120) == 0


def test_a_type_goes_to_workers_when_its_handler_does(tenant):
    """What waits follows the newest handler: to workers, and back to runners."""
    tenant.api.request("PATCH", "/config", {"max_concurrent_jobs": 0})
    tenant.handler("both", lang="sh", body="true")
    ids = [tenant.add("both") for _ in range(3)]
    assert tenant.claim(max=10) == []
    tenant.handler("both")
    assert [job["id"] for job in tenant.claim(max=2, wait="PT60S", lease="PT1H")] == ids[:2]
    tenant.api.request("PATCH", "/config", {"max_concurrent_jobs": 2})
    assert tenant.api.job(ids[2])["state"] == "ready"
    tenant.handler("both", lang="sh", body="true")
    assert tenant.api.until(ids[2], seconds=120)["state"] == "done"
    assert tenant.api.job(ids[0])["state"] == "running" # the worker's, still


def put(tenant, path, body):
    answer = tenant.api.request("PUT", f"{path}?tenant={tenant.name}", body)
    assert answer.status in (200, 201), answer


def test_limits_of_queues_count_for_workers(tenant):
    """A claim takes no slot of the node, but its queue's."""
    put(tenant, "/queues/narrow", {"slots": 1})
    ids = [tenant.add(queue="narrow") for _ in range(3)]
    first, = tenant.claim(max=10)
    assert first["id"] == ids[0] and tenant.claim(max=10) == []
    assert tenant.finish(first) == "ok"
    second, = tenant.claim(max=10)
    assert second["id"] == ids[1]
    put(tenant, "/queues/narrow", {"paused": True})
    assert tenant.finish(second) == "ok"
    assert tenant.claim(max=10) == []
    put(tenant, "/queues/narrow", {"slots": 1})
    assert tenant.one()["id"] == ids[2]
