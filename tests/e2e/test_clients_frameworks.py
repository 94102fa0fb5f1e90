# SPDX-License-Identifier: Apache-2.0
"""Active Job, Django and Express with the clients, each with the real framework where Debian
has it; without it the test is skipped and says so."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from clients.language import ROOT, needs # noqa: E402
from lib.api import wait_for # noqa: E402
from lib.daemon import Place # noqa: E402

SECONDS = 120
HERE = ROOT / "tests/clients/frameworks"
NODE_LIBRARIES = "/usr/share/nodejs"


@pytest.fixture(scope="module")
def node():
    with Place() as place:
        yield place.daemon().start()


class World:
    def __init__(self, node, type):
        self.tenant = "t" + uuid.uuid4().hex[:10]
        self.url, self.api = f"unix:{node.socket()}", node.api(SECONDS, self.tenant)
        answer = self.api.request("PUT", f"/handlers/{type}?tenant={self.tenant}",
                                  {"lang": "pull", "retry_delay": "PT0.1S", "max_retries": 1})
        assert answer.status == 201, answer

    def result(self, id):
        assert self.api.until(id)["state"] == "done", self.api.job(id)
        return self.api.request("GET", f"/jobs/{id}/result").body.decode()


def ends(process):
    """SIGTERM lets it end by itself."""
    process.send_signal(signal.SIGTERM)
    try:
        assert process.wait(SECONDS) == 0
    finally:
        process.kill()
        process.wait()


# --- Active Job -------------------------------------------------------------------------------

def test_active_job(node, tmp_path):
    ruby, = needs("ruby")
    if subprocess.run([ruby, "-e", "require 'active_job'"], capture_output=True).returncode:
        pytest.skip("ruby has no Active Job here (scripts/install-deps test)")
    world = World(node, "active_job")
    command = [ruby, str(HERE / "active_job.rb")]
    added = subprocess.run([*command, "add", world.url, world.tenant, str(tmp_path)],
                           capture_output=True, text=True, timeout=SECONDS)
    assert added.returncode == 0, added.stderr
    letter, later, shaky, broken = json.loads(added.stdout)
    job = world.api.job(letter)
    assert (job["queue"], job["name"], job["state"]) == ("mail", "LetterJob", "ready")
    job = world.api.job(later)
    assert (job["queue"], job["priority"]) == ("slow", 9)
    worker = subprocess.Popen([*command, "work", world.url, world.tenant], stdin=subprocess.DEVNULL)
    try:
        for id in (letter, later, shaky): # the retry of Active Job is another job
            assert world.api.until(id)["state"] == "done"
        assert (tmp_path / "letter").read_text() == "dear ann 2026"
        assert (tmp_path / "later").read_text() == "dear bob 2027"
        wait_for(lambda: (tmp_path / "shaky").exists() and (tmp_path / "shaky").read_text(), SECONDS)
        assert (tmp_path / "shaky").read_text() == "execution 2"
        job = world.api.until(broken) # what the job does not catch is pawl's to try again
        assert job["state"] == "rejected" and job["attempt"] == 2 and "broken" in job["error"]
    finally:
        ends(worker)


# --- Django --------------------------------------------------------------------------------------

@pytest.fixture
def project(tmp_path):
    """Runs something of the project."""
    if subprocess.run([sys.executable, "-c", "import django"], capture_output=True).returncode:
        pytest.skip("python has no Django here (scripts/install-deps test)")

    def command(*words, url, tenant=""):
        env = {**os.environ, "TEST_URL": url, "TEST_TENANT": tenant, "PYTHONDONTWRITEBYTECODE": "1",
               "TEST_DATABASE": str(tmp_path / "db"), "DJANGO_SETTINGS_MODULE": "settings",
               "PYTHONPATH": f"{ROOT}/clients/python:{HERE}/django"}
        return {"args": [sys.executable, *words], "env": env, "cwd": HERE / "django",
                "stdin": subprocess.DEVNULL}
    return command


def test_django(node, project):
    world = World(node, "django")
    added = subprocess.run(**project("add.py", url=world.url, tenant=world.tenant),
                           capture_output=True, text=True, timeout=SECONDS)
    assert added.returncode == 0, added.stderr
    greet, far, later = json.loads(added.stdout)
    job = world.api.job(greet)
    assert (job["queue"], job["priority"], job["name"]) == ("mail", 7, "letters.tasks.greet")
    worker = subprocess.Popen(**project("-m", "django", "pawl_worker", "--concurrency", "2",
                                        url=world.url, tenant=world.tenant))
    try:
        assert world.result(greet) == "hello ann 2026-01-02 42"
        assert world.result(later) == "hello bob None 42"
        job = world.api.until(far)
        assert job["state"] == "failed" and job["error"] == f"job {far} gets no further"
        assert job["progress"] == 40
        committed = world.api.all(tenant=world.tenant, type="django", queue="mail")
        assert len(committed) == 2 # not what was rolled back
    finally:
        ends(worker)


def test_django_in_tests_of_the_application(project):
    """inline: runs a task where it is added, without a daemon."""
    added = subprocess.run(**project("add.py", "results", url="inline:"), capture_output=True,
                           text=True, timeout=SECONDS)
    assert added.returncode == 0, added.stderr
    assert json.loads(added.stdout) == ["hello ann 2026-01-02 42", None, "hello bob None 42"]


# --- Express ---------------------------------------------------------------------------------------

def ask(url, body=None, **headers):
    request = urllib.request.Request(url, body and json.dumps(body).encode(),
                                     {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as why:
        return why.code, json.load(why)


def test_express(node, tmp_path):
    """The example as it stands, with the worker beside it."""
    js, = needs("node")
    if not pathlib.Path(NODE_LIBRARIES, "express").exists():
        pytest.skip("there is no Express here (scripts/install-deps test)")
    api = node.api()
    assert api.request("PUT", "/handlers/upper", {"lang": "pull"}).status == 201
    for name, target in (("pawl", ROOT / "clients/node"), ("express", f"{NODE_LIBRARIES}/express")):
        (tmp_path / "node_modules").mkdir(exist_ok=True)
        (tmp_path / "node_modules" / name).symlink_to(target)
    example = tmp_path / "express.mjs"
    example.write_text((ROOT / "docs/examples/express.mjs").read_text())
    url = f"unix:{node.socket()}"
    app = subprocess.Popen([js, str(example), "0", url], stdin=subprocess.DEVNULL, text=True,
                           stdout=subprocess.PIPE, env={**os.environ, "NODE_PATH": NODE_LIBRARIES})
    worker = subprocess.Popen([js, str(ROOT / "docs/examples/worker.js"), url],
                              stdin=subprocess.DEVNULL)
    try:
        web = app.stdout.readline().strip()
        status, told = ask(f"{web}/upper", {"text": "a word"}, **{"Idempotency-Key": "form-1"})
        assert status == 202
        assert ask(f"{web}/upper", {"text": "a word"}, **{"Idempotency-Key": "form-1"}) == (202, told)
        wait_for(lambda: ask(f"{web}/upper/{told['id']}")[1]["state"] == "done", SECONDS)
        assert ask(f"{web}/upper/{told['id']}")[1]["result"] == "A WORD"
        status, told = ask(f"{web}/upper/0000000000000")
        assert (status, told["code"]) == (404, "job_not_found")
    finally:
        ends(worker)
        ends(app)
        app.stdout.close()
