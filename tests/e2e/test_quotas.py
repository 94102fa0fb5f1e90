# SPDX-License-Identifier: Apache-2.0
"""Limits of tenants against a real daemon: waiting, running, stored bytes, requests per
second."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place               # noqa: E402


@pytest.fixture
def node():
    with Place() as place:
        yield place.daemon("--slots", "4").start()


def limit(api, tenant, **limits):
    answer = api.request("PUT", f"/tenants/{tenant}", limits)
    assert answer.status in (200, 201), answer
    return answer.json()


def add(api, tenant, **fields):
    return api.request("POST", f"/jobs?tenant={tenant}",
                       {"command": ["true"], "held": True, **fields})


def refused(answer):
    assert answer.status == 429, answer
    assert answer.json()["code"] == "quota_exceeded"
    assert int(answer.headers["Retry-After"]) >= 1
    return True


def test_a_tenant_has_no_more_waiting_jobs_than_it_may(node):
    """One by one, in bulk, as lines; exact after kill -9; others are not touched."""
    api = node.api()
    assert limit(api, "t", max_queued=3)["max_queued"] == 3
    first = add(api, "t").json()["id"]
    bulk = api.request("POST", "/jobs?tenant=t", [{"type": "x"}, {"type": "x"}, {"type": "x"}])
    lines = bulk.lines()
    assert [("id" in line) for line in lines[:3]] == [True, True, False], lines
    assert lines[2]["error"]["code"] == "quota_exceeded"
    refused(add(api, "t"))
    refused(api.request("POST", "//t/job/x/add", b"one\n"))
    assert add(api, "other").status == 201
    node.restart()
    api = node.api()
    refused(add(api, "t"))
    assert api.request("POST", f"/jobs/{first}/cancel?tenant=t").status == 200
    assert add(api, "t").status == 201
    refused(add(api, "t"))
    limit(api, "t", max_queued=0)
    assert add(api, "t").status == 201


def test_a_tenant_runs_no_more_at_once_than_it_may(node):
    """A limit, not an error: the rest waits, others go on, and room is used again."""
    api = node.api()
    limit(api, "t", max_running=1)
    ids = [api.request("POST", "/jobs?tenant=t", {"command": ["sleep", "600"]}).json()["id"]
           for _ in range(3)]
    other = api.request("POST", "/jobs?tenant=u", {"command": ["true"]}).json()["id"]
    api.until(ids[0] + "?tenant=t", "running")
    api.until(other + "?tenant=u")

    def states():
        return [api.job(id + "?tenant=t")["state"] for id in ids]

    assert states() == ["running", "ready", "ready"]
    api.request("POST", f"/jobs/{ids[0]}/kill?tenant=t")
    wait_for(lambda: states() == ["cancelled", "running", "ready"], 120, lambda: str(states()))
    node.restart()
    api = node.api()
    wait_for(lambda: states() == ["cancelled", "running", "ready"], 120, lambda: str(states()))
    limit(api, "t", max_running=2)
    wait_for(lambda: states() == ["cancelled", "running", "running"], 120,
             lambda: str(states()))


def test_a_tenant_keeps_no_more_bytes_than_it_may(node):
    """Bodies and results, counted by the store; exact after kill -9; room comes back when jobs
    are removed."""
    api = node.api()
    limit(api, "t", max_bytes=10000)
    first = add(api, "t", payload="x" * 6000).json()["id"]
    small = add(api, "t", payload="y" * 3000).json()["id"]
    why = add(api, "t", payload="z" * 1001)
    assert refused(why) and "9000 bytes" in why.json()["detail"], why
    assert add(api, "other", payload="x" * 6000).status == 201
    tenant = wait_for(lambda: [t for t in [api.get("/tenants/t")] if t["stored_bytes"] == 9000],
                      120, lambda: str(api.get("/tenants/t")))[0]
    assert tenant["max_bytes"] == 10000
    node.restart()
    api = node.api()
    assert refused(add(api, "t", payload="z" * 1001))
    assert refused(api.request("POST", "//t/job/x/add", b"z" * 1002 + b"\n"))
    assert api.request("DELETE", f"/jobs/{first}?tenant=t").status == 200
    wait_for(lambda: add(api, "t", payload="z" * 6001).status == 201, 120)
    # A result is kept, too: it cannot be refused, but what comes then is.
    assert api.request("POST", f"/jobs/{small}/cancel?tenant=t").status == 200
    said = ["sh", "-c", "printf 'R: 200 %0990d\\n' 0"]
    done = api.request("POST", "/jobs?tenant=t", {"command": said, "protocol": True})
    api.until(done.json()["id"], seconds=120, tenant="t")
    wait_for(lambda: api.get("/tenants/t")["stored_bytes"] == 9001 + 990, 120,
             lambda: str(api.get("/tenants/t")))
    wait_for(lambda: add(api, "t", payload="z" * 100).status == 429, 120)


def test_a_tenant_asks_no_more_often_than_it_may(node):
    """Its tokens together; after a second there is room again; others are not touched."""
    api = node.api()
    secrets = [api.request("POST", "/tokens", {"name": name, "scopes": ["read"],
                                               "tenant": tenant}).json()["token"]
               for name, tenant in (("one", "t"), ("two", "t"), ("far", "u"))]
    limit(api, "t", max_requests=1)
    tcp = node.tcp()

    def ask(secret):
        return tcp.request("GET", "/jobs", headers={"Authorization": f"Bearer {secret}"})

    answers = wait_for(lambda: [found for found in [[ask(secrets[i % 2]) for i in range(20)]]
                                if any(a.status == 429 for a in found)], 120)[0]
    assert refused(next(a for a in answers if a.status == 429))
    assert ask(secrets[2]).status == 200
    wait_for(lambda: ask(secrets[0]).status == 200, 120, pause=0.3)
