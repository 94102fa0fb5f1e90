# SPDX-License-Identifier: Apache-2.0
"""api - a small HTTP client that tells apart what a crash makes different.

A request that never left raises NotSent: it had no effect. One that left but was not
answered in full raises Broken: nobody knows. Everything else is an Answer, whatever its
status. One connection per Api, kept alive, not for several threads.
"""
import http.client
import json
import select
import socket
import time
import urllib.parse

BASE = "/api/v1"
FINAL = ("done", "failed", "rejected", "cancelled")
PATIENCE = 120 # seconds; bounds what should happen soon, with sanitizers on a busy machine
BUSY = ("node_unreachable", "starting") # said by nodes that others wait for on such a machine


class NotSent(Exception):
    """The connection could not be made: the request had no effect."""


class Broken(Exception):
    """The connection broke after the request may have left."""

    def __init__(self, why, got=b""):
        super().__init__(why)
        self.got = got # of the body, before it broke


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def lines(self):
        return [json.loads(line) for line in self.body.splitlines()]

    def __repr__(self):
        return f"{self.status} {self.body[:400]!r}"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def hung_up(sock):
    """Whether the daemon has closed a connection on which nothing was asked for long."""
    try:
        return bool(select.select([sock], [], [], 0)[0]) and not sock.recv(1, socket.MSG_PEEK)
    except OSError:
        return True


class Api:
    """address: the path of a Unix socket, or (host, port)."""

    def __init__(self, address, timeout=PATIENCE, tenant=None):
        if isinstance(address, str):
            self.conn = _UnixConnection(address, timeout)
        else:
            self.conn = http.client.HTTPConnection(*address, timeout=timeout)

        self.tenant = tenant # whose jobs are asked for by id, where the path does not say

    def close(self):
        self.conn.close()

    def request(self, method, path, body=None, headers=None):
        """body: bytes as they are, anything else as JSON."""
        headers = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        if path.startswith("//"): # as it is
            path = path[1:]
        elif not path.startswith(("/metrics", "/livez", "/readyz", "/openapi", BASE)):
            if self.tenant and path.startswith("/jobs/") and "tenant=" not in path:
                path += ("&" if "?" in path else "?") + f"tenant={self.tenant}"
            path = BASE + path
        if self.conn.sock and hung_up(self.conn.sock):
            self.conn.close()
        try:
            if self.conn.sock is None:
                self.conn.connect()
        except OSError as why:
            self.conn.close()
            raise NotSent(str(why)) from why
        try:
            self.conn.request(method, path, body, headers)
            response = self.conn.getresponse()
            return Answer(response.status, response.headers, response.read())
        except http.client.IncompleteRead as why:
            self.conn.close()
            raise Broken("the answer ended early", why.partial) from why
        except (OSError, http.client.HTTPException) as why:
            self.conn.close()
            raise Broken(f"{type(why).__name__}: {why}") from why

    # --- what tests say all the time ---------------------------------------------

    def patient(self, method, path, body=None, status=200):
        """As request, and again while another node is only slow. What changed something
        before its answer was lost finds itself done: the second time 404 and 409 are as good."""
        answers = []

        def answered():
            answers.append(self.request(method, path, body))
            return answers[-1].status != 503 or status == 503 or \
                answers[-1].json()["code"] not in BUSY

        wait_for(answered, PATIENCE, lambda: f"{method} {path}: {answers[-1]}", pause=0.1)
        done_before = len(answers) > 1 and method != "GET" and answers[-1].status in (404, 409)
        assert answers[-1].status == status or done_before, (path, answers[-1])
        return answers[-1]

    def get(self, path, status=200):
        return self.patient("GET", path, status=status).json()

    def add(self, status=201, **fields):
        """One job; returns the job object."""
        answer = self.request("POST", "/jobs", fields)
        assert answer.status == status, answer
        return answer.json()["job"] if status == 201 else answer.json()

    def add_soon(self, seconds=PATIENCE, **fields):
        """As add, where the node may be given up by the others at any time: until it takes
        the job."""
        answer = None

        def taken():
            nonlocal answer
            try:
                answer = self.request("POST", "/jobs", fields)
            except (NotSent, Broken) as why:
                answer = why
                return False
            assert answer.status in (201, 503), answer
            return answer.status == 201
        wait_for(taken, seconds, lambda: f"not taken: {answer}", pause=0.1)
        return answer.json()["job"]

    def job(self, id, status=200, tenant=None):
        return self.get(f"/jobs/{id}" + (f"?tenant={tenant}" if tenant else ""), status)

    def act(self, id, action, status=200, body=None, tenant=None):
        return self.patient("POST", f"/jobs/{id}/{action}"
                            + (f"?tenant={tenant}" if tenant else ""), body, status).json()

    def log(self, id, **query):
        text = urllib.parse.urlencode(query)
        answer = self.request("GET", f"/jobs/{id}/log" + (f"?{text}" if text else ""))
        assert answer.status == 200, answer
        return answer.body

    def all(self, **query):
        """Every item of the list of jobs, over as many pages as it takes."""
        items, query = [], {"limit": 1000, **query}
        while True:
            page = self.get("/jobs?" + urllib.parse.urlencode(query))
            items += page["items"]
            if not page["next_cursor"]:
                return items
            query["cursor"] = page["next_cursor"]

    def until(self, id, states=FINAL, seconds=PATIENCE, tenant=None):
        """Waits until the job is in one of the states; returns it."""
        states = (states,) if isinstance(states, str) else states
        return wait_for(lambda: self._in_states(id, states, tenant), seconds,
                        lambda: f"job {id} is {self.job(id, tenant=tenant)}, not {states}")

    def _in_states(self, id, states, tenant):
        """A node that cannot say just now, or begins anew, is asked again."""
        try:
            answer = self.request("GET", f"/jobs/{id}" + (f"?tenant={tenant}" if tenant else ""))
        except (NotSent, Broken):
            return None
        assert answer.status in (200, 503), answer
        job = answer.json()
        return job if answer.status == 200 and job["state"] in states else None


def wait_for(look, seconds=PATIENCE, message="it did not come true", pause=0.01):
    """Polls look() until it gives something true; returns that."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(message() if callable(message) else message)
        time.sleep(pause)
