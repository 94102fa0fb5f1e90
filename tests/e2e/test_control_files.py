# SPDX-License-Identifier: Apache-2.0
"""Control files (founding document 000): <batch-job> documents through API and command
line, what their modules see, and what becomes of what they return."""
import http.server
import json
import pathlib
import subprocess
import sys
import threading
import uuid
import xml.etree.ElementTree

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402

SECONDS = 120
SPACE = 'xmlns="urn://batch-master"'


def document(**fields):
    """A <batch-job> with these elements; `_` in names stands for `-`."""
    body = "".join(f"<{name.replace('_', '-')}>{value}</{name.replace('_', '-')}>"
                   for name, value in fields.items())
    return f"<batch-job {SPACE}>{body}</batch-job>"


class Batch:
    """A daemon with a modules root of its own."""

    def __init__(self, place):
        self.modules = place.path / "modules"
        self.modules.mkdir()
        self.node = place.daemon("--set", "http.allow_private=127.0.0.0/8", "--slots", "4", "--set",
                                 f"daemon.modules_root={self.modules}").start()
        self.api = self.node.api()

    def module(self, text, name=None, mode=0o755):
        path = self.modules / (name or uuid.uuid4().hex)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(mode)
        return path.name

    def post(self, text, status=201, query=""):
        answer = self.api.request("POST", "/jobs" + query,
                                  text.encode(errors="surrogateescape"),
                                  {"Content-Type": "application/xml"})
        assert answer.status == status, answer
        return answer.json()["job"] if status == 201 else answer.json()

    def run(self, text):
        return self.api.until(self.post(text)["id"], seconds=SECONDS)

    def result(self, job):
        answer = self.api.request("GET", f"/jobs/{job['id']}/result")
        return answer.body.decode() if answer.status == 200 else None

    def children(self, job):
        return self.api.get(f"/jobs?parent={job['id']}")["items"]


@pytest.fixture(scope="module")
def batch():
    with Place() as place:
        yield Batch(place)


FOUNDING = """<?xml version="1.0" encoding="UTF-8"?>
<batch-job xmlns="urn://batch-master">
    <name>Test Job 1</name>
    <priority>100</priority>
    <max-run-time>PT20M</max-run-time>
    <created>2010-08-23T14:02:53.031209+01:00</created>
    <module>%s</module>
    <context-database>{xdmp:database()}</context-database>
    <modules-db>0</modules-db>
    <modules-root>%s</modules-root>
    <document-uri>/mydocs/foo.xml</document-uri>
    <param>
        <batch-size>25</batch-size>
    </param>
</batch-job>
"""


def test_the_founding_document_runs(batch):
    """S0.28, S0.29, S0.37, S0.39, S0.40, S0.41, S0.42, S0.43, S0.45, S0.46, S0.47, S0.48,
    S0.49, S0.50, S0.51, S0.52, S0.53, S0.54, S0.56, S0.57, S0.58, S0.59: every field of
    the founding example reaches job and module, with or without a leading slash."""
    module = batch.module('cat "$1" > "$0.seen"; env > "$0.env"; ls -l "$1" > "$0.mode"\n'
                          'test "$1" = "$PAWL_JOB_FILE" || exit 9\n')
    text = FOUNDING % ("/" + module, batch.modules)
    job = batch.run(text)
    assert job["state"] == "done", job
    assert job["name"] == "Test Job 1"
    assert job["priority"] == 100
    assert job["max_run_time"] == "PT20M"
    assert job["created_at"] == "2010-08-23T13:02:53.031Z"
    assert job["document_uri"] == "/mydocs/foo.xml"
    assert "<batch-size>25</batch-size>" in job["param"]
    assert job["payload"] == text
    assert job["max_retries"] == 0
    assert (batch.modules / (module + ".seen")).read_text() == text
    assert (batch.modules / (module + ".mode")).read_text().startswith("-r--------")
    env = dict(line.split("=", 1) for line in
               (batch.modules / (module + ".env")).read_text().splitlines() if "=" in line)
    assert env["BATCH_DOCUMENT_URI"] == "/mydocs/foo.xml"
    assert env["BATCH_CONTEXT_DATABASE"] == "{xdmp:database()}"
    assert env["BATCH_MODULES_DB"] == "0"
    assert env["BATCH_MODULES_ROOT"] == str(batch.modules)
    assert env["BATCH_PARAM_BATCH_SIZE"] == "25"
    assert env["BATCH_REQUEST_ID"] == job["id"] + ".1"


