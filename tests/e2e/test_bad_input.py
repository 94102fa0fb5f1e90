# SPDX-License-Identifier: Apache-2.0
"""Bad input: a clear problem, nothing stored, the daemon unharmed."""
import json
import pathlib
import socket
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.daemon import Place   # noqa: E402

BODY_MAX = 1 << 20
PAYLOAD_MAX = 256 << 10


@pytest.fixture(scope="module")
def node():
    with Place() as place:
        yield place.daemon("--set", f"limits.body={BODY_MAX}",
                           "--set", f"limits.payload={PAYLOAD_MAX}",
                           "--set", "scheduling.enabled=off").start()


@pytest.fixture(autouse=True)
def unharmed(node):
    """Before and after each test: the same jobs, the same process, ready."""
    before, pid = [job["id"] for job in node.api().all()], node.pid
    yield
    assert node.process.poll() is None, node.tail()
    api = node.api()
    assert api.request("GET", "/readyz").status == 200
    assert [job["id"] for job in api.all()] == before
    assert node.pid == pid


@pytest.fixture(params=["unix", "tcp"])
def api(node, request):
    api = node.api() if request.param == "unix" else node.tcp()
    yield api
    api.close()


@pytest.fixture
def unix(node):
    api = node.api()
    yield api
    api.close()


def problem_of(answer, status, code=None):
    """The answer is a whole problem document of this status."""
    statuses = status if isinstance(status, tuple) else (status,)
    assert answer.status in statuses, answer
    assert answer.headers["Content-Type"].split(";")[0] == "application/problem+json"
    problem = answer.json()
    for member in ("type", "title", "status", "detail", "code", "hint"):
        assert member in problem, f"{member} is missing: {problem}"
    assert problem["status"] == answer.status
    assert problem["title"] and problem["detail"] and problem["code"]
    if code:
        assert problem["code"] in (code if isinstance(code, tuple) else (code,)), problem
    return problem


JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}


# --- bodies that cannot be read -------------------------------------------------------

MALFORMED = {
    "empty": b"",
    "blank": b"  \n ",
    "half an object": b'{"command": ["/bin/true"]',
    "half a string": b'{"command": ["/bin/tr',
    "two values": b'{"command": ["/bin/true"]} {"command": ["/bin/true"]}',
    "trailing comma": b'{"command": ["/bin/true"],}',
    "single quotes": b"{'command': ['/bin/true']}",
    "comment": b'{"command": ["/bin/true"]} // please',
    "bare word": b"command",
    "NaN": b'{"command": ["/bin/true"], "priority": NaN}',
    "leading zero": b'{"command": ["/bin/true"], "priority": 01}',
    "control character": b'{"command": ["/bin/\x01true"]}',
    "NUL": b'{"command": ["/bin/true"]}\0',
    "byte order mark": b'\xef\xbb\xbf{"command": ["/bin/true"]}',
    "form": b"command=/bin/true",
    "duplicate key": b'{"command": ["/bin/true"], "command": ["/bin/false"]}',
    "lone surrogate": b'{"command": ["/bin/true"], "payload": "\\ud800"}',
    "utf-16": '{"command": ["/bin/true"]}'.encode("utf-16"),
}


@pytest.mark.parametrize("name", sorted(MALFORMED))
def test_malformed_json(api, name):
    problem_of(api.request("POST", "/jobs", MALFORMED[name], JSON), 400)


