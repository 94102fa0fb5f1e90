# SPDX-License-Identifier: Apache-2.0
"""`http` handlers against real servers: what is sent, what an answer means, and where a
call may not go. The servers stand on loopback, which the daemon is told to allow; for
public-looking addresses there is a network of the test's own."""
import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import textwrap
import threading
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402


class Hook:
    """A server whose answers a test decides, and which remembers what it was asked."""

    def __init__(self):
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.asked.append((self.path, dict(self.headers), body))
                hook.peers.add(self.client_address)
                answer = hook.answer(self.path, body)
                if answer is None: # never
                    hook.release.wait(120)
                    self.close_connection = True
                    return
                status, headers, text = answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.asked, self.peers, self.release = [], set(), threading.Event()
        self.answer = lambda path, body: (200, {}, b"ok")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def hook():
    made = Hook()
    yield made
    made.close()


OPTIONS = ("--slots", "4", "--set", "http.allow_private=127.0.0.0/8", "--set",
           "daemon.grace=500ms", "--set", "limits.result=64K")


@pytest.fixture(scope="module")
def node():
    with Place() as place:
        # A proxy of the environment must have no say.
        yield place.daemon(*OPTIONS, env={"http_proxy": "http://127.0.0.1:1",
                                          "all_proxy": "http://127.0.0.1:1"}).start()


class Tenant:
    def __init__(self, node):
        self.api = node.api(120)
        self.name = self.api.tenant = "t" + uuid.uuid4().hex[:10]

    def set(self, url, status=201, type="call", **fields):
        answer = self.api.request("PUT", f"/handlers/{type}?tenant={self.name}",
                                  {"lang": "http", "body": url, **fields})
        assert answer.status == status, answer
        return answer.json()

    def add(self, payload="", type="call", **fields):
        return self.api.add(type=type, tenant=self.name, payload=payload, **fields)["id"]

    def until(self, id, *states):
        return self.api.until(id, states or ("done", "failed", "rejected", "cancelled"),
                              seconds=60)

    def result(self, id):
        return self.api.request("GET", f"/jobs/{id}/result").body


@pytest.fixture
def tenant(node):
    return Tenant(node)


def test_headers_of_the_handler_go_with_each_call(tenant, hook):
    """Secrets can be set, and are not shown; they go to the handler's own origin only."""
    secret = "Bearer s3cr3t=="
    made = tenant.set(hook.url, headers={"Authorization": secret, "X-Key": "k",
                                         "content-type": "application/json"})
    assert made["headers"] == {"Authorization": None, "X-Key": None, "content-type": None}
    for path in ("/handlers/call", "/handlers/call/versions", "/handlers"):
        shown = tenant.api.request("GET", f"{path}?tenant={tenant.name}")
        assert shown.status == 200 and b"s3cr3t" not in shown.body
    tenant.until(tenant.add("{}"))
    headers = hook.asked[-1][1]
    assert (headers["Authorization"], headers["X-Key"]) == (secret, "k")
    assert headers["content-type"] == "application/json" and "Content-Type" not in headers
    assert headers["Pawl-Tenant"] == tenant.name
    other = Hook() # the same host, but another port
    try:
        hook.answer = lambda path, body: (307, {"Location": other.url}, b"")
        assert tenant.until(tenant.add("{}"))["state"] == "done"
        names = {name.lower() for name in other.asked[-1][1]}
        assert not names & {"authorization", "x-key"} and "pawl-job-id" in names
    finally:
        other.close()
    rolled = tenant.api.request("POST", f"/handlers/call/rollback?tenant={tenant.name}",
                                {"version": 1})
    assert rolled.json()["headers"] == made["headers"]
    hook.answer = lambda path, body: (200, {}, b"ok")
    tenant.until(tenant.add("{}"))
    assert hook.asked[-1][1]["Authorization"] == secret


@pytest.mark.parametrize("headers", [
    {"Host": "x"}, {"pawl-job-id": "x"}, {"Content-Length": "1"}, {"a b": "x"}, {"": "x"},
    {"X": "a\nb"}, {"X": ""}, {"X": None}, {"X": 1}, {"X": "a", "x": "b"}, {"X": "y" * 5000},
    {f"X{n}": "y" for n in range(33)}, ["X: y"], {"X": "ü"}])
def test_headers_that_cannot_be_sent_are_refused(tenant, hook, headers):
    problem = tenant.set(hook.url, status=422, headers=headers)
    assert problem["code"] in ("invalid_value", "wrong_type") and "header" in problem["detail"]


