# SPDX-License-Identifier: Apache-2.0
"""crowd - clients of every kind at the same time, on one node or on several.

Each does its own few rounds and knows what must come of them; together they make the
threads of a daemon meet: doors, loop, keeper, readers, runners, streams that go on and
clients that leave. It is made for sanitizers, which see what nobody would notice."""
import contextlib
import http.client
import http.server
import json
import random
import signal
import socket
import threading

from lib.api import FINAL, PATIENCE, wait_for

HANDLERS = {
    "pulled": {"lang": "pull"},
    "warm": {"lang": "python", "body": "return payload.upper()"},
    "shell": {"lang": "sh", "body": "cat"},
}
LOOKS = ("/jobs?limit=20", "/jobs?q=state:done&limit=5", "/stats", "/metrics", "/queues",
         "/nodes", "/handlers", "/tenants", "/tokens", "/audit?limit=5", "/operations",
         "/alerts", "/config", "/resources", "/schedules", "/events?follow=0", "/readyz",
         "/stats/series?metric=added&by=type&from=-1h", "/openapi.json", "/processors")
LINES = "for n in 1 2 3 4 5 6; do echo $n; sleep 0.02; done"


class Hook:
    """Where the calls of `http` handlers go."""

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


OPTIONS = ("--slots", "4", "--set", "http.allow_private=127.0.0.0/8", "--set",
           "daemon.grace=200ms")


