# SPDX-License-Identifier: Apache-2.0
"""conftest - a real daemon for end-to-end tests, and what they all need.

    def test_something(daemon):
        answer = daemon.http("POST", "/api/v1/jobs", {"command": ["true"]})
        assert answer.status == 201
        job = daemon.until_final(answer.json["id"])
        assert job["state"] == "done"

`daemon` is one that runs; `make_daemon(*options)` makes more, or others; `place` is an
empty directory with a short name, because socket paths must be short; `server` is a
PostgreSQL server for all tests of a file. Everything that a test started is ended with it:
daemon, launcher, jobs, private daemons.

Environment: PAWL_TEST_STORE=postgresql, see lib.daemon; PAWL_BIN, the program (default: the build of scripts/test, else ./pawl).
"""
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from lib.cluster import Server            # noqa: E402
from lib.daemon import store_options      # noqa: E402

SECONDS = 120 # for everything that should happen soon: sanitizers on a busy machine


def program():
    named = os.environ.get("PAWL_BIN")
    for path in (named, ROOT / "build/asan/src/pawl", ROOT / "pawl"):
        if path and os.access(path, os.X_OK):
            return str(path)
    pytest.fail("no pawl to test: set PAWL_BIN")


def until(condition, what, seconds=SECONDS):
    """Polls until condition() is true; returns what it gave."""
    deadline = time.monotonic() + seconds
    pause = 0.002
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


class Answer:
    """What an HTTP request gave."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def lines(self):
        return [json.loads(line) for line in self.body.splitlines() if line]

    def __repr__(self):
        return f"<{self.status} {self.body[:400]!r}>"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def clean_env(home):
    """The caller's environment without pawl's variables, at home in the test's place."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("PAWL_", "XDG_")) and name not in ("NO_COLOR", "COLUMNS")}
    return {**env, "HOME": str(home), "LC_ALL": "C.UTF-8", "TZ": "UTC"}