def test_the_request_id_is_recorded_while_it_runs(batch):
    """S0.27, S0.31, S0.65, S0.67, S0.68: a running job says which run it is, since when,
    and where; the run's own id is what the module was given."""
    module = batch.module('echo "$BATCH_REQUEST_ID" > "$0.id"; while [ ! -e "$0.go" ]; do '
                          'sleep 0.05; done\n')
    job = batch.post(document(module=module))
    assert job["state"] in ("ready", "running") # accepted, not waited for
    wait_for(lambda: (batch.modules / (module + ".id")).exists(), SECONDS)
    job = batch.api.until(job["id"], "running", SECONDS)
    assert job["attempt"] == 1 and job["started_at"] and job["lock"] and job["node"]
    assert job["last_heartbeat_at"] >= job["started_at"]
    [run] = batch.api.get(f"/jobs/{job['id']}/attempts")["items"]
    assert run["id"] == job["id"] + ".1" and run["state"] == "running"
    assert job["id"] in [one["id"] for one in batch.api.all(state="running")]
    assert job["id"] not in [one["id"] for one in batch.api.all(state="ready")]
    (batch.modules / (module + ".go")).touch()
    batch.api.until(job["id"], "done", SECONDS)
    assert (batch.modules / (module + ".id")).read_text().strip() == job["id"] + ".1"


def test_nothing_returned_is_done(batch):
    """S0.34: () ends the job, and the file with its document is deleted."""
    module = batch.module('ls "$1" > "$0.file"\n')
    job = batch.run(document(module=module))
    assert job["state"] == "done"
    assert not batch.children(job)
    file = (batch.modules / (module + ".file")).read_text().strip()
    assert file.startswith("/")
    wait_for(lambda: not pathlib.Path(file).exists(), SECONDS)


def test_a_returned_document_is_a_new_job(batch):
    """S0.32: a <batch-job> on standard output is submitted, with this job as parent."""
    last = batch.module("true\n")
    returned = document(name="second", priority=7, module=last)
    first = batch.module(f"cat <<'END'\n{returned}\nEND\n")
    job = batch.run(document(name="first", module=first))
    assert job["state"] == "done"
    [child] = wait_for(lambda: batch.children(job), SECONDS)
    assert child["name"] == "second" and child["priority"] == 7
    assert child["id"] != job["id"]
    assert batch.api.until(child["id"], seconds=SECONDS)["state"] == "done"


def test_the_same_name_and_module_is_still_a_new_job(batch):
    """S0.32: only the very document means the same job."""
    module = batch.module('[ "$BATCH_PARAM_N" = 2 ] || '
                          'sed "s/<n>1</<n>2</" "$1"\n')
    job = batch.run(document(name="n", module=module, param="<n>1</n>"))
    assert job["state"] == "done" and job["attempt"] == 1
    [child] = wait_for(lambda: batch.children(job), SECONDS)
    child = batch.api.until(child["id"], seconds=SECONDS)
    assert child["state"] == "done" and "<n>2</n>" in child["param"]


def test_its_own_document_returned_runs_it_again(batch):
    """S0.33: the same id, another run, nothing charged."""
    module = batch.module('echo x >> "$0.runs"\n'
                          '[ $(wc -l < "$0.runs") -ge 3 ] || cat "$1"\n')
    job = batch.run(document(module=module))
    assert job["state"] == "done"
    assert job["attempt"] == 3 and job["retry_number"] == 0
    assert not batch.children(job)
    assert len(batch.api.get(f"/jobs/{job['id']}/attempts")["items"]) == 3