class Crowd:
    """nodes: daemons that serve the same jobs."""

    def __init__(self, nodes, rounds, seed=1):
        self.nodes, self.rounds, self.seed = nodes, rounds, seed
        self.errors, self.ids = [], []
        self.hook = Hook()
        self.secret = None
        self.local = threading.local()

    # --- asking ----------------------------------------------------------------------

    def ask(self, method, path, body=None, *expected, headers=()):
        """Of some node, by one of its doors. A token opens the one that is not ours alone."""
        luck = self.local.luck
        node = luck.choice(self.nodes)
        api = node.tcp() if luck.random() < 0.5 else node.api()
        words = {"Authorization": f"Bearer {self.secret}", **dict(headers)}
        try:
            answer = api.request(method, path, body, words)
        finally:
            api.close()
        assert answer.status in (expected or (200,)), (method, path, answer)
        return answer

    def add(self, path="/jobs", **job):
        answer = self.ask("POST", path, job, 200, 201).json()
        self.ids.append(answer["id"])
        return answer["id"]

    # --- clients -----------------------------------------------------------------------

    def adds_and_waits(self, luck):
        id = self.add("/jobs" + luck.choice(("", "?wait=PT20S")), command=["true"],
                      priority=luck.randrange(1, 11), queue=luck.choice("ab"))
        for what in ("", "/explain", "/attempts", "/log"):
            self.ask("GET", f"/jobs/{id}{what}")

    def adds_for_handlers(self, luck):
        for type in luck.sample(["warm", "shell", "called"], 2):
            self.add(type=type, payload="p")

    def adds_in_bulk(self, luck):
        lines = [json.dumps({"type": "pulled", "payload": str(n)}) for n in range(8)]
        told = self.ask("POST", "/jobs", "\n".join(lines).encode(), 200,
                        headers={"Content-Type": "application/x-ndjson"}).lines()
        self.ids += [line["id"] for line in told if "id" in line]
        answer = self.ask("POST", "//default/job/shell/add", b"one\ntwo\n").json()
        self.ids += answer["ids"]

    def pulls(self, luck):
        answer = self.ask("POST", "/claims", {"max": 6, "wait": "PT0.2S"}, 200, 204)
        jobs = answer.json()["jobs"] if answer.status == 200 else []
        items = [{name: job[name] for name in ("id", "attempt", "token")} for job in jobs]
        if items and luck.random() < 0.5:
            self.ask("POST", "/claims/renew", {"items": items})
        if items:
            self.ask("POST", "/claims/finish",
                     {"items": [{**item, "result": "r"} for item in items]})

    def looks(self, luck):
        for path in luck.sample(LOOKS, 6):
            self.ask("GET", path)

    def meddles(self, luck):
        id = self.add(command=["sleep", "120"], max_retries=0)
        for action in luck.sample(["hold", "release", "pause", "resume"], 2):
            self.ask("POST", f"/jobs/{id}/{action}", None, 200, 409)
        self.ask("POST", f"/jobs/{id}/{luck.choice(('cancel', 'kill'))}")

    def defines(self, luck):
        name = f"n{luck.randrange(4)}"
        self.ask("PUT", f"/queues/{name}", {"slots": 2}, 200, 201)
        self.ask("PUT", f"/resources/{name}", {"quantity": 2}, 200, 201)
        self.ask("PUT", f"/handlers/{name}", {"lang": "sh", "body": "cat"}, 200, 201)
        self.ask("PUT", f"/tenants/{name}", {"max_requests": 1000}, 200, 201)
        self.ask("DELETE", f"/{luck.choice(('queues', 'handlers'))}/{name}", None, 200, 404)

    def uses_tokens(self, luck):
        name = f"t{luck.random()}"
        made = self.ask("POST", "/tokens", {"name": name, "scopes": ["read"],
                                            "tenant": "*"}, 201).json()
        self.ask("GET", "/jobs?limit=1", None, 200, 401, # not each node knows it yet
                 headers={"Authorization": f"Bearer {made['token']}"})
        self.ask("DELETE", f"/tokens/{name}", None, 200, 404) # likewise

    def connect(self, path):
        connection = http.client.HTTPConnection(*self.local.luck.choice(self.nodes).address(),
                                                timeout=PATIENCE)
        connection.request("GET", "/api/v1" + path,
                           headers={"Authorization": f"Bearer {self.secret}"})
        answer = connection.getresponse()
        assert answer.status == 200, (path, answer.status, answer.read())
        return connection, answer

    def listens(self, luck):
        """Some are gone before anything has been said."""
        connection, answer = self.connect("/events?follow=1")
        self.add(command=["true"])
        for _ in range(luck.choice((0, 1, 6))):
            answer.readline()
        connection.close()

    def follows_logs(self, luck):
        id = self.add(command=["sh", "-c", LINES])
        connection, answer = self.connect(f"/jobs/{id}/log?follow=1")
        told = answer.read() if luck.random() < 0.5 else None
        connection.close()
        assert told in (None, b"1\n2\n3\n4\n5\n6\n"), told

    def is_rude(self, luck):
        """Leaves in the middle of a request, or without waiting for its answer."""
        text = b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 400\r\n\r\n{"
        if luck.random() < 0.5:
            text = (f"GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
                    f"Authorization: Bearer {self.secret}\r\n\r\n").encode() * 3
        with socket.create_connection(luck.choice(self.nodes).address(), timeout=PATIENCE) as rude:
            rude.sendall(text[:luck.randrange(1, len(text) + 1)])

    def reloads(self, luck):
        luck.choice(self.nodes).process.send_signal(signal.SIGHUP)

    CLIENTS = (adds_and_waits, adds_and_waits, adds_and_waits, adds_for_handlers,
               adds_in_bulk, pulls, pulls, looks, looks, meddles, defines, uses_tokens,
               listens, follows_logs, is_rude, reloads)

    # --- all of them ---------------------------------------------------------------------

    def guard(self, number, client):
        """A client's own mistake fails the test, not only its thread."""
        self.local.luck = random.Random(f"{self.seed}/{number}")
        try:
            for _ in range(self.rounds):
                client(self, self.local.luck)
        except Exception as error: # pylint: disable=broad-except
            self.errors.append(f"{client.__name__}: {error!r}")

    def prepare(self):
        api = self.nodes[0].api()
        for type, handler in {**HANDLERS, "called": {"lang": "http",
                                                     "body": self.hook.url}}.items():
            answer = api.request("PUT", f"/handlers/{type}", handler)
            assert answer.status == 201, answer
        answer = api.request("POST", "/tokens", {"name": "crowd", "scopes": ["admin"],
                                                 "tenant": "*"})
        assert answer.status == 201, answer
        self.secret = answer.json()["token"]
        for node in self.nodes: # each has heard of it
            wait_for(lambda: self.admits(node), message="a token that is not known")
        return self

    def admits(self, node):
        return node.tcp().request("GET", "/jobs?limit=1", headers={
            "Authorization": f"Bearer {self.secret}"}).status == 200

    def run(self):
        """All clients to their end; then every job that they added."""
        threads = [threading.Thread(target=self.guard, args=pair, daemon=True)
                   for pair in enumerate(self.CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not self.errors, "\n".join(self.errors)
        self.local.luck = random.Random(self.seed)
        api = self.nodes[-1].api()
        for id in self.ids:
            while api.job(id)["state"] not in FINAL:
                self.pulls(self.local.luck)
        api.close()

    def stop(self):
        """Each node is told to end while some listen, follow, wait and ask on."""
        self.local.luck = random.Random(self.seed)
        statuses = []
        for node in list(self.nodes):
            last = self.add(command=["sleep", "60"])
            with contextlib.ExitStack() as open_ones:
                threads = [threading.Thread(target=self.asks_on, args=(node, last), daemon=True)
                           for _ in range(3)]
                for path in ("/events?follow=1", f"/jobs/{last}/log?follow=1"):
                    connection, _ = self.connect(path)
                    open_ones.callback(connection.close)
                for thread in threads:
                    thread.start()
                statuses.append(node.stop())
                for thread in threads:
                    thread.join()
            self.nodes.remove(node)
        self.hook.close()
        return statuses

    def asks_on(self, node, id):
        """Until nobody answers any more: whatever is said then is said whole."""
        api = node.api()
        with contextlib.suppress(Exception):
            while api.request("GET", f"/jobs/{id}").status in (200, 503):
                api.request("POST", "/jobs?wait=PT10S", {"command": ["true"]})
