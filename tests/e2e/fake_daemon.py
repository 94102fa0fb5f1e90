# SPDX-License-Identifier: Apache-2.0
"""fake_daemon - a server that says what a test wants the command line to hear.

    fake.on("GET", f"/api/v1/jobs/{ID}", job("running"), job("done"))
    fake.on("POST", "/api/v1/jobs", lambda request: (201, {...}))

Answers of one path are given in turn, the last one again and again. An answer is an
object (200), a pair (status, object or bytes), DROP (the connection is closed without an
answer), CUT(bytes) (closed in the middle of one) or a function of the request that gives
one of these.
"""
import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DROP = object()


class CUT:
    def __init__(self, data):
        self.data = data


class Request:
    def __init__(self, method, target, headers, body):
        self.method, self.headers, self.body = method, headers, body
        parts = urllib.parse.urlsplit(target)
        self.path = parts.path
        self.query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))

    @property
    def json(self):
        return json.loads(self.body)


class FakeDaemon:
    def __init__(self):
        self.answers, self.requests, self.lock = {}, [], threading.Lock()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def handle_any(self):
                fake.handle(self)
            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_):
                pass # clients that leave early are what some tests are about

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def on(self, method, path, *answers):
        self.answers[method, path] = list(answers)

    def asked(self, method, path=None):
        return [request for request in self.requests
                if request.method == method and path in (None, request.path)]

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def handle(self, handler):
        size = int(handler.headers.get("Content-Length") or 0)
        request = Request(handler.command, handler.path, handler.headers,
                          handler.rfile.read(size))
        with self.lock:
            self.requests.append(request)
            answers = self.answers.get((request.method, request.path))
            answer = (404, problem("path_not_found", 404)) if answers is None else answers[0]
            if answers and len(answers) > 1:
                answers.pop(0)
        if callable(answer):
            answer = answer(request)
        self.send(handler, answer)

    @staticmethod
    def send(handler, answer):
        if answer is DROP:
            handler.close_connection = True
            return
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        cut = isinstance(body, CUT)
        data = body.data if cut else body
        if not isinstance(data, bytes):
            data = json.dumps(data).encode()
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data) + (1000 if cut else 0)))
        handler.end_headers()
        handler.wfile.write(data)
        handler.close_connection = handler.close_connection or cut


def problem(code, status, **members):
    return {"type": "about:blank", "title": "a title", "status": status, "code": code,
            "detail": f"what happened: {code}", "hint": "what to do", **members}


def job(state="done", job_id="0123456789abc", **fields):
    ended = state in ("done", "failed", "rejected", "cancelled")
    return {"id": job_id, "tenant": "default", "type": "run", "queue": "default",
            "priority": 5, "payload": "", "state": state, "reason": None, "attempt": 1,
            "created_at": "2026-03-05T13:00:00.000Z", "run_at": "2026-03-05T13:00:00.000Z",
            "started_at": "2026-03-05T13:00:00.100Z",
            "finished_at": "2026-03-05T13:00:01.600Z" if ended else None,
            "exitcode": 200 if state == "done" else None,
            "exit_status": 0 if state == "done" else None, "signal": None,
            "code": "ok" if state == "done" else None, "error": None, "result_size": 0,
            "command": ["true"], "name": None, **fields}