def test_rerun_asks_for_another_run_of_the_same_job(batch):
    """S0.33: <rerun/> in a document of the same name and module; of another name it is a
    new job."""
    module = batch.module('echo x >> "$0.$BATCH_NAME"\n'
                          '[ $(wc -l < "$0.$BATCH_NAME") -ge 2 ] || sed '
                          '"s|</batch-job>|<rerun/></batch-job>|; s|>$BATCH_PARAM_FROM<|'
                          '>$BATCH_PARAM_TO<|" "$1"\n')
    text = document(name="same", module=module, param="<from>-</from><to>-</to>")
    job = batch.run(text)
    assert job["state"] == "done" and job["attempt"] == 2 and job["payload"] == text
    assert not batch.children(job)
    job = batch.run(document(name="one", module=module,
                             param="<from>one</from><to>two</to>"))
    assert job["state"] == "done" and job["attempt"] == 1
    [child] = wait_for(lambda: batch.children(job), SECONDS)
    assert child["name"] == "two"
    batch.api.until(child["id"], seconds=SECONDS)


def test_anything_else_is_logged_and_kept(batch):
    """S0.35: in the daemon's log (the first 4 KiB) and as the job's result."""
    word = uuid.uuid4().hex
    job = batch.run(document(module=batch.module(f'echo "{word} <b>&"\n')))
    assert job["state"] == "done"
    assert batch.result(job) == f"{word} <b>&\n"
    wait_for(lambda: word in batch.node.log(), SECONDS)
    assert f"event=job.returned job={job['id']}" in batch.node.log()


def test_an_exception_ends_it_without_a_second_try(batch):
    """S0.36: exit other than 0; 000 knows no retries: it is logged, and the file with its
    document deleted."""
    module = batch.module('ls "$1" > "$0.file"; echo broken >&2; exit 3\n')
    job = batch.run(document(module=module))
    assert job["state"] == "rejected"
    assert job["exit_status"] == 3 and job["attempt"] == 1
    assert batch.api.log(job["id"], stream="stderr") == b"broken\n"
    file = pathlib.Path((batch.modules / (module + ".file")).read_text().strip())
    wait_for(lambda: not file.exists(), SECONDS)
    ended = f"event=job.finished job={job['id']}"
    wait_for(lambda: ended in batch.node.log(), SECONDS)
    [line] = [line for line in batch.node.log().splitlines() if ended in line]
    assert "state=rejected code=error" in line, line


def test_a_bad_document_returned_is_a_failure(batch):
    """A <batch-job> was meant, so it must not be lost as mere output."""
    module = batch.module(f"echo '<batch-job {SPACE}><modul>x</modul></batch-job>'\n")
    job = batch.run(document(module=module))
    assert job["state"] == "failed"
    assert "line 1, column 39" in job["error"] and "<module>" in job["error"]


def test_a_type_stands_for_a_module(batch):
    """S0.23: module type:NAME runs the handler of that name, with the document."""
    answer = batch.api.request("PUT", "/handlers/double", {
        "lang": "sh", "body": 'grep -o "<n>.*</n>" "$PAWL_JOB_FILE"; echo "R: 200 '
                              '$BATCH_PARAM_N"'})
    assert answer.status in (200, 201), answer
    job = batch.run(document(module="type:double", param="<n>21</n>"))
    assert job["state"] == "done" and job["type"] == "double"
    assert batch.result(job) == "21"
    assert b"<n>21</n>" in batch.api.log(job["id"])