def test_headers_are_for_http(tenant):
    answer = tenant.api.request("PUT", f"/handlers/x?tenant={tenant.name}",
                                {"lang": "sh", "body": "true", "headers": {"X": "y"}})
    assert answer.status == 422 and answer.json()["code"] == "conflicting_fields", answer


def test_a_job_is_a_post_of_its_payload(tenant, hook):
    """S2.2, S2.100: a task's lang may be http; its payload is POSTed, its status counts."""
    tenant.set(hook.url + "?a=1")
    hook.answer = lambda path, body: (201, {}, b"result of " + body)
    id = tenant.add("hello", priority=7, queue="q;1")
    job = tenant.until(id)
    assert (job["state"], job["exitcode"], job["code"]) == ("done", 201, "ok"), job
    assert tenant.result(id) == b"result of hello"
    (path, headers, body), = hook.asked
    assert path == "/hook?a=1" and body == b"hello"
    assert headers["Pawl-Job-Id"] == id and headers["Pawl-Attempt"] == "1"
    assert headers["Pawl-Job-Type"] == "call" and headers["Pawl-Tenant"] == tenant.name
    assert headers["Pawl-Queue"] == "q;1" and headers["Pawl-Priority"] == "7"
    assert headers["Pawl-Node"] == job["node"]
    assert "Cookie" not in headers and "Authorization" not in headers


@pytest.mark.parametrize("status, state, code", [
    (204, "done", "ok"), (302, "rejected", "retry"), (404, "failed", "failed"),
    (503, "rejected", "error")])
def test_the_status_is_the_exit_code(tenant, hook, status, state, code):
    """B2.7, S2.50, S2.52 to S2.55: an HTTP status is a job's status."""
    tenant.set(hook.url)
    headers = {"Location": "http://127.0.0.1/"} if status == 302 else {}
    hook.answer = lambda path, body: (status, headers, b"")
    job = tenant.until(tenant.add(max_retries=0))
    assert (job["state"], job["code"], job["exitcode"]) == (state, code, status), job
    assert len(hook.asked) == 1


@pytest.mark.parametrize("status", [408, 425, 429])
def test_a_service_that_asks_for_later_is_asked_again(tenant, hook, status):
    tenant.set(hook.url, retry_delay="PT0.1S")
    hook.answer = lambda path, body: (status if len(hook.asked) < 2 else 200, {}, b"x")
    job = tenant.until(tenant.add())
    assert job["state"] == "done" and job["attempt"] == 2, job
    hook.answer = lambda path, body: (status, {}, b"")
    job = tenant.until(tenant.add(max_retries=0))
    assert (job["state"], job["code"], job["exitcode"]) == ("rejected", "retry", status), job


def test_an_error_is_tried_again(tenant, hook):
    tenant.set(hook.url, retry_delay="PT0.1S")
    hook.answer = lambda path, body: (500 if len(hook.asked) < 3 else 200, {}, b"x")
    job = tenant.until(tenant.add())
    assert job["state"] == "done" and job["attempt"] == 3
    assert [asked[1]["Pawl-Attempt"] for asked in hook.asked] == ["1", "2", "3"]


def test_connections_are_used_again(tenant, hook):
    tenant.set(hook.url)
    for _ in range(5):
        tenant.until(tenant.add())
    assert len(hook.asked) == 5 and len(hook.peers) == 1


def test_a_batch_is_one_call_with_a_line_for_each(tenant, hook):
    """B2.7: newline-separated payloads, one status line per job, #J: lines are new jobs."""
    tenant.set(hook.url, batch=50)
    tenant.set(hook.url, type="next")

    def answer(path, body):
        lines = body.decode().splitlines()
        out = ["# a comment"]
        for line in lines:
            if line == "child":
                out.append("#J: next|of child")
            out.append({"bad": "404 no such thing"}.get(line, f"200 {line.upper()}"))
        return 200, {}, "\n".join(out).encode()
    hook.answer = answer
    tenant.api.request("PATCH", "/config", {"max_concurrent_jobs": 0})
    many = [f"w{k}" for k in range(20)]
    ids = {word: tenant.add(word) for word in ("one", "bad", "child", *many)}
    broken = tenant.add("a\nb") # no line
    tenant.api.request("PATCH", "/config", {"max_concurrent_jobs": 4})
    jobs = {word: tenant.until(id) for word, id in ids.items()}
    assert {word: job["state"] for word, job in jobs.items() if job["state"] != "done"} \
        == {"bad": "failed"}
    assert tenant.result(ids["one"]) == b"ONE" and jobs["bad"]["exitcode"] == 404
    assert tenant.until(broken)["state"] == "failed"
    wait_for(lambda: any(body == b"of child" for _, _, body in hook.asked), 120)
    batches = [asked for asked in hook.asked if "Pawl-Batch" in asked[1]]
    assert sum(int(asked[1]["Pawl-Batch"]) for asked in batches) == len(ids)
    assert len(batches) < len(ids) # they shared calls
    sent = [id for asked in batches for id in asked[1]["Pawl-Job-Id"].split(",")]
    assert sorted(sent) == sorted(ids.values())
    child, = tenant.api.all(tenant=tenant.name, type="next")
    assert child["parent"] == ids["child"]


