# SPDX-License-Identifier: Apache-2.0
"""Tokens against a real daemon: what they open, for whom, and what a stranger sees.

The table of routes is the daemon's own /openapi.json: a new route is tested here from
its first day."""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402

SCOPES = ("read", "enqueue", "work", "operate", "admin")
UNKNOWN_ID = "06vzzzzzzzzzz"


class Client:
    """Asks over TCP, with or without a token."""

    def __init__(self, node, secret=None):
        self.api, self.secret = node.tcp(), secret

    def ask(self, method, path, body=None, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.secret:
            headers["Authorization"] = f"Bearer {self.secret}"
        return self.api.request(method, path, body, headers)

    def code(self, method, path, body=None):
        """The status, and the code of a problem."""
        answer = self.ask(method, path, body)
        problem = answer.headers.get("Content-Type") == "application/problem+json"
        return answer.status, answer.json()["code"] if problem else None


def make(api, name, scopes, tenant=None, **fields):
    if tenant:
        fields["tenant"] = tenant
    answer = api.request("POST", "/tokens", {"name": name, "scopes": scopes, **fields})
    assert answer.status == 201, answer
    return answer.json()["token"]


def pawl(*words, env=None, **options):
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith("PAWL_")}
    return subprocess.run([program(), *words], env={**clean, **(env or {})},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, **options)


@pytest.fixture(scope="module")
def node():
    with Place() as place:
        yield place.daemon("--slots", "2").start()


@pytest.fixture(scope="module")
def things(node):
    """A job of tenant b, an operation of b, and tokens."""
    api = node.api()
    foreign = api.request("POST", "/jobs?tenant=b",
                          {"command": ["sh", "-c", "echo hidden"], "group": "g",
                           "unique": {"key": "k"}}).json()["id"]
    api.until(foreign + "?tenant=b")
    operation = api.request("POST", "/operations?tenant=b",
                            {"action": "hold", "q": "tag:none"}).json()["id"]
    return {
        "foreign": foreign, "operation": operation,
        "one": {scope: make(api, f"a-{scope}", [scope], "a") for scope in SCOPES},
        "all": {scope: make(api, f"all-{scope}", [scope], "*") for scope in SCOPES},
    }


def operations(api):
    """Every route: method, path, what the description says of it."""
    for path, methods in api.get("/openapi.json")["paths"].items():
        for method, facts in methods.items():
            yield method.upper(), path, facts


def filled(path, client, id):
    """The path with its free parts filled in; no route is found by another's."""
    path = path.replace("{client}", client).replace("{id}", id).replace("{code}", "conflict")
    path = re.sub(r"\{\w+\}", "nothing", path)
    return "/" + path + ("?follow=0" if path.endswith("/v1/events") else "")


def test_every_route_asks_for_its_scope_and_its_tenant(node, things):
    """Every route x scope x tenant, by the daemon's own description."""
    api = node.api()
    nobody = Client(node)
    guess = Client(node, "pawl_" + "A" * 43)
    one = {scope: Client(node, secret) for scope, secret in things["one"].items()}
    everyone = {scope: Client(node, secret) for scope, secret in things["all"].items()}
    seen = 0
    for method, path, facts in operations(api):
        scope, reach = facts["x-scope"], facts["x-tenant"]
        url = filled(path, "a", UNKNOWN_ID)
        where = (method, url)
        if scope == "none":
            assert nobody.code(*where)[0] < 400, where
            assert one["read"].code(*where)[0] < 400, where
            continue
        seen += 1
        assert nobody.code(*where) == (401, "token_missing"), where
        assert guess.code(*where) == (401, "token_invalid"), where
        for having in SCOPES:
            allowed = having in (scope, "admin")
            status, code = one[having].code(*where)
            if not allowed:
                assert (status, code) == (403, "scope_missing"), (where, having)
            elif reach == "all":
                assert (status, code) == (403, "tenant_not_allowed"), (where, having)
            else:
                assert status not in (401, 403), (where, having, code)
            if not allowed:
                assert everyone[having].code(*where) == (403, "scope_missing"), where
        if reach == "query":
            other = url + ("&" if "?" in url else "?") + "tenant=b"
            assert one[scope].code(method, other) == (403, "tenant_not_allowed"), other
            anyone = other.replace("tenant=b", "tenant=*")
            assert one[scope].code(method, anyone) == (403, "tenant_not_allowed"), anyone
        if reach == "path":
            other = filled(path, "b", UNKNOWN_ID)
            assert one[scope].code(method, other) == (403, "tenant_not_allowed"), other
    assert seen > 80


def test_a_token_for_all_tenants_may_go_everywhere(node, things):
    """What needs no more than reading: with the scope it is never a matter of rights."""
    everyone = Client(node, things["all"]["read"])
    for method, path, facts in operations(node.api()):
        if method == "GET" and facts["x-scope"] == "read":
            status, code = everyone.code(method, filled(path, "b", things["foreign"]))
            assert status not in (401, 403), (path, code)