def test_a_worker_returns_a_document_like_any_module(batch):
    """S0.23, S0.32, S0.33: type:NAME of a pull handler; itself, then the next one."""
    assert batch.api.request("PUT", "/handlers/far", {"lang": "pull"}).status in (200, 201)
    job = batch.post(document(module="type:far", name="far"))

    def work(result):
        claim = {"types": ["far"], "wait": "PT20S", "lease": "PT60S"}
        taken = wait_for(lambda: batch.api.request("POST", "/claims", claim).body, SECONDS)
        [claimed] = json.loads(taken)["jobs"]
        answer = batch.api.request("POST", "/claims/finish", {"items": [{
            "id": claimed["id"], "attempt": claimed["attempt"], "token": claimed["token"],
            "exitcode": 200, "result": result(claimed)}]})
        assert answer.json()["items"][0]["status"] == "ok", answer
        return claimed
    first = work(lambda claimed: claimed["payload"])
    second = work(lambda claimed: document(module=batch.module("true\n"), name="near"))
    assert first["id"] == second["id"] == job["id"] and second["attempt"] == 2
    assert batch.api.until(job["id"], seconds=SECONDS)["state"] == "done"
    [child] = wait_for(lambda: batch.children(job), SECONDS)
    assert child["name"] == "near"
    assert batch.api.until(child["id"], seconds=SECONDS)["state"] == "done"


def test_a_module_cannot_be_outside_its_root(batch):
    """Neither by .. nor by a link."""
    (batch.modules / "out").symlink_to("/bin/true")
    (batch.modules / "up").symlink_to("/")
    for module in ("../x", "a/../../x", "out", "up/bin/true", "/", ""):
        problem = batch.post(document(module=module), status=422)
        assert problem["code"] == "invalid_control", module
        assert "line 1, column" in problem["detail"], problem
    # One that becomes a link later does not run either.
    name = batch.module("true\n")
    held = batch.api.request("PATCH", "/config", {"enabled": False})
    assert held.status == 200
    try:
        job = batch.post(document(module=name))
        (batch.modules / name).unlink()
        (batch.modules / name).symlink_to("/bin/true")
    finally:
        assert batch.api.request("PATCH", "/config", {"enabled": True}).status == 200
    job = batch.api.until(job["id"], seconds=SECONDS)
    assert job["state"] == "rejected" and "modules-root" in job["error"]


def test_a_module_that_is_not_there_is_told(batch):
    job = batch.run(document(module="missing.sh"))
    assert job["state"] == "rejected"
    assert "missing.sh" in job["error"] and "No such file" in job["error"]


@pytest.mark.parametrize("text, status, place, words", [
    ("", 400, "line 1", "no element"),
    ("<batch-job", 400, "line 1", "unclosed"),
    (f"<batch-job {SPACE}>\n<module>m</module>\n<colour>red</colour></batch-job>", 422,
     "line 3, column 1", "colour"),
    (f"<batch-job {SPACE}><module>m</module><module>m</module></batch-job>", 422,
     "line 1", "twice"),
    ("<batch-job><module>m</module></batch-job>", 422, "line 1, column 1",
     "urn://batch-master"),
    (f"<batch-config {SPACE}/>", 422, "line 1", "no <batch-job"),
    ('<!DOCTYPE lolz [<!ENTITY l "lol"><!ENTITY m "&l;&l;&l;&l;&l;&l;&l;&l;">]>\n'
     f"<batch-job {SPACE}><module>&m;</module></batch-job>", 400, "line 1", "DTD"),
    (f'<!DOCTYPE b SYSTEM "file:///etc/passwd"><batch-job {SPACE}/>', 400, "line 1",
     "DTD"),
    (f"<batch-job {SPACE}><module>m</module><param>" + "<d>" * 5000 + "</d>" * 5000
     + "</param></batch-job>", 400, "line 1", "deeper"),
    (f"<batch-job {SPACE}><module>m</module><param>" + "<d/>" * 5000
     + "</param></batch-job>", 400, "line 1", "more than"),
    (f"<batch-job {SPACE}><module>m</module><param>" + "x" * (1 << 20)
     + "</param></batch-job>", 400, "line 1", "limit"),
    (f"<batch-job {SPACE}><module>m</module><priority>1e3</priority></batch-job>", 422,
     "line 1", "whole number"),
    (f"<batch-job {SPACE}>\n<module>m</module><priority level='9'>5</priority></batch-job>",
     422, "line 2, column 19", 'no attribute "level"'),
    (f"<batch-job {SPACE}><name>caf\u00e9</name><name>\udce9</name></batch-job>", 400,
     "line 1, column 62", "0xe9 is not UTF-8"),
    ("<\0b\0/\0>\0", 400, "line 1", "UTF-16"),
    (f"<batch-job {SPACE}><module>m</mod", 400, "line 1", "ends before"),
], ids=lambda value: None if isinstance(value, int) else value[:24] or "empty")
def test_bad_documents_are_refused_with_their_place(batch, text, status, place, words):
    """S0.45: bombs, unknown, repeated and misplaced elements; nothing is added."""
    before = len(batch.api.get("/jobs?limit=1000")["items"])
    problem = batch.post(text, status=status)
    assert place in problem["detail"] and words in problem["detail"], problem
    assert len(batch.api.get("/jobs?limit=1000")["items"]) == before


