# SPDX-License-Identifier: Apache-2.0
"""Tenants against a real daemon: kept apart everywhere, set up, and the scoreboard."""
import json
import pathlib
import subprocess
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402

SECONDS = 60
ECHO = "read line; echo \"R: 200 $line\""


@pytest.fixture(scope="module")
def node():
    with Place() as place:
        yield place.daemon("--slots", "4").start()


@pytest.fixture
def api(node):
    return node.api()


def handler(api, tenant, type, body, **fields):
    answer = api.request("PUT", f"/handlers/{type}?tenant={tenant}",
                         {"lang": "sh", "body": body, **fields})
    assert answer.status in (200, 201), answer
    return answer.json()


def lines(api, tenant, type, *payloads):
    answer = api.request("POST", f"//{tenant}/job/{type}/add",
                         "".join(f"{line}\n" for line in payloads).encode())
    assert answer.status == 200, answer
    return answer.json()["ids"]


def final(api, id):
    return api.until(id, seconds=SECONDS)


def test_an_id_of_another_tenant_is_not_there(api):
    """S2.4, S2.5, S2.6: whatever is asked by id, another tenant sees nothing of it."""
    handler(api, "one", "echo", ECHO)
    id, = lines(api, "one", "echo", "secret")
    final(api, id)
    for path in ("", "/attempts", "/log", "/result", "/explain"):
        mine = api.request("GET", f"/jobs/{id}{path}?tenant=one")
        assert mine.status == 200, (path, mine)
        other = api.request("GET", f"/jobs/{id}{path}?tenant=two")
        assert other.status == 404 and b"secret" not in other.body, (path, other)
    for action in ("retry", "cancel", "hold", "kill"):
        assert api.request("POST", f"/jobs/{id}/{action}?tenant=two").status == 404
    assert api.request("PATCH", f"/jobs/{id}?tenant=two", {"priority": 9}).status == 404
    assert api.request("DELETE", f"/jobs/{id}?tenant=two").status == 404
    assert api.request("GET", f"/jobs/{id[:8]}?tenant=two").status == 404
    assert api.job(id)["state"] == "done"


def test_lists_numbers_and_names_are_the_tenants_own(api):
    """S2.6, S2.110: the same names of types and queues in two tenants are two things."""
    handler(api, "left", "echo", ECHO, queue="same")
    id, = lines(api, "left", "echo", "l")
    wait, = lines(api, "right", "echo", "r")
    final(api, id)
    assert api.job(wait)["state"] == "blocked"  # the other's handler is not its own
    assert [job["id"] for job in api.all(tenant="left")] == [id]
    assert [job["id"] for job in api.all(tenant="right")] == [wait]
    assert api.get("/handlers?tenant=right")["items"] == []
    assert api.get("/tenants/left")["jobs"] == {"done": 1}
    assert api.get("/tenants/right")["jobs"] == {"blocked": 1}


def test_a_handler_belongs_to_its_tenant(api):
    """S2.97, S2.95: the owner of a handler is the tenant; another one of the same name is
    another handler."""
    handler(api, "owner", "same", "echo 'R: 200 mine'")
    handler(api, "thief", "same", "echo 'R: 200 theirs'")
    assert api.request("DELETE", "/handlers/same?tenant=thief").status == 200
    assert api.request("POST", "/handlers/same/disable?tenant=nobody").status == 404
    kept = api.get("/handlers/same?tenant=owner")
    assert (kept["tenant"], kept["version"], kept["enabled"]) == ("owner", 1, True)
    id, = lines(api, "owner", "same", "go")
    final(api, id)
    assert api.request("GET", f"/jobs/{id}/result").body == b"mine"


def metric(api, name, **labels):
    """The sum of a metric's series with these labels."""
    text = api.request("GET", "/metrics").body.decode()
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines()
               if line.startswith(name + "{") and
               all(f'{key}="{value}"' in line for key, value in labels.items()))


def test_started_and_stopped_are_counted(api):
    """S2.114, S2.115, S2.124: what stopped need not be finished: it may be tried again;
    each attempt keeps its code and exit code."""
    handler(api, "count", "twice", "[ $PAWL_ATTEMPT = 2 ] || exit 1", queue="counted",
            max_retries=3, retry_delay="PT0.05S")
    id, = lines(api, "count", "twice", "go")
    job = final(api, id)
    assert (job["state"], job["attempt"], job["retry_number"]) == ("done", 2, 1)
    assert metric(api, "pawl_jobs_started_total", queue="counted") == 2
    assert metric(api, "pawl_jobs_finished_total", queue="counted", code="error") == 1
    assert metric(api, "pawl_jobs_finished_total", queue="counted", code="ok") == 1
    runs = api.get(f"/jobs/{id}/attempts")["items"]
    assert [(run["code"], run["exitcode"]) for run in runs] == [("error", 500), ("ok", 200)]