def same(mine, other, one, two):
    """The same answer but for the id that was asked for."""
    return (mine.status == other.status and
            mine.body.replace(one.encode(), b"ID") == other.body.replace(two.encode(), b"ID"))


def test_a_foreign_id_answers_exactly_like_an_unknown_one(node, things):
    """Status, headers and body, for every route that takes the id of a job."""
    admin = Client(node, things["one"]["admin"])
    count = 0
    for method, path, facts in operations(node.api()):
        if "/jobs/{id}" not in path and "/operations/{id}" not in path:
            continue
        kind = "foreign" if "/jobs/" in path else "operation"
        body = {"priority": 1} if method == "PATCH" else None
        theirs = admin.ask(method, filled(path, "a", things[kind]), body)
        nobodys = admin.ask(method, filled(path, "a", UNKNOWN_ID), body)
        assert theirs.status == 404, (method, path, theirs)
        assert same(theirs, nobodys, things[kind], UNKNOWN_ID), (path, theirs, nobodys)
        names = [sorted(n for n in a.headers if n != "Date") for a in (theirs, nobodys)]
        assert names[0] == names[1]
        count += 1
    assert count >= 15
    prefix = admin.code("GET", f"/jobs/{things['foreign'][:11]}")
    assert prefix == admin.code("GET", f"/jobs/{UNKNOWN_ID[:11]}") == (404, "job_not_found")
    assert node.api().job(things["foreign"] + "?tenant=b")["state"] == "done"


def test_what_belongs_to_all_is_not_changed_by_a_token_of_one(node, things):
    """Resources, nodes, settings, processors, tenants and tokens, even with admin."""
    admin = Client(node, things["one"]["admin"])
    sysid = node.api().get("/nodes")["items"][0]["sysid"]
    for method, path, body in (("PUT", "/resources/disk", {"kind": "quantity"}),
                               ("DELETE", "/resources/disk", None),
                               ("PATCH", f"/nodes/{sysid}", {"slots": 1}),
                               ("PATCH", "/config", {"enabled": False}),
                               ("PUT", "/processors/p", {"command": ["true"]}),
                               ("PUT", "/tenants/a", {"max_queued": 0}),
                               ("POST", "/tokens", {"name": "x", "scopes": ["admin"]})):
        assert admin.code(method, path, body) == (403, "tenant_not_allowed"), path


def test_numbers_for_a_token_of_one_tenant_count_no_other(node, things):
    own = Client(node, things["one"]["read"]).ask("GET", "/stats").json()
    assert own["unfinished"] == 0 and sum(own["jobs"].values()) == 0, own
    assert not {"slots", "totals", "by_priority", "late_results"} & own.keys(), own
    everyone = Client(node, things["all"]["read"]).ask("GET", "/stats").json()
    assert everyone["totals"]["added"] >= 1 and "slots" in everyone, everyone


def test_a_token_of_one_tenant_is_not_told_where_the_daemon_lives(node, things):
    own, = Client(node, things["one"]["read"]).ask("GET", "/nodes").json()["items"]
    assert own["sysid"] and not {"pid", "data", "store"} & own.keys(), own
    assert str(node.data) not in json.dumps(own)
    everyone, = Client(node, things["all"]["read"]).ask("GET", "/nodes").json()["items"]
    assert everyone["pid"] == node.pid and everyone["data"] == str(node.data)


def test_tokens_are_made_listed_and_revoked(node, things):
    """The secret is shown once; a revoked token is refused at once."""
    admin = Client(node, things["all"]["admin"])
    made = admin.ask("POST", "/tokens", {"name": "brief", "scopes": ["read"],
                                         "tenant": "a", "expires_in": "PT1H"})
    assert made.status == 201 and made.headers["Location"].endswith("/tokens/brief")
    secret = made.json()["token"]
    assert admin.code("POST", "/tokens", {"name": "brief", "scopes": ["read"]}) == \
        (409, "token_exists")
    brief = Client(node, secret)
    assert brief.code("GET", "/jobs")[0] == 200
    shown = admin.ask("GET", "/tokens/brief").json()
    assert shown["tenant"] == "a" and shown["scopes"] == ["read"]
    assert shown["created_by"] == "token:all-admin"
    assert shown["expires_at"] and not shown["expired"]
    assert shown["last_used_at"] and shown["last_used_from"].startswith("127.0.0.1:")
    listed = admin.ask("GET", "/tokens?limit=1000")
    assert secret.encode() not in listed.body and b"hash" not in listed.body
    names = [item["name"] for item in listed.json()["items"]]
    assert names == sorted(names) and "brief" in names
    page = admin.ask("GET", "/tokens?limit=3").json()
    rest = admin.ask("GET", f"/tokens?limit=1000&cursor={page['next_cursor']}").json()
    assert [item["name"] for item in page["items"] + rest["items"]] == names
    assert admin.ask("DELETE", "/tokens/brief").json() == {"name": "brief", "removed": True}
    assert brief.code("GET", "/jobs") == (401, "token_invalid")
    assert admin.code("DELETE", "/tokens?name=brief") == (404, "token_not_found")
    assert admin.code("DELETE", "/tokens") == (422, "missing_field")