def test_larger_priorities_and_older_documents_go_first(batch):
    """S0.3, S0.6, S0.7, S0.47, S0.49, S0.66: priority, then created."""
    order = batch.modules / "order"
    module = batch.module(f'echo "$BATCH_NAME" >> {order}\n')
    assert batch.api.request("PATCH", "/config", {"enabled": False}).status == 200
    ids = []
    for name, priority, created in (("late", 1, "2011-01-01T00:00:00Z"),
                                    ("early", 1, "2010-01-01T00:00:00Z"),
                                    ("urgent", 100, "2012-01-01T00:00:00Z"),
                                    ("plain", 5, "2012-01-01T00:00:00Z")):
        ids.append(batch.post(document(name=name, priority=priority, created=created,
                                       module=module))["id"])
    answer = batch.api.request("PATCH", "/config",
                               {"enabled": True, "max_concurrent_jobs": 1})
    assert answer.status == 200
    try:
        for id in ids:
            assert batch.api.until(id, seconds=SECONDS)["state"] == "done"
    finally:
        batch.api.request("PATCH", "/config", {"max_concurrent_jobs": 4})
    assert order.read_text().split() == ["urgent", "plain", "early", "late"]


def test_max_run_time_ends_a_module(batch):
    """S0.48"""
    job = batch.run(document(module=batch.module("sleep 600\n"), max_run_time="PT0.2S"))
    assert job["state"] == "rejected" and job["exitcode"] == 504


def test_the_command_line_adds_a_control_file(batch, tmp_path):
    """S0.60, S0.72: pawl add --control FILE; a bad one is refused with its line."""
    def pawl(*words):
        return subprocess.run([program(), "--server", f"unix:{batch.node.socket()}", *words],
                              capture_output=True, text=True, timeout=SECONDS, check=False)
    file = tmp_path / "job.xml"
    file.write_text(document(name="by hand", module=batch.module("true\n")))
    done = pawl("add", "--control", str(file))
    assert done.returncode == 0, done.stderr
    job = batch.api.until(done.stdout.strip(), seconds=SECONDS)
    assert job["name"] == "by hand" and job["state"] == "done"
    file.write_text(document(module="x", nmae="y"))
    done = pawl("add", "--control", str(file))
    assert done.returncode == 2 and "line 1" in done.stderr and "<name>" in done.stderr


def test_a_repeated_request_adds_one_job(batch):
    text = document(module=batch.module("true\n")).encode()
    headers = {"Content-Type": "text/xml; charset=utf-8",
               "Idempotency-Key": uuid.uuid4().hex}
    first, second = (batch.api.request("POST", "/jobs", text, headers) for _ in range(2))
    assert first.status == second.status == 201
    assert first.json()["id"] == second.json()["id"]