INVALID_UTF8 = [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"]


@pytest.mark.parametrize("bytes_", INVALID_UTF8, ids=repr)
def test_invalid_utf8(api, bytes_):
    body = b'{"command": ["/bin/true"], "payload": "' + bytes_ + b'"}'
    problem_of(api.request("POST", "/jobs", body, JSON), 400,
               ("invalid_utf8", "malformed_json"))


@pytest.mark.parametrize("depth", [100, 10_000, 400_000])
def test_depth_bombs(api, depth):
    for body in (b"[" * depth, b'{"a":' * (depth // 2),
                 b'{"command": ' + b"[" * depth + b"]" * depth + b"}"):
        problem_of(api.request("POST", "/jobs", body, JSON), (400, 413, 422))


def test_many_values(api):
    body = b"[" + b"0," * 20_000 + b"0]"
    answer = api.request("POST", "/jobs", body, JSON)
    if answer.status != 200: # each line refused, or the whole
        problem_of(answer, (400, 413, 422))
    else:
        assert answer.lines()[-1]["summary"]["accepted"] == 0


# --- well-formed, but wrong -----------------------------------------------------------

def test_an_unknown_field_names_the_nearest(api):
    problem = problem_of(
        api.request("POST", "/jobs", {"command": ["/bin/true"], "priorty": 7}),
        422, "unknown_field")
    assert "priority" in problem["hint"]
    assert problem["pointer"] == "/priorty"


WRONG = [
    ({"priority": "high"}, "wrong_type"), ({"priority": 1.5}, "wrong_type"),
    ({"priority": 2**31}, "invalid_value"), ({"priority": -2**31 - 1}, "invalid_value"),
    ({"priority": 10**30}, None), ({"priority": True}, "wrong_type"),
    ({"command": "true"}, "wrong_type"), ({"command": []}, None),
    ({"command": [1]}, "wrong_type"), ({"command": [""]}, None),
    ({"command": {"a": 1}}, "wrong_type"), ({"command": ["a\0b"]}, None),
    ({"payload": {"a": 1}}, "wrong_type"), ({"payload": 7}, "wrong_type"),
    ({"payload_base64": "!!!"}, "invalid_value"), ({"payload_base64": "YQ"}, None),
    ({"payload": "a", "payload_base64": "YQ=="}, "conflicting_fields"),
    ({"run_at": "tomorrow"}, "invalid_value"), ({"run_at": 5}, "wrong_type"),
    ({"run_at": "2026-02-30T00:00:00Z"}, "invalid_value"),
    ({"delay": "P1M"}, "invalid_value"), ({"delay": "-5s"}, None), ({"delay": -5}, None),
    ({"delay": "1s", "run_at": "2030-01-01T00:00:00Z"}, "conflicting_fields"),
    ({"max_retries": -1}, "invalid_value"), ({"max_retries": 1.5}, "wrong_type"),
    ({"retry_delay": "soon"}, "invalid_value"), ({"max_run_time": []}, "wrong_type"),
    ({"held": "yes"}, "wrong_type"), ({"tags": "a"}, "wrong_type"),
    ({"tags": [1]}, "wrong_type"), ({"tags": ["a\nb"]}, None),
    ({"tags": [f"t{n}" for n in range(1000)]}, None),
    ({"env": {"A=B": "1"}}, None), ({"env": {"A": "x\0y"}}, None), ({"env": 3}, "wrong_type"),
    ({"env": {"": "1"}}, None), ({"cwd": "relative"}, "invalid_value"),
    ({"cwd": "/a\0b"}, None), ({"name": "n" * 256}, "invalid_value"),
    ({"name": "two\nlines"}, "invalid_value"), ({"protocol": 1}, "wrong_type"),
    ({"id": "0000000000000"}, "read_only_field"), ({"state": "done"}, "read_only_field"),
    ({"lock": "x"}, "read_only_field"), ({"attempt": 3}, "read_only_field"),
    ({"user": "root"}, "run_as_not_allowed"), ({"after": ["x"]}, "invalid_value"),
    ({"children": "later"}, None),
]


@pytest.mark.parametrize("fields,code", WRONG, ids=lambda value: str(value)[:50])
def test_wrong_values(unix, fields, code):
    answer = unix.request("POST", "/jobs", {"command": ["/bin/true"], **fields})
    problem = problem_of(answer, 422, code)
    field = sorted(fields)[0]
    place = problem.get("pointer", "") + problem["detail"]
    assert any(name in place for name in (*fields, "column")), \
        f"{field} is not named: {problem}"


BAD_NAMES = ["", ".", "..", "../x", "a/../b", "/etc/passwd", "-a", "a b", "a\nb", "a\0b",
             "a\tb", "é", "x" * 201, "a|b", "a,b", "a\u202eb", "%2e%2e", "a\\b", "~"]


@pytest.mark.parametrize("field", ["tenant", "type", "queue"])
@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
def test_bad_names(unix, field, name):
    """interfaces 1; S2.75."""
    answer = unix.request("POST", "/jobs", {"command": ["/bin/true"], field: name})
    problem = problem_of(answer, 422, "invalid_name")
    assert problem["pointer"] == f"/{field}"


@pytest.mark.parametrize("path, named", [
    ("/jobs/0000000000001", "There is no such job: '0000000000001'"),
    ("/queues/nobody", "There is no such queue: 'nobody'"),
    ("/handlers/no.one", "There is no such handler: 'no.one'"),
    ("/alert-rules/none", "There is no such alert rule: 'none'"),
])
def test_what_is_not_there_is_named(unix, path, named):
    assert problem_of(unix.request("GET", path), 404)["detail"] == named


def test_a_bad_name_is_shown_harmlessly(unix):
    answer = unix.request("POST", "/jobs", {"command": ["/bin/true"], "queue": "a\n\u202e" + "b" * 200})
    detail = problem_of(answer, 422, "invalid_name")["detail"]
    assert "'a????bbb" in detail and detail.endswith("bbb...'") and len(detail) < 140


@pytest.mark.parametrize("tenant", "api ui metrics livez readyz healthz docs openapi.json "
                                   "add start stop quit static".split())
def test_reserved_tenants(unix, tenant):
    problem_of(unix.request("POST", "/jobs", {"command": ["/bin/true"], "tenant": tenant}),
               422, "invalid_name")


def test_neither_type_nor_command(api):
    problem_of(api.request("POST", "/jobs", {"payload": "x"}), 422, "missing_field")


@pytest.mark.parametrize("value", [None, True, 7, 1.5, "text"], ids=repr)
def test_not_even_an_object(api, value):
    problem_of(api.request("POST", "/jobs", json.dumps(value).encode(), JSON), 422)


def test_too_large_a_payload(api):
    for fields in ({"payload": "x" * (PAYLOAD_MAX + 1)},
                   {"payload_base64": "eHh4" * (PAYLOAD_MAX // 3 + 1)}):
        problem_of(api.request("POST", "/jobs", {"command": ["/bin/true"], **fields}),
                   413, "payload_too_large")


def test_too_large_a_body(api):
    body = b'{"command": ["/bin/true"], "payload": "' + b"x" * BODY_MAX + b'"}'
    problem_of(api.request("POST", "/jobs", body, JSON), 413, "body_too_large")


def test_an_unknown_content_type(api):
    problem_of(api.request("POST", "/jobs", b"x", {"Content-Type": "image/png"}), 415,
               "unsupported_media_type")


# --- lines: the bad among the good ----------------------------------------------------

def test_bad_lines_are_refused_one_by_one(unix):
    lines = [b'{"nope": 1}', b"{", b"[]", b"", b'{"command": ["/bin/tr\xff"]}',
             b'{"command": ["/bin/true"], "queue": ".."}', b"null",
             b'{"command": ["/bin/true"], "payload": 1}']
    answer = unix.request("POST", "/jobs", b"\n".join(lines) + b"\n", NDJSON)
    assert answer.status == 200, answer
    *told, last = answer.lines()
    assert last["summary"]["accepted"] == 0
    assert last["summary"]["rejected"] == len(told) >= len(lines) - 1
    for line in told:
        assert line["error"]["code"] and line["error"]["status"] in (400, 422), line


# --- paths, methods, parameters -------------------------------------------------------

PATHS = ["/api/v1/nothing", "/api/v1/jobs/", "/api/v1/jobs/x/y/z", "/api/v2/jobs",
         "/api/v1/../../etc/passwd", "/api/v1/jobs/%2e%2e%2fetc", "/api/v1/jobs/a%00b",
         "/api/v1/jobs/%ff%fe", "/api/v1/jobs/%zz", "//api/v1/jobs", "/api/v1/jobs/0/frob"]


@pytest.mark.parametrize("path", PATHS)
def test_paths_that_do_not_exist(api, path):
    answer = api.request("GET", "/" + path)
    problem_of(answer, (400, 404, 422))


@pytest.mark.parametrize("method,path", [
    ("PUT", "/jobs"), ("DELETE", "/jobs"), ("PATCH", "/jobs"), ("POST", "/config"),
    ("POST", "/stats"), ("DELETE", "/readyz"), ("PUT", "/metrics")])
def test_methods_a_path_does_not_know(api, method, path):
    answer = api.request(method, path, b"{}", JSON)
    problem_of(answer, 405, "method_not_allowed")
    assert "GET" in answer.headers["Allow"]


def test_an_unknown_method(node):
    assert raw(node, b"BREW /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n")[:12] in (
        b"HTTP/1.1 400", b"HTTP/1.1 404", b"HTTP/1.1 405", b"HTTP/1.1 501")


@pytest.mark.parametrize("id", ["0000000000000", "zzzzzzzzzzzzz", "last", "x", "-1",
                                "00000000000000000000", "%00", "iiiiiiiiiiiii"])
def test_jobs_that_do_not_exist(unix, id):
    for method, path in (("GET", f"/jobs/{id}"), ("POST", f"/jobs/{id}/cancel"),
                         ("DELETE", f"/jobs/{id}"), ("GET", f"/jobs/{id}/log"),
                         ("GET", f"/jobs/{id}/attempts"), ("GET", f"/jobs/{id}/result")):
        problem_of(unix.request(method, path), (404, 400, 422))


QUERIES = ["limit=0", "limit=1001", "limit=x", "limit=-1", "limit=99999999999999999999",
           "state=nothing", "state=", "cursor=%00", "cursor=zzz", "priority=high",
           "created_after=yesterday", "q=nofield:1", "q=%22", "order=random", "nonsense=1",
           "tenant=.."]


@pytest.mark.parametrize("query", QUERIES)
def test_parameters_of_lists(api, query):
    problem_of(api.request("GET", f"/jobs?{query}"), (400, 422))


def test_a_query_with_an_unknown_field_names_the_nearest(unix):
    problem = problem_of(unix.request("GET", "/jobs?q=stat:done"), 422, "invalid_query")
    assert "state" in problem["detail"] + (problem["hint"] or "")


@pytest.mark.parametrize("patch", [
    {}, {"nope": 1}, {"max_concurrent_jobs": "many"}, {"max_concurrent_jobs": -1},
    {"enabled": 3}, {"job_stale_interval": "soon"}, []], ids=repr)
def test_settings(unix, patch):
    before = unix.get("/config")
    answer = unix.request("PATCH", "/config", patch)
    if patch != {} or answer.status != 200:
        problem_of(answer, 422)
    assert unix.get("/config") == before


def test_actions_with_a_body_that_makes_no_sense(unix, node):
    for body in (b'{"what": 1}', b"[1]", b"{"):
        answer = unix.request("POST", "/jobs/0000000000000/cancel", body, JSON)
        problem_of(answer, (400, 404, 422))


@pytest.mark.parametrize("wait", ["x", "-1", "P1Y", "PT0.0.1S"])
def test_a_wait_that_is_no_duration(unix, wait):
    problem_of(unix.request("POST", f"/jobs?wait={wait}", {"command": ["/bin/true"]}), 422)


# --- below HTTP -----------------------------------------------------------------------

def raw(node, request, seconds=120):
    """What comes back for these bytes until the other end closes."""
    got = b""
    with socket.create_connection(node.address(), timeout=seconds) as sock:
        try:
            sock.sendall(request)
            sock.shutdown(socket.SHUT_WR)
            while piece := sock.recv(65536):
                got += piece
        except OSError: # closed by the other end in the middle
            pass
    return got


def head(host=b"localhost", more=b""):
    return (b"POST /api/v1/jobs HTTP/1.1\r\nHost: " + host + b"\r\n"
            b"Content-Type: application/json\r\n" + more)


JOB = b'{"command":["/bin/true"]}'


@pytest.mark.parametrize("host", [b"evil.example", b"192.0.2.7", b"localhost.evil.example",
                                  b"127.0.0.1.evil.example:80", b"[::2]"])
def test_foreign_hosts(node, host):
    """Against DNS rebinding."""
    got = raw(node, head(host, b"Content-Length: 25\r\nConnection: close\r\n\r\n" + JOB))
    assert got.startswith(b"HTTP/1.1 421"), got
    assert b"host_not_allowed" in got


def test_whole_urls_as_of_a_proxy(node):
    """RFC 9112, 3.2.2: their host counts, and Host does not."""
    def ask(url, host=b"localhost"):
        return raw(node, b"GET " + url + b" HTTP/1.1\r\nHost: " + host + b"\r\n"
                         b"Connection: close\r\n\r\n")
    got = ask(b"http://localhost/api/v1/jobs?limit=1")
    assert got.startswith(b"HTTP/1.1 200") and b'"items"' in got, got
    got = ask(b"http://127.0.0.1:8080/readyz", b"evil.example")
    assert got.startswith(b"HTTP/1.1 200"), got
    got = ask(b"http://evil.example/api/v1/jobs")
    assert got.startswith(b"HTTP/1.1 421") and b"host_not_allowed" in got, got
    for url in (b"ftp://localhost/readyz", b"http:///readyz", b"http://me@localhost/readyz"):
        assert ask(url).startswith(b"HTTP/1.1 400"), url


def test_what_must_be_said_once(node, unix):
    """Whoever is between a client and us may go by the other one."""
    problem_of(unix.request("GET", "/jobs?tenant=a&limit=1&tenant=b"), 400, "bad_request")
    problem_of(unix.request("POST", "//a/job/t/add?tenant=a&tenant=a", b"x\n"), 400)
    got = raw(node, head(more=b"Host: localhost\r\nContent-Length: 25\r\n\r\n" + JOB))
    assert got.startswith(b"HTTP/1.1 400"), got


@pytest.mark.parametrize("more", [b"Origin: http://evil.example\r\n",
                                  b"Sec-Fetch-Site: cross-site\r\n"])
def test_other_sites(node, more):
    got = raw(node, head(more=more + b"Content-Length: 25\r\nConnection: close\r\n\r\n" + JOB))
    assert got.startswith(b"HTTP/1.1 403"), got


HALF = {
    "nothing": b"",
    "half a request line": b"POST /api/v1/jo",
    "half a header": b"POST /api/v1/jobs HTTP/1.1\r\nHost: loc",
    "no body": head(more=b"Content-Length: 25\r\n\r\n"),
    "half a body": head(more=b"Content-Length: 26\r\n\r\n") + JOB,
    "half a chunk": head(more=b"Transfer-Encoding: chunked\r\n\r\n1a\r\n" + JOB),
    "no last chunk": head(more=b"Transfer-Encoding: chunked\r\n\r\n19\r\n" + JOB + b"\r\n"),
    "bad chunk size": head(more=b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + JOB +
                           b"\r\n0\r\n\r\n"),
    "two lengths": head(more=b"Content-Length: 25\r\nContent-Length: 3\r\n\r\n") + JOB,
    "negative length": head(more=b"Content-Length: -1\r\n\r\n") + JOB,
    "huge length": head(more=b"Content-Length: 99999999999999999999\r\n\r\n") + JOB,
    "binary": bytes(range(256)) * 4,
    "TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    "HTTP/0.9": b"GET /api/v1/jobs\r\n\r\n",
    "endless line": b"GET /" + b"a" * 100_000,
    "many headers": head(more=b"".join(b"X-%d: y\r\n" % n for n in range(5000)) +
                         b"Content-Length: 25\r\n\r\n") + JOB,
    "no host": b"POST /api/v1/jobs HTTP/1.1\r\nContent-Length: 25\r\n\r\n" + JOB,
}


@pytest.mark.parametrize("name", sorted(HALF))
def test_half_requests(node, name):
    """Nothing is stored (see unharmed), and no answer says otherwise."""
    got = raw(node, HALF[name])
    assert not got.startswith((b"HTTP/1.1 2", b"HTTP/1.0 2")), got


NO_HTTP = {
    "length is a word": (head(more=b"Content-Length: abc\r\n\r\n"), 400, "bad_request"),
    "length is negative": (head(more=b"Content-Length: -1\r\n\r\n"), 400, "bad_request"),
    "length goes on": (head(more=b"Content-Length: 25abc\r\n\r\n"), 400, "bad_request"),
    "length is empty": (head(more=b"Content-Length:\r\n\r\n"), 400, "bad_request"),
    "length is beyond numbers": (head(more=b"Content-Length: 99999999999999999999\r\n\r\n"),
                                 413, "body_too_large"),
    "length is given twice": (head(more=b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"),
                              400, "bad_request"),
    "length and chunks": (head(more=b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
                               b"0\r\n\r\n"), 400, "bad_request"),
    "chunk size is a word": (head(more=b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
                             400, "bad_request"),
    "chunk is longer": (head(more=b"Transfer-Encoding: chunked\r\n\r\n19\r\n" + JOB +
                             b"more\r\n0\r\n\r\n"), 400, "bad_request"),
    "coding is unknown": (head(more=b"Transfer-Encoding: gzip\r\n\r\n"),
                          501, "not_implemented"),
    "coding is not the last": (head(more=b"Transfer-Encoding: chunked, gzip\r\n\r\n"),
                               501, "not_implemented"),
    "line without a colon": (head(more=b"no colon\r\n\r\n"), 400, "bad_request"),
    "space before the colon": (head(more=b"Content-Length : 0\r\n\r\n"), 400, "bad_request"),
    "folded line": (head(more=b"X: a\r\n b\r\n\r\n"), 400, "bad_request"),
    "line that ends without CR": (head(more=b"X: a\n\r\n"), 400, "bad_request"),
    "NUL": (head(more=b"X: a\0b\r\n\r\n"), 400, "bad_request"),
    "no host": (b"GET /livez HTTP/1.1\r\n\r\n", 400, "bad_request"),
    "two hosts": (head(more=b"Host: localhost\r\n\r\n"), 400, "bad_request"),
    "version of another protocol": (b"GET /livez FTP/1.1\r\nHost: localhost\r\n\r\n",
                                    400, "bad_request"),
    "version of the future": (b"GET /livez HTTP/3.7\r\nHost: localhost\r\n\r\n",
                              505, "version_not_supported"),
    "no version": (b"GET /livez\r\nHost: localhost\r\n\r\n", 400, "bad_request"),
    "another protocol": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
                         400, "bad_request"),
    "path of 40 KB": (b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                      414, "uri_too_long"),
    "header of 40 KB": (head(more=b"X: " + b"a" * 40_000 + b"\r\n\r\n"),
                        431, "header_too_large"),
    "5000 headers": (head(more=b"".join(b"X-%d: y\r\n" % n for n in range(5000)) + b"\r\n"),
                     431, "header_too_large"),
    "300 headers": (head(more=b"".join(b"X-%d: y\r\n" % n for n in range(300)) + b"\r\n"),
                    431, "header_too_large"),
}


@pytest.mark.parametrize("name", sorted(NO_HTTP))
def test_what_is_no_http_is_told_so_and_cut_off(node, name):
    """A problem like any other, and the end of the connection, so that nothing behind it is
    taken for a request."""
    request, status, code = NO_HTTP[name]
    behind = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(node.address(), timeout=120) as sock:
        got = b""
        sock.sendall(request + behind)
        while piece := sock.recv(65536): # until the other end closes: ours is open
            got += piece
    top, body = got.split(b"\r\n\r\n", 1)
    lines = top.decode().split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines[1:])
    assert lines[0].startswith(f"HTTP/1.1 {status} "), got
    assert fields["content-type"] == "application/problem+json"
    assert fields["connection"] == "close"
    assert int(fields["content-length"]) == len(body)
    problem = json.loads(body)
    assert problem["code"] == code and problem["status"] == status
    assert problem["title"] and problem["detail"]


def test_what_announces_a_body_is_told_to_go_on_or_not(node):
    """Expect: 100-continue."""
    with socket.create_connection(node.address(), timeout=120) as sock:
        sock.sendall(head(more=b"Expect: 100-continue\r\nContent-Length: 25\r\n"
                               b"Connection: close\r\nOrigin: http://evil.example\r\n\r\n"))
        assert sock.recv(65536).startswith(b"HTTP/1.1 403")
    with socket.create_connection(node.address(), timeout=120) as sock:
        sock.sendall(head(more=b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"))
        assert sock.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"42")
        assert sock.recv(65536).startswith(b"HTTP/1.1 422")


def test_more_connections_than_there_may_be():
    """limits.connections: those that are too many are told so, the others go on."""
    with Place() as place:
        node = place.daemon("--set", "limits.connections=20").start()
        ask = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
        first = socket.create_connection(node.address(), timeout=120)
        first.sendall(ask)
        assert first.recv(65536).startswith(b"HTTP/1.1 200")
        more = [socket.create_connection(node.address(), timeout=120) for _ in range(40)]
        told = b""
        while piece := more[-1].recv(65536):
            told += piece
        assert told.startswith(b"HTTP/1.1 503")
        assert b"application/problem+json" in told and b'"unavailable"' in told
        first.sendall(ask)
        assert first.recv(65536).startswith(b"HTTP/1.1 200")
        for sock in (first, *more):
            sock.close()
        deadline = time.monotonic() + 60
        while node.tcp().request("GET", "/readyz").status != 200:
            assert time.monotonic() < deadline # they are gone, and were counted for nothing


def test_slow_and_silent_clients_disturb_no_one():
    """limits.idle: a connection that asks nothing more is closed."""
    with Place() as place:
        slow_and_silent(place.daemon("--set", "limits.idle=2s").start())


def slow_and_silent(node):
    slow = [socket.create_connection(node.address(), timeout=120) for _ in range(20)]
    for sock in slow:
        sock.sendall(b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Le")
    silent = socket.create_connection(node.address(), timeout=120)
    silent.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert silent.recv(4096).startswith(b"HTTP/1.1 200")
    began = time.monotonic()
    assert node.api().request("GET", "/readyz").status == 200
    assert silent.recv(4096) == b"" # closed, and not before its time
    assert time.monotonic() - began > 1
    for sock in slow:
        sock.close()


def test_many_connections_that_come_and_go(node):
    for _ in range(300):
        sock = socket.create_connection(node.address(), timeout=120)
        sock.send(b"GET")
        sock.close()


# --- the Idempotency-Key --------------------------------------------------------------

@pytest.mark.parametrize("key", ["", "x" * 4096, "tab\tinside"], ids=["empty", "long", "tab"])
def test_keys_that_are_none(unix, key):
    answer = unix.request("POST", "/jobs", {"nope": 1}, {"Idempotency-Key": key})
    problem_of(answer, (400, 422))


def test_a_refused_request_does_not_use_up_its_key(unix):
    headers = {"Idempotency-Key": "refused"}
    problem_of(unix.request("POST", "/jobs", {"nope": 1}, headers), 422, "unknown_field")
    problem_of(unix.request("POST", "/jobs", {"command": []}, headers), 422)


def test_a_body_of_nothing_but_mistakes_gets_a_short_answer(api):
    """The first thousand are explained, the rest only named: an answer stays in proportion."""
    count = 5000
    answer = api.request("POST", "/jobs", b"0\n" * count, NDJSON)
    assert answer.status == 200
    lines = answer.lines()
    assert len(lines) == count + 1
    assert lines[0]["error"]["detail"]
    assert lines[-2] == {"line": count, "error": {"code": lines[0]["error"]["code"]}}
    assert lines[-1]["summary"] == {"accepted": 0, "rejected": count, "durable": True}
