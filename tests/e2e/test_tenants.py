# SPDX-License-Identifier: Apache-2.0
"""Tenants against a real daemon: kept apart everywhere, set up, and the scoreboard."""
import json
import os
import pathlib
import subprocess
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402

SECONDS = 120
ECHO = "read line; echo \"R: 200 $line\""


@pytest.fixture(scope="module")
def place():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def home(place):
    return place.path


@pytest.fixture(scope="module")
def node(place):
    return place.daemon("--slots", "4").start()


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


def final(api, id, tenant):
    return api.until(id, seconds=SECONDS, tenant=tenant)


NOBODY = "0000000000001" # an id that no job ever had
BODIES = {"patch": {"priority": 9}} # what a method needs to be understood


def by_id(api):
    """Every route with an id in its path, from the description that is made of the table of
    routes: a new one is asked here without anybody remembering it."""
    paths = api.get("/openapi.json")["paths"]
    return [(method, path) for path, methods in paths.items() if "{id}" in path
            for method in methods if method in ("get", "put", "post", "patch", "delete")]


def told(api, method, path, id, query=""):
    answer = api.request(method.upper(), path.replace("{id}", id) + query,
                         BODIES.get(method))
    return answer.status, answer.body.decode().replace(id, "ID")


def test_an_id_of_another_tenant_is_not_there(api):
    """S2.4, S2.5, S2.6: on every route by id another tenant's job or operation, guessed or
    overheard, is answered word for word as one that never existed; without `tenant` the
    tenant is `default`."""
    handler(api, "one", "echo", ECHO)
    id, = lines(api, "one", "echo", "secret")
    final(api, id, "one")
    answer = api.request("POST", "/operations?tenant=one",
                         {"action": "hold", "q": "state:blocked", "dry_run": True})
    assert answer.status == 202, answer
    operation = answer.json()["id"]
    routes = by_id(api)
    assert len(routes) > 15 and ("delete", "/api/v1/jobs/{id}") in routes
    before = api.job(id, tenant="one")
    for method, path in routes:
        of_operation = "/operations/" in path
        assert of_operation or "/jobs/" in path, f"what is {path} about? Add it here"
        mine = operation if of_operation else id
        for query in ("", "?tenant=default", "?tenant=two"):
            unknown = told(api, method, path, NOBODY, query)
            assert unknown[0] == 404, (method, path, unknown)
            assert told(api, method, path, mine, query) == unknown, (method, path, query)
    assert api.job(id, tenant="one") == before
    for method, path in routes: # to its own tenant each of them is there
        mine = operation if "/operations/" in path else id
        if method != "delete":
            assert told(api, method, path, mine, "?tenant=one")[0] != 404, (method, path)
    for query in ("", "?tenant=two"): # and the beginning of an id tells no more
        assert api.request("GET", f"/jobs/{id[:9]}{query}").status == 404
    assert api.get(f"/jobs/{id}?tenant=*")["tenant"] == "one" # whoever sees all
    assert operation not in [item["id"] for item in api.get("/operations")["items"]]


def test_claims_are_the_tenants_own(api):
    """S2.6: with the token of a claim, but for another tenant, nothing can be done."""
    handler(api, "puller", "mail", "", lang="pull")
    id, = lines(api, "puller", "mail", "x")
    for query in ("", "?tenant=two"):
        assert api.request("POST", f"/claims{query}", {}).status == 204
    job, = api.request("POST", "/claims?tenant=puller", {"wait": "PT30S"}).json()["jobs"]
    item = {key: job[key] for key in ("id", "attempt", "token")}
    for query, renewed, finished in (("", "lost", "late"), ("?tenant=two", "lost", "late"),
                                     ("?tenant=puller", "ok", "ok")):
        answer = api.request("POST", f"/claims/renew{query}", {"items": [item]}).json()
        assert answer["items"] == [{"id": id, "status": renewed}]
        answer = api.request("POST", f"/claims/finish{query}",
                             {"items": [{**item, "exitcode": 200}]}).json()
        assert answer["items"] == [{"id": id, "status": finished}]


def test_what_the_machine_shows_is_the_tenants_own(api, home):
    """S2.6: nodes, resources, explanations, numbers and curves name jobs, too."""
    gate = home / uuid.uuid4().hex
    assert api.request("PUT", "/resources/lamp", {"quantity": 1}).status == 201
    command = ["sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.05; done"]
    first = api.add(command=command, resources={"lamp": 1}, tenant="one")["id"]
    api.until(first, "running", tenant="one")
    second = api.add(command=["true"], resources={"lamp": 1}, tenant="two")["id"]
    why = api.get(f"/jobs/{second}/explain?tenant=two")
    assert why["reason"] == "resource_busy" and first not in json.dumps(why), why
    for path in ("/nodes", "/resources", "/resources/lamp", "/stats", "/alerts",
                 "/stats/series?by=tenant&metric=added", "/scoreboard?ids=" + first):
        join = "&" if "?" in path else "?"
        for query in ("", f"{join}tenant=two"):
            shown = api.request("GET", path + query)
            assert shown.status == 200, shown
            assert first not in shown.body.decode().replace(f'"missing":["{first}"]', "")
            assert '"tenant":"one"' not in shown.body.decode(), (path, query, shown.body)
    assert first in json.dumps(api.get("/resources/lamp?tenant=one"))
    assert first in json.dumps(api.get("/nodes?tenant=*"))
    gate.touch()
    final(api, first, "one")
    final(api, second, "two")