def test_an_answer_can_wait_for_the_end(batch):
    answer = batch.api.request("POST", "/jobs?wait=PT60S",
                               document(module=batch.module("echo hi\n")).encode(),
                               {"Content-Type": "application/xml"})
    assert answer.status == 200 and answer.json()["result"] == "hi\n", answer


def test_a_document_that_waits_survives_a_crash(batch):
    """S0.69, S0.70: what was accepted runs once, and with its document, after kill -9; and
    again if it returns that."""
    module = batch.module('cat "$1" > "$0.seen"; echo x >> "$0.runs"; '
                          '[ $(wc -l < "$0.runs") -ge 2 ] || cat "$1"\n')
    text = document(name="after a crash", module=module, param="<a>1</a>")
    assert batch.api.request("PATCH", "/config", {"enabled": False}).status == 200
    job = batch.post(text)
    batch.node.restart()
    batch.api = batch.node.api()
    assert batch.api.request("PATCH", "/config", {"enabled": True}).status == 200
    job = batch.api.until(job["id"], seconds=SECONDS)
    assert job["state"] == "done" and job["attempt"] == 2
    assert (batch.modules / (module + ".seen")).read_text() == text
    assert (batch.modules / (module + ".runs")).read_text() == "x\nx\n"


class Hook(http.server.BaseHTTPRequestHandler):
    """A webhook that is not there the first time."""

    def do_POST(self): # noqa: N802
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append((self.path, body))
        self.send_response(503 if len(self.server.posts) == 1 else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_those_who_want_to_know_are_told(batch):
    """S0.44: by webhook, tried again, and by command; each of its own event only."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    server.posts = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    told = batch.modules / "told"
    url = f"http://127.0.0.1:{server.server_port}/ended?x=1"
    notify = (f'<notify event="error" to="command:cat &gt;&gt; {told}"/>'
              f"<notify><event>end</event><to>webhook:{url}</to></notify>"
              f'<notify event="done" to="command:cat &gt;&gt; {told}.wrong"/>')
    try:
        text = document(module=batch.module("exit 65\n"), name="bell")
        job = batch.run(text.replace("</batch-job>", notify + "</batch-job>"))
        assert job["state"] == "failed"
        wait_for(lambda: len(server.posts) >= 2, SECONDS)
        wait_for(lambda: told.exists() and told.read_bytes().endswith(b"\n"), SECONDS)
        wait_for(lambda: not batch.api.get("/notices")["items"], SECONDS)
    finally:
        server.shutdown()
        server.server_close()
    for body in (told.read_bytes(), server.posts[1][1]):
        note = json.loads(body)
        assert note["job"]["id"] == job["id"] and note["job"]["state"] == "failed"
    assert json.loads(told.read_bytes())["event"] == "error"
    assert server.posts[1][0] == "/ended?x=1"
    assert not pathlib.Path(f"{told}.wrong").exists()
    bad = document(module="x", notify="<event>done</event><to>mail:ann</to>")
    assert "webhook" in batch.post(bad, status=422)["detail"]


def test_an_end_that_came_while_the_daemon_was_away_is_told(batch):
    """S0.44: written with the end: neither a crash before it nor one behind it loses it."""
    told = batch.modules / "told-late"
    gate = batch.modules / "gate-late"
    with Place() as place:
        node = place.daemon("--set", f"daemon.modules_root={batch.modules}",
                            data=place.path / "late").start()
        text = document(module=batch.module(f"while [ ! -e {gate} ]; do sleep 0.02; done\n"))
        notify = f'<notify event="done" to="command:cat &gt;&gt; {told}"/>'
        answer = node.api().request("POST", "/jobs",
                                    text.replace("</batch-job>", notify + "</batch-job>").encode(),
                                    {"Content-Type": "application/xml"})
        assert answer.status == 201, answer
        id = answer.json()["id"]
        node.api().until(id, "running", SECONDS)
        node.kill()
        gate.touch()
        node.start()
        assert node.api().until(id, seconds=SECONDS)["state"] == "done"
        node.kill() # right behind the end
        node.start()
        wait_for(lambda: told.exists() and told.read_bytes().endswith(b"\n"), SECONDS)
        wait_for(lambda: not node.api().get("/notices")["items"], SECONDS)
        assert {json.loads(line)["job"]["id"] for line in told.read_text().splitlines()} == {id}
        node.stop()


CONFIG = f"""<batch-config {SPACE}>
    <enabled>true</enabled>
    <max-concurrent-jobs>3</max-concurrent-jobs>
    <job-stale-interval>T30M</job-stale-interval>
    <controller-stale-interval>T2M</controller-stale-interval>
    <error-handler-job>trouble</error-handler-job>
</batch-config>
"""


def test_settings_are_given_and_taken_as_batch_config(batch, tmp_path):
    """S0.14, S0.15, S0.16, S0.17, S0.18, S0.19, S0.74: over HTTP and by the command line."""
    as_xml = {"Content-Type": "application/xml", "Accept": "application/xml"}

    def pawl(*words):
        return subprocess.run([program(), "--server", f"unix:{batch.node.socket()}",
                               "config", *words],
                              capture_output=True, text=True, timeout=SECONDS, check=False)
    before = pawl("export").stdout
    try:
        answer = batch.api.request("PATCH", "/config", CONFIG.encode(), as_xml)
        assert answer.status == 200, answer
        assert answer.headers["Content-Type"].startswith("application/xml")
        settings = batch.api.get("/config")
        assert settings["max_concurrent_jobs"] == 3 and settings["enabled"] is True
        assert settings["job_stale_interval"] == "PT30M"
        assert settings["controller_stale_interval"] == "PT2M"
        assert settings["error_handler_job"] == "trouble"
        assert settings["keep_done"] == "PT336H" # of no batch-config: left alone
        shown = batch.api.request("GET", "/config", headers={"Accept": "text/xml"})
        for part in ("<enabled>true<", "<max-concurrent-jobs>3<",
                     "<job-stale-interval>PT30M<", "<controller-stale-interval>PT2M<",
                     "<error-handler-job>trouble<", 'xmlns="urn://batch-master"'):
            assert part in shown.body.decode(), shown
        file = tmp_path / "config.xml"
        file.write_text(f"<batch-config {SPACE}><max-concurrent-jobs>5</max-concurrent-jobs>"
                        "</batch-config>")
        assert pawl("import", str(file)).returncode == 0
        assert batch.api.get("/config")["max_concurrent_jobs"] == 5
        assert batch.api.get("/config")["error_handler_job"] == "trouble"
        for bad in (CONFIG.replace("3<", "three<"), CONFIG.replace("T30M", "soon"),
                    CONFIG.replace("enabled", "able"), CONFIG[:-20], "{}"):
            answer = batch.api.request("PATCH", "/config", bad.encode(), as_xml)
            assert answer.status in (400, 422), answer
        assert batch.api.get("/config")["max_concurrent_jobs"] == 5 # all or nothing
    finally:
        (tmp_path / "before.xml").write_text(before)
        assert pawl("import", str(tmp_path / "before.xml")).returncode == 0
    assert pawl("export").stdout == before
    assert pawl("import").returncode == 2


def test_the_controller_lock_is_shown_as_a_document(batch):
    """S0.24, S0.25, S0.26: version and timestamp, the same as in the JSON form."""
    lock = wait_for(lambda: (found := batch.api.get("/controller"))["timestamp"] and found,
                    SECONDS)
    answer = batch.api.request("GET", "/controller", headers={"Accept": "application/xml"})
    assert answer.status == 200, answer
    assert answer.headers["Content-Type"].startswith("application/xml")
    root = xml.etree.ElementTree.fromstring(answer.body)
    space = "{urn://batch-master}"
    assert root.tag == space + "batch-controller-lock"
    assert [child.tag for child in root] == [space + "version", space + "timestamp"]
    assert int(root[0].text) >= lock["version"]
    assert root[1].text >= lock["timestamp"] # it is renewed all the time