def test_a_batch_that_is_not_answered_in_full_is_an_error(tenant, hook):
    tenant.set(hook.url, batch=10, max_retries=0)
    hook.answer = lambda path, body: (200, {}, b"hello\n200\n")
    job = tenant.until(tenant.add("x"))
    assert job["state"] == "rejected" and job["exitcode"] == 500
    assert "status" in job["error"]


def test_a_call_that_never_returns_is_ended(tenant, hook):
    """max_run_time counts for calls as for processes."""
    tenant.set(hook.url, max_run_time="PT0.5S", max_retries=0)
    hook.answer = lambda path, body: None
    job = tenant.until(tenant.add())
    assert job["state"] == "rejected" and job["exitcode"] == 504, job


def test_a_call_can_be_cancelled_but_not_paused(tenant, hook):
    tenant.set(hook.url)
    hook.answer = lambda path, body: None
    id = tenant.add()
    wait_for(lambda: hook.asked, 120)
    tenant.until(id, "running")
    tenant.api.act(id, "pause", status=409)
    tenant.api.act(id, "cancel")
    assert tenant.until(id)["state"] == "cancelled"


def test_a_long_answer_is_cut(tenant, hook):
    tenant.set(hook.url)
    hook.answer = lambda path, body: (200, {}, b"x" * (1 << 20))
    id = tenant.add()
    job = tenant.until(id)
    assert job["state"] == "done" and job["result_cut"]
    assert tenant.result(id) == b"x" * (64 << 10)


def test_nobody_there_is_an_error(tenant):
    with socket.socket() as taken: # nobody else listens there meanwhile
        taken.bind(("127.0.0.1", 0))
        tenant.set(f"http://127.0.0.1:{taken.getsockname()[1]}", max_retries=0)
        job = tenant.until(tenant.add())
    assert job["state"] == "rejected" and job["code"] == "error"
    assert "no answer" in job["error"]


def test_what_is_no_url_is_refused(tenant):
    for url in ("", "not a url", "ftp://example.org/", "file:///etc/passwd",
                "http://exa mple.org/"):
        problem = tenant.set(url, 422)
        assert problem["pointer"] == "/body", problem
    assert tenant.set("http://example.org/", 422, batch=401)["pointer"] == "/batch"


def test_calls_end_with_the_daemon_and_are_made_again(hook):
    """A call that was under way is lost uncharged, and made again."""
    with Place() as place:
        node = place.daemon(*OPTIONS).start()
        tenant = Tenant(node)
        tenant.set(hook.url, max_retries=0)
        hook.answer = lambda path, body: None
        id = tenant.add("x")
        wait_for(lambda: hook.asked, 120)
        node.kill()
        hook.answer = lambda path, body: (200, {}, b"again")
        node.start()
        tenant.api = node.api(120, tenant.name)
        job = tenant.until(id)
        assert job["state"] == "done" and job["attempt"] == 2 and job["retry_number"] == 0
        assert node.stop(120) == 0


def test_loopback_is_refused_unless_allowed(hook):
    """The row of bad input: an http handler to 127.0.0.1 says why it failed, and the
    server there never hears of it."""
    with Place() as place:
        tenant = Tenant(place.daemon("--set", "http.allow_private=10.0.0.0/8").start())
        port = hook.url.split(":")[2]
        for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0",
                     "2130706433", "127.1"):
            tenant.set(f"http://{host}:{port}", type="t" + uuid.uuid4().hex)
        for handler in tenant.api.get(f"/handlers?tenant={tenant.name}")["items"]:
            job = tenant.until(tenant.add(type=handler["type"], max_retries=0))
            if "[" in handler["body"] and job["state"] == "rejected":
                continue # a machine without IPv6 does not come so far
            assert job["state"] == "failed" and job["exitcode"] == 403, job
            assert "private address" in job["error"], (handler["body"], job["error"])
        assert hook.asked == []


