# SPDX-License-Identifier: Apache-2.0
"""door - an HTTP address in front of a daemon, at which answers get lost or are others."""
import http.server
import threading
import time

from lib.api import Api

COPIED = ("Content-Type", "Idempotency-Key", "Authorization")


class Door:
    """`todo` has what becomes of the next requests that are POSTs to /api/v1/jobs, in order:
    "lose" lets the daemon do it and hangs up, "last" answers and hangs up then, without
    saying so before; (status, headers, body) is answered instead;
    None, or nothing left, is the daemon's own answer. `seen` has (when, key) of each.
    `others` and `asked` are the same for further paths, such as /claims/finish."""

    def __init__(self, socket):
        self.todo, self.seen = [], []
        self.others, self.asked = {}, {}
        door = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_): # pylint: disable=arguments-differ
                pass

            def do_POST(self): # pylint: disable=invalid-name
                self.serve("POST")

            def do_GET(self): # pylint: disable=invalid-name
                self.serve("GET")

            def serve(self, method):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                path = self.path.split("?")[0].replace("/api/v1", "", 1)
                rules = door.others.get(path, [])
                if method == "POST" and path == "/jobs":
                    door.seen.append((time.monotonic(), self.headers["Idempotency-Key"]))
                    rules = door.todo
                door.asked.setdefault(path, []).append(time.monotonic())
                todo = rules.pop(0) if rules else None
                if isinstance(todo, tuple):
                    status, headers, data = todo
                else:
                    headers = {name: self.headers[name] for name in COPIED
                               if self.headers[name]}
                    api = Api(socket)
                    answer = api.request(method, self.path, body or None, headers)
                    api.close()
                    status, headers, data = answer.status, {}, answer.body
                if todo == "lose":
                    self.close_connection = True
                    return
                self.close_connection = todo == "last"
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_): # pylint: disable=arguments-differ
                pass # who asked has gone away

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