def test_lists_numbers_and_names_are_the_tenants_own(api):
    """S2.6, S2.110: the same names of types and queues in two tenants are two things."""
    handler(api, "left", "echo", ECHO, queue="same")
    id, = lines(api, "left", "echo", "l")
    wait, = lines(api, "right", "echo", "r")
    final(api, id, "left")
    assert api.job(wait, tenant="right")["state"] == "blocked"  # the other's handler is not its own
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
    final(api, id, "owner")
    assert api.request("GET", f"/jobs/{id}/result?tenant=owner").body == b"mine"


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
    job = final(api, id, "count")
    assert (job["state"], job["attempt"], job["retry_number"]) == ("done", 2, 1)
    assert metric(api, "pawl_jobs_started_total", queue="counted") == 2
    assert metric(api, "pawl_jobs_finished_total", queue="counted", code="error") == 1
    assert metric(api, "pawl_jobs_finished_total", queue="counted", code="ok") == 1
    runs = api.get(f"/jobs/{id}/attempts?tenant=count")["items"]
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
    final(api, id, tenant)
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
    result = api.request("GET", f"/jobs/{last[0]['id']}/result?tenant=chain")
    assert result.body == b"go-1-2"


def test_the_scoreboard_tells_many_at_once(api):
    """S2.116, S2.50, S2.56, S2.121, S2.122: job id -> exit code; four codes apart."""
    handler(api, "score", "say", "read code; echo \"R: $code text\"", max_retries=0)
    said = {"200": (200, "ok"), "299": (299, "ok"), "404": (404, "failed"),
            "503": (503, "error"), "102": (102, "retry"), "302": (302, "retry")}
    ids = lines(api, "score", "say", *said)
    jobs = [final(api, id, "score") for id in ids]
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


@pytest.fixture
def pawl(node):
    def run(*words, **env):
        return subprocess.run([program(), "--server", f"unix:{node.socket()}", *words],
                              capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, env={**os.environ, **env})
    return run


def test_commands_act_for_one_tenant(api, pawl):
    """S2.6: `--tenant`, or $PAWL_TENANT, says whose jobs an id, a queue or a list is about."""
    name = "cli" + uuid.uuid4().hex[:8]
    done = pawl("--tenant", name, "run", "--wait", "--queue", "mine", "--", "echo", "hello")
    assert (done.returncode, done.stdout) == (0, "hello\n"), done
    id = api.all(tenant=name)[0]["id"]
    for words in (("show", id), ("logs", id), ("wait", id), ("explain", id), ("retry", id),
                  ("rm", id, "--yes"), ("show", id[:10])):
        done = pawl(*words)
        assert done.returncode == 3 and "[job_not_found]" in done.stderr, (words, done)
    assert "--tenant" in done.stderr # what would help
    assert pawl("--tenant", name, "logs", id).stdout == "hello\n"
    assert pawl("logs", id, PAWL_TENANT=name).stdout == "hello\n"
    assert pawl("--tenant", "*", "wait", id).returncode == 0
    assert json.loads(pawl("show", "last", "--json", PAWL_TENANT=name).stdout)["id"] == id
    assert pawl("queue", "pause", "mine", "--tenant", name).returncode == 0
    assert api.get(f"/queues/mine?tenant={name}")["paused"] is True
    assert api.get("/queues/mine", 404)["code"] == "queue_not_found"
    assert pawl("queue", "show", "mine").returncode == 3
    # A job that asks pawl asks for its own tenant.
    done = pawl("--tenant", name, "run", "--wait", "--", program(), "--server",
                f"unix:{pathlib.Path(api.conn.path)}", "ls", "--json")
    assert done.returncode == 0 and id in done.stdout, done


def test_status_says_whose_queues_they_are(api, pawl):
    """Of all tenants, with their names; of one, without."""
    api.add(type="x", tenant="stat1", queue="alpha")
    api.add(type="x", tenant="stat2", queue="alpha")
    shown = pawl("status", "--json").stdout
    assert {"stat1", "stat2"} <= {queue["tenant"] for queue in
                                  json.loads(shown)["stats"]["queues"]}
    table = pawl("status").stdout
    assert "TENANT" in table and "QUEUE" in table, table
    assert "pawl ls state:blocked --tenant '*'" in table, table
    listed = pawl("ls", "state:blocked", "--tenant", "*").stdout
    assert "TENANT" in listed and "stat1" in listed and "stat2" in listed, listed
    assert "TENANT" not in pawl("ls", "--tenant", "stat1").stdout
    table = pawl("status", "--tenant", "stat1").stdout
    assert "TENANT" not in table and "alpha" in table, table


def test_a_tenant_is_set_up_from_the_command_line(pawl):
    """S2.7: types apart, for jobs that are added from then on."""
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
    final(api, ids[0], "turns")


def test_a_request_for_one_tenant_adds_nothing_to_another(api):
    """S2.4: who names a tenant twice must name the same one."""
    answer = api.request("POST", "//bad/job/named-twice/add?tenant=acme", b"x\n")
    assert answer.status == 422 and answer.json()["code"] == "conflicting_fields", answer
    assert api.get("/jobs?tenant=*&q=type:named-twice")["items"] == []