def test_the_command_line_sends_its_token(node, things, tmp_path):
    """PAWL_TOKEN and --token-file; without one: not allowed, exit code 4."""
    host, port = node.address()
    server = {"PAWL_SERVER": f"http://{host}:{port}"}
    refused = pawl("ls", env=server)
    assert refused.returncode == 4 and "token_missing" in refused.stderr, refused
    socket = {"PAWL_SERVER": "unix:" + node.socket()}
    made = pawl("token", "create", "cli", "--scopes", "read,enqueue", "--tenant", "c",
                "--expires", "1h", env=socket)
    assert made.returncode == 0 and made.stdout.startswith("pawl_"), made
    assert made.stdout.count("\n") == 1
    file = tmp_path / "token"
    file.write_text(made.stdout)
    assert pawl("ls", "--token-file", str(file), env=server).returncode == 0
    secret = made.stdout.strip()
    added = pawl("add", "some.type", "x", "--json", env={**server, "PAWL_TOKEN": secret})
    assert added.returncode == 0, added
    shown = pawl("ls", "--json", env={**server, "PAWL_TOKEN": secret})
    assert {job["tenant"] for job in json.loads(shown.stdout)["items"]} == {"c"}, shown
    denied = pawl("queue", "pause", "default", env={**server, "PAWL_TOKEN": secret})
    assert denied.returncode == 4 and "scope_missing" in denied.stderr, denied
    table = pawl("token", "ls", env=socket).stdout
    assert re.search(r"cli +c +read,enqueue", table), table
    assert pawl("token", "revoke", "cli", env=socket).returncode == 0
    assert pawl("ls", env={**server, "PAWL_TOKEN": secret}).returncode == 4


def test_in_a_job_the_secret_of_the_attempt_is_not_sent(node, things, tmp_path):
    """It opens nothing: without a token of its own a job is told that one is missing, not that
    its own is wrong; with one it uses it."""
    file = tmp_path / "token"
    file.write_text(things["all"]["read"] + "\n")
    run = f"PAWL={program()}; FILE={file}; "
    tries = {
        "bare": "$PAWL ls",
        "file": "$PAWL ls --token-file $FILE",
        "anew": "PAWL_TOKEN=$(cat $FILE) $PAWL ls",
    }
    api = node.api()
    jobs = {name: api.add(command=["sh", "-c", run + script], max_retries=0)["id"]
            for name, script in tries.items()}
    ends = {name: (api.until(id)["exit_status"], api.log(id, stream="stderr"))
            for name, id in jobs.items()}
    assert ends["bare"][0] == 4 and b"token_missing" in ends["bare"][1], ends
    assert ends["file"][0] == 0 and ends["anew"][0] == 0, ends


def test_the_unix_socket_is_the_way_back_in(node, things):
    """It needs no token, but one that is sent counts."""
    api = node.api()
    assert api.request("GET", "/tokens").status == 200
    less = api.request("GET", "/tokens", headers={
        "Authorization": f"Bearer {things['one']['read']}"})
    assert less.status == 403
    false = api.request("GET", "/jobs", headers={"Authorization": "Bearer pawl_" + "x" * 43})
    assert false.status == 401
    assert false.headers["WWW-Authenticate"].startswith("Bearer")
    jobs_own = api.request("GET", "/jobs", headers={"Authorization": "Bearer " + "ab" * 16})
    assert jobs_own.status == 200 # the PAWL_TOKEN of a job, which is none of the API's


def test_tokens_and_their_last_use_outlive_a_crash_and_no_secret_is_kept():
    """kill -9: the token still opens; its secret stands in no file and no log."""
    with Place() as place:
        node = place.daemon().start()
        secret = make(node.api(), "kept", ["read"])
        client = Client(node, secret)
        assert client.code("GET", "/jobs")[0] == 200
        used = wait_for(lambda: stored_use(node), 120, "its use is not stored")
        node.restart()
        assert Client(node).code("GET", "/jobs") == (401, "token_missing")
        assert Client(node, secret).code("GET", "/jobs")[0] == 200
        token = node.api().get("/tokens")["items"][0]
        assert token["last_used_at"] >= used
        node.stop()
        wait_for(lambda: not node.launcher(), 120, "the launcher does not leave")
        for path in [*node.data.rglob("*"), node.log_path]:
            if path.is_file():
                assert secret.encode() not in path.read_bytes(), path
        node.start()
        assert node.api().request("DELETE", "/tokens/kept").status == 200
        assert Client(node).code("GET", "/jobs")[0] == 200 # open to its own user again


def stored_use(node):
    return node.api().get("/tokens")["items"][0]["last_used_at"]