def test_idempotency_keys_are_the_tenants_own(api):
    ids = []
    for tenant in ("k1", "k2", "k1"):
        answer = api.request("POST", f"/jobs?tenant={tenant}",
                             {"type": "x", "payload": "p"}, {"Idempotency-Key": "same"})
        assert answer.status == 201, answer
        ids.append(answer.json()["id"])
    assert ids[0] == ids[2] != ids[1]


@pytest.mark.parametrize("line", [
    "J: other-echo|x", "#J: other-echo|x", "J!: other-echo|x", "J: other/echo|x",
    "J: other:echo|x"])
def test_a_forged_line_stays_with_its_tenant(api, line):
    """S2.47, S2.120: what a job prints becomes a job of its own tenant, or nothing."""
    tenant = "forger" + uuid.uuid4().hex[:10]
    handler(api, "other", "echo", ECHO)
    before = len(api.all(tenant="other"))
    handler(api, tenant, "forge", f"echo '{line}'")
    id, = lines(api, tenant, "forge", "go")
    final(api, id)
    if "/" not in line:  # a valid name of a type: it waits here, for no handler
        child = wait_for(lambda: api.all(tenant=tenant, parent=id), SECONDS)
        assert [(job["type"], job["tenant"], job["state"]) for job in child] == [
            (line.split()[1].split("|")[0], tenant, "blocked")]
    assert len(api.all(tenant="other")) == before


def test_a_chain_passes_the_result_on(api):
    """S2.118: the result of each link is the payload of the next, in the same tenant."""
    handler(api, "chain", "first", "read x; echo \"R: 200 $x-1\"", then="second")
    handler(api, "chain", "second", "read x; echo \"R: 200 $x-2\"", then="third")
    handler(api, "chain", "third", ECHO)
    lines(api, "chain", "first", "go")
    last = wait_for(lambda: api.all(tenant="chain", type="third", state="done"), SECONDS)
    assert last[0]["payload"] == "go-1-2"
    assert api.request("GET", f"/jobs/{last[0]['id']}/result").body == b"go-1-2"


def test_the_scoreboard_tells_many_at_once(api):
    """S2.116, S2.50, S2.56, S2.121, S2.122: job id -> exit code; four codes apart."""
    handler(api, "score", "say", "read code; echo \"R: $code text\"", max_retries=0)
    said = {"200": (200, "ok"), "299": (299, "ok"), "404": (404, "failed"),
            "503": (503, "error"), "102": (102, "retry"), "302": (302, "retry")}
    ids = lines(api, "score", "say", *said)
    jobs = [final(api, id) for id in ids]
    assert [(job["exitcode"], job["code"]) for job in jobs] == list(said.values())
    held = api.add(type="say", tenant="score", held=True)["id"]
    asked = ids + [held, "0000000000000"]
    expected = {"exitcodes": {**dict(zip(ids, (code for code, _ in said.values()))),
                              held: None}, "missing": ["0000000000000"]}
    told = api.get(f"/scoreboard?tenant=score&ids={','.join(asked)}")
    assert told == expected
    posted = api.request("POST", "/scoreboard?tenant=score", {"ids": asked})
    assert posted.json() == expected
    assert api.get(f"/scoreboard?tenant=other&ids={ids[0]}") == {
        "exitcodes": {}, "missing": [ids[0]]}
    states = [job["state"] for job in jobs]
    assert states == ["done", "done", "failed", "rejected", "rejected", "rejected"]


def test_a_tenant_is_set_up_from_the_command_line(node, api):
    """S2.7: types apart, for jobs that are added from then on."""
    def pawl(*words):
        return subprocess.run([program(), *words, "--server", f"unix:{node.socket()}"],
                              capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL)
    assert pawl("tenant", "show", "cli").returncode == 3
    done = pawl("tenant", "set", "cli", "--segregate-types")
    assert done.returncode == 0 and "segregated" in done.stdout, done
    assert json.loads(pawl("tenant", "show", "cli", "--json").stdout)["segregate_types"]
    assert "cli" in pawl("tenant", "ls").stdout
    assert pawl("tenant", "rm", "cli").returncode == 0
    assert pawl("tenant", "set", "cli").returncode == 2
    assert pawl("tenant", "frob", "cli").returncode == 2


def test_segregated_types_take_turns(node, api):
    """S2.7, S2.30, S2.111: one type's backlog does not hold up the other."""
    handler(api, "turns", "a", "true")
    handler(api, "turns", "b", "true")
    assert api.request("PUT", "/tenants/turns", {"segregate_types": True}).status == 201
    assert api.request("PATCH", "/config", {"max_concurrent_jobs": 0}).status == 200
    try:
        lines(api, "turns", "a", *range(10))
        ids = lines(api, "turns", "b", "x")
        order = [job["type"] for job in api.all(tenant="turns", order="dispatch")]
        assert order[:2] == ["a", "b"]
    finally:
        assert api.request("PATCH", "/config", {"max_concurrent_jobs": 4}).status == 200
    final(api, ids[0])