# In a network of its own, with addresses that look public: what 203.0.113.1 says may be
# called, what it redirects to must be looked at again.
INSIDE = """
    import http.server, json, pathlib, subprocess, sys, threading
    sys.path.insert(0, {lib!r})
    from lib.daemon import Place
    for line in ("link set lo up", "address add 203.0.113.1/32 dev lo",
                 "address add 10.9.8.7/32 dev lo",
                 "-6 address add 2001:db8::1/128 dev lo nodad",
                 "-6 address add fd00:9::1/128 dev lo nodad"):
        if subprocess.run(["ip", *line.split()]).returncode:
            print(json.dumps({{"skip": "no address: ip " + line}}))
            sys.exit()
    asked = []
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append([self.server.name, self.path, body.decode()])
            to = self.path.partition("to=")[2]
            if self.path.startswith("/loop"):
                to = self.path
            self.send_response(307 if to else 200)
            if to:
                self.send_header("Location", to)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")
        def log_message(self, *_):
            pass
    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
    class Server6(Server):
        address_family = 10
    ports = {{}}
    for name, host, kind in (("public", "203.0.113.1", Server),
                             ("private", "10.9.8.7", Server),
                             ("loopback", "127.0.0.1", Server),
                             ("public6", "2001:db8::1", Server6),
                             ("private6", "fd00:9::1", Server6)):
        server = kind((host, 0), Handler)
        server.name = name
        ports[name] = server.server_port
        threading.Thread(target=server.serve_forever, daemon=True).start()
    pub = f"http://203.0.113.1:{{ports['public']}}"
    pub6 = f"http://[2001:db8::1]:{{ports['public6']}}"
    urls = {{
        "public": pub + "/",
        "public6": pub6 + "/",
        "hop": f"{{pub}}/?to={{pub6}}/there",
        "private": f"http://10.9.8.7:{{ports['private']}}/",
        "private6": f"http://[fd00:9::1]:{{ports['private6']}}/",
        "mapped": f"http://[::ffff:10.9.8.7]:{{ports['private']}}/",
        "to_private": f"{{pub}}/?to=http://10.9.8.7:{{ports['private']}}/",
        "to_private6": f"{{pub}}/?to=http://[fd00:9::1]:{{ports['private6']}}/",
        "to_loopback": f"{{pub6}}/?to=http://localhost:{{ports['loopback']}}/",
        "to_file": f"{{pub}}/?to=file:///etc/passwd",
        "for_ever": f"{{pub}}/loop?to={{pub}}/loop",
    }}
    answers = {{}}
    with Place() as place:
        api = place.daemon("--slots", "4").start().api(120)
        for name, url in urls.items():
            answer = api.request("PUT", "/handlers/" + name,
                                 {{"lang": "http", "body": url, "max_retries": 0}})
            assert answer.status == 201, answer
            job = api.until(api.add(type=name, payload="p")["id"], seconds=120)
            answers[name] = [job["state"], job["exitcode"], job["error"]]
    print(json.dumps({{"answers": answers, "asked": asked}}))
"""


def test_private_addresses_are_refused_however_they_are_reached(tmp_path):
    """Public-looking addresses are called; private ones are not: neither directly, nor as
    IPv6, nor mapped, nor behind a redirect. Checked where the connection is made."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-n", "true"]).returncode:
        pytest.skip("needs root: a network namespace of the test's own")
    script = tmp_path / "inside.py"
    tests = str(pathlib.Path(__file__).resolve().parents[1])
    script.write_text(textwrap.dedent(INSIDE.format(lib=tests)))
    done = subprocess.run(["unshare", "-n", sys.executable, "-B", str(script)],
                          capture_output=True, text=True, timeout=280,
                          env={**os.environ, "PAWL_BIN": program()})
    assert done.returncode == 0, done.stderr + done.stdout
    told = json.loads(done.stdout.splitlines()[-1])
    if "skip" in told:
        pytest.skip(told["skip"])
    answers = told["answers"]
    for name in ("public", "public6", "hop"):
        assert answers[name][:2] == ["done", 200], (name, answers[name])
    for name in ("private", "private6", "mapped", "to_private", "to_private6",
                 "to_loopback"):
        assert answers[name][:2] == ["failed", 403], (name, answers[name])
        assert "private address" in answers[name][2]
    for name in ("to_file", "for_ever"):
        assert answers[name][:2] == ["rejected", 307], (name, answers[name])
    heard = {name for name, _, _ in told["asked"]}
    assert heard == {"public", "public6"}, heard
    assert ["public6", "/there", "p"] in told["asked"] # the payload went along
