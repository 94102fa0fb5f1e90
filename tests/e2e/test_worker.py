# SPDX-License-Identifier: Apache-2.0
"""`pawl worker`: a program of one's own as a pull worker, and the workers shown in the
documentation, run as they stand there."""
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"

# What the payload says is done: a program as anyone would write it.
PROGRAM = """
    import json, os, sys, time
    out = os.fdopen(int(os.environ["PAWL_REPLY_FD"]), "wb", buffering=0)
    print("log line of", os.getpid(), flush=True) # standard output means nothing
    for line in sys.stdin:
        job = json.loads(line)
        id, word = job["id"], job["payload"]
        if word == "fail":
            out.write(f"R: {id} 404 no such thing\\n".encode())
        elif word == "bytes":
            out.write(f"R: {id} 200 <<4\\n".encode() + b"\\xff\\n\\0a")
        elif word == "child":
            out.write(f"J: {id} next|of {id}\\nP: {id} 50 half\\nR: {id} 200 ok\\n".encode())
        elif word == "crash":
            os._exit(7)
        elif word == "wait":
            out.write(f"P: {id} 10 waiting\\n".encode())
            while not os.path.exists(sys.argv[1]):
                time.sleep(0.02)
            out.write(f"R: {id} 200 waited\\n".encode())
        elif word == "hang":
            time.sleep(3600)
        else:
            out.write(f"R: {id} 200 {word.upper()} {os.getpid()}\\n".encode())
"""


@pytest.fixture(scope="module")
def node():
    with Place() as place:
        yield place.daemon("--slots", "2").start()