class Daemon:
    """One data directory and the daemon on it, started as often as a test likes."""

    def __init__(self, home, options=()):
        self.home = pathlib.Path(home)
        self.data = self.home / "d"
        self.log = self.home / "daemon.log"
        self.options = [str(option) for option in options]
        self.env = clean_env(home)
        self.store = None # of PAWL_TEST_STORE
        self.process = None

    # --- life ---

    def start(self, *options, wait=True):
        assert self.process is None
        self.data.mkdir(exist_ok=True)
        (self.data / "listen").unlink(missing_ok=True)
        command = [program(), "serve", "--data", str(self.data),
                   "--listen", "127.0.0.1:0", *self.options, *map(str, options)]
        command += store_options(self, command)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.home,
                env=self.env, start_new_session=True)
        if wait:
            self.until_ready()
        return self

    def until_ready(self, seconds=SECONDS):
        def ready():
            assert self.process.poll() is None, (
                f"the daemon ended with {self.process.returncode}:\n{self.log_text()}")
            try:
                return self.http("GET", "/readyz").status == 200
            except OSError:
                return False
        until(ready, "the daemon is ready", seconds)

    def kill9(self):
        """The daemon alone: its launcher and jobs go on."""
        self.process.kill()
        self.process.wait(SECONDS)
        self.process = None

    def stop(self, seconds=SECONDS):
        """SIGTERM; returns the exit status."""
        self.process.terminate()
        status = self.process.wait(seconds)
        self.process = None
        return status

    def restart(self, *options, hard=True):
        self.kill9() if hard else self.stop()
        return self.start(*options)

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait(SECONDS)
            self.process = None
        end_processes_of(self.home)

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    @property
    def pid(self):
        return self.process.pid

    # --- asking ---

    @property
    def address(self):
        """127.0.0.1:PORT as really bound."""
        return until(lambda: read_text(self.data / "listen"), "the file `listen`").strip()

    @property
    def url(self):
        return f"http://{self.address}"

    @property
    def socket(self):
        return str(self.data / "pawl.sock")

    def http(self, method, path, body=None, headers=None, over="tcp", timeout=SECONDS):
        """One request. A body that is no text or bytes is sent as JSON."""
        headers = dict(headers or {})
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        if isinstance(body, str):
            body = body.encode()
        if over == "unix":
            connection = UnixConnection(self.socket, timeout)
        else:
            address = read_text(self.data / "listen")
            if not address:
                raise ConnectionRefusedError("no file `listen` yet")
            host, port = address.strip().rsplit(":", 1)
            connection = http.client.HTTPConnection(host, int(port), timeout=timeout)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def add(self, *command, **fields):
        """Adds a command (or, with type=, another job); returns its id."""
        job = {"command": list(command), **fields} if command else fields
        if command:
            job.setdefault("max_retries", 0)
        answer = self.http("POST", "/api/v1/jobs", job)
        assert answer.status == 201, answer
        return answer.json["id"]

    def job(self, job_id):
        answer = self.http("GET", f"/api/v1/jobs/{job_id}")
        assert answer.status == 200, answer
        return answer.json

    def jobs(self, query="", **parameters):
        parameters = {"q": query, "limit": 1000, **parameters}
        answer = self.http("GET", "/api/v1/jobs?" + urllib.parse.urlencode(parameters))
        assert answer.status == 200, answer
        return answer.json["items"]

    def until_state(self, job_id, *states, seconds=SECONDS):
        seen = {}

        def reached():
            seen.update(self.job(job_id))
            return seen["state"] in states
        until(reached, f"job {job_id} is {' or '.join(states)}", seconds)
        return seen

    def until_final(self, job_id, seconds=SECONDS):
        return self.until_state(job_id, "done", "failed", "rejected", "cancelled",
                                seconds=seconds)

    def output(self, job_id, stream="stdout"):
        answer = self.http("GET", f"/api/v1/jobs/{job_id}/log?stream={stream}")
        assert answer.status == 200, answer
        return answer.body

    # --- the command line ---

    def cli(self, *words, **options):
        """`pawl WORDS` against this daemon; see run_cli."""
        return run_cli(words, home=self.home, server=f"unix:{self.socket}", **options)


def run_cli(words, home, server=None, env=None, stdin=None, timeout=SECONDS, cwd=None):
    """Runs the command line; stdout and stderr are bytes, `code` is the exit code."""
    environment = {**clean_env(home), **(env or {})}
    if server:
        environment.setdefault("PAWL_SERVER", server)
    done = subprocess.run(
        [program(), *map(str, words)], capture_output=True, timeout=timeout,
        cwd=cwd or home, env=environment,
        **({"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}))
    done.code = done.returncode
    done.text = done.stdout.decode(errors="replace")
    done.errors = done.stderr.decode(errors="replace")
    return done


def read_text(path):
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def alive(pid):
    """Running, and not a zombie that nobody has waited for."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def end_processes_of(home):
    """Ends whatever has the test's own directory in its command line or environment.

    Directories of tests are made by mkdtemp, so nobody else has the name. The pid of the
    launcher is also in its file.
    """
    needle = os.fsencode(str(home))
    mine = {os.getpid(), os.getppid()}
    for _ in range(50):
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) in mine:
                continue
            try:
                facts = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            if needle in facts and alive(entry.name):
                found.append(int(entry.name))
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)


@pytest.fixture
def place():
    home = pathlib.Path(tempfile.mkdtemp(prefix="pw-", dir="/tmp"))
    yield home
    end_processes_of(home)
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def make_daemon(place):
    daemons = []

    def make(*options, start=True):
        home = place / str(len(daemons))
        home.mkdir()
        made = Daemon(home, options)
        daemons.append(made)
        return made.start() if start else made
    yield make
    for made in daemons:
        made.close()


@pytest.fixture
def daemon(make_daemon):
    return make_daemon()


@pytest.fixture(scope="module")
def server():
    """lib.cluster.Server: each test makes a database of its own there."""
    made = Server()
    try:
        yield made.start()
    finally:
        made.remove()