class Work:
    def __init__(self, node, tmp_path):
        self.node, self.api = node, node.api(120)
        self.name = self.api.tenant = "t" + uuid.uuid4().hex[:10]
        self.program = tmp_path / "program.py"
        self.program.write_text(textwrap.dedent(PROGRAM))
        self.gate = tmp_path / "gate"
        self.log = tmp_path / "worker.log"
        self.started = []
        for type in ("job", "next"):
            answer = self.api.request("PUT", f"/handlers/{type}?tenant={self.name}",
                                      {"lang": "pull", "retry_delay": "PT0.1S"})
            assert answer.status == 201, answer

    def start(self, *options, command=None):
        with open(self.log, "ab") as log:
            worker = subprocess.Popen(
                [program(), "worker", "--server", f"unix:{self.node.socket()}",
                 "--tenant", self.name, *options, "--",
                 *(command or [sys.executable, str(self.program), str(self.gate)])],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.started.append(worker)
        return worker

    def add(self, payload, **fields):
        return self.api.add(type="job", tenant=self.name, payload=payload, **fields)["id"]

    def until(self, id, *states):
        try:
            return self.api.until(id, states or ("done", "failed", "rejected",
                                                 "cancelled"), seconds=120)
        except AssertionError as why:
            raise AssertionError(f"{why}\n{self.log.read_text()}") from why

    def result(self, id):
        return self.api.request("GET", f"/jobs/{id}/result").body

    def close(self):
        for worker in self.started:
            if worker.poll() is None:
                worker.send_signal(signal.SIGTERM)
                worker.send_signal(signal.SIGTERM)
                try:
                    worker.wait(120)
                except subprocess.TimeoutExpired:
                    worker.kill()
                    worker.wait()


@pytest.fixture
def work(node, tmp_path):
    made = Work(node, tmp_path)
    yield made
    made.gate.touch()
    made.close()


def test_a_program_does_the_jobs(work):
    """S1.11, S2.31: the program stays, gets one job after another, and answers each."""
    work.start("--type", "job", "--name", "tester")
    ids = [work.add(f"w{k}") for k in range(5)]
    results = [work.result(work.until(id)["id"]).split() for id in ids]
    assert [word for word, _ in results] == [b"W0", b"W1", b"W2", b"W3", b"W4"]
    assert len({pid for _, pid in results}) == 1
    failed = work.until(work.add("fail"))
    assert failed["state"] == "failed" and failed["error"] == "no such thing"
    assert work.result(work.until(work.add("bytes"))["id"]) == b"\xff\n\0a"
    parent = work.until(work.add("child"))
    child, = work.api.all(tenant=work.name, type="next")
    assert child["parent"] == parent["id"] and child["payload"] == f"of {parent['id']}"
    assert child["state"] == "ready" # not of a type that the worker takes


def test_a_program_that_crashes_is_started_again(work):
    work.start()
    id = work.add("crash", max_retries=1)
    job = work.until(id)
    assert job["state"] == "rejected" and job["attempt"] == 2
    assert "exit status 7" in job["error"]
    assert work.until(work.add("fine"))["state"] == "done"


def test_slots_are_copies_of_the_program(work):
    work.start("--slots", "2")
    waiting = work.add("wait")
    work.until(waiting, "running")
    assert work.until(work.add("other"))["state"] == "done" # by the second one
    wait_for(lambda: work.api.job(waiting)["progress"] == 10, 120)
    work.gate.touch()
    assert work.until(waiting)["state"] == "done"


def test_a_lease_is_renewed_while_the_program_works(work):
    """dt is the end of the lease: it moves while the attempt is the same."""
    work.start("--lease", "6s")
    id = work.add("wait")
    wait_for(lambda: work.api.job(id)["progress"] == 10, 120) # it has the job
    first = work.api.job(id)["dt"]
    wait_for(lambda: work.api.job(id)["dt"] > first, 120)
    work.gate.touch()
    assert work.until(id)["state"] == "done"


def test_a_cancelled_job_ends_its_program(work):
    work.start("--lease", "3s") # renewed, and so told, every second
    id = work.add("hang")
    work.until(id, "running")
    work.api.act(id, "cancel")
    assert work.until(id)["state"] == "cancelled"
    assert work.until(work.add("next one"))["state"] == "done"


def test_sigterm_lets_the_job_in_hand_finish(work):
    worker = work.start()
    id = work.add("wait")
    wait_for(lambda: work.api.job(id)["progress"] == 10, 120) # it has the job
    behind = work.add("later")
    worker.send_signal(signal.SIGTERM)
    wait_for(lambda: "finishing" in work.log.read_text(), 120)
    assert work.api.job(id)["state"] == "running"
    work.gate.touch()
    assert worker.wait(120) == 0
    assert work.api.job(id)["state"] == "done"
    assert work.api.job(behind)["state"] == "ready"


def test_a_result_outlives_a_restart_of_the_daemon(tmp_path):
    """The worker tells its result again until a daemon has heard it."""
    with Place() as place:
        node = place.daemon().start()
        work = Work(node, tmp_path)
        try:
            work.start()
            id = work.add("wait", max_retries=0)
            wait_for(lambda: work.api.job(id)["progress"] == 10, 120) # it has the job
            node.kill()
            work.gate.touch()
            node.start()
            work.api = node.api(120, work.name)
            job = work.until(id)
            assert job["state"] == "done" and job["attempt"] == 1
        finally:
            work.close()


def test_what_makes_no_sense_is_refused(work):
    def run(*words):
        return subprocess.run([program(), "worker", "--server",
                               f"unix:{work.node.socket()}", *words],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120)
    assert run().returncode == 2
    assert run("--slots", "0", "--", "true").returncode == 2
    assert run("--lease", "soon", "--", "true").returncode == 2
    bad = run("--queue", "not a name", "--", "true")
    assert bad.returncode == 1 and "invalid_name" in bad.stderr


@pytest.mark.parametrize("file, runner", [("worker.py", sys.executable),
                                          ("worker.js", shutil.which("node"))])
def test_the_workers_of_the_documentation_work(file, runner):
    """They go on after a restart of the daemon, and end when they are told to."""
    if not runner:
        pytest.skip(f"nothing here runs {file}")
    assert len((EXAMPLES / file).read_text().splitlines()) <= 36
    with Place() as place:
        node = place.daemon().start()
        api = node.api(120)
        assert api.request("PUT", "/handlers/upper", {"lang": "pull"}).status == 201
        worker = subprocess.Popen([runner, str(EXAMPLES / file), f"unix:{node.socket()}"],
                                  stdin=subprocess.DEVNULL)
        try:
            for turn in ("before", "after"):
                ids = [api.add(type="upper", payload=f"{turn} {k}")["id"] for k in range(3)]
                for k, id in enumerate(ids):
                    job = api.until(id, seconds=120)
                    assert job["state"] == "done", job
                    body = api.request("GET", f"/jobs/{id}/result").body
                    assert body == f"{turn} {k}".upper().encode()
                node.restart()
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(120) == 0
        finally:
            worker.kill()
            worker.wait()
