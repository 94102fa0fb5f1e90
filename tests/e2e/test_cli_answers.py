# SPDX-License-Identifier: Apache-2.0
"""What the command line makes of the daemon's answers, also of rare ones: lost
connections, refusals, jobs that could not be started. The answers are a test's own."""
import base64
import json
import os
import pty
import signal
import subprocess
import threading

import pytest

from conftest import clean_env, program, run_cli, until
from fake_daemon import CUT, DROP, FakeDaemon, job, problem

ID = "0123456789abc"
OTHER = "0123456789abd"
JOB = f"/api/v1/jobs/{ID}"


@pytest.fixture
def fake():
    server = FakeDaemon()
    yield server
    server.close()


@pytest.fixture
def cli(fake, place):
    return lambda *words, **options: run_cli(words, place, server=fake.url, **options)


def accept(fake, **fields):
    fake.on("POST", "/api/v1/jobs", (201, {"id": ID, "job": job("ready", **fields)}))


def log_of(stdout=b"", stderr=b""):
    return lambda request: (200, {"stdout": stdout, "stderr": stderr}[request.query["stream"]])


# --- run ---

def test_run_prints_the_id_alone(fake, cli, place):
    accept(fake)
    done = cli("run", "--", "echo", "a b", "")
    assert (done.code, done.text, done.errors) == (0, ID + "\n", "")
    sent = fake.asked("POST")[0]
    assert sent.json == {"command": ["echo", "a b", ""], "cwd": str(place), "max_retries": 0}
    assert len(sent.headers["Idempotency-Key"]) == 32


def test_run_sends_its_options(fake, cli, place):
    accept(fake)
    (place / "in").write_bytes(b"a\0\xffb\n")
    done = cli("run", "-q", "mail", "-p", "9", "--in", "90s", "--retries", "2", "--name", "n",
               "--tag", "x", "--env", "A=1", "--resource", "cpu=2", "--cwd", "/", "--held",
               "--stdin", "in", "--max-run-time", "1h", "--after", f"{OTHER}:any", "ls", "-l")
    assert done.code == 0, done.errors
    assert fake.asked("POST")[0].json == {
        "command": ["ls", "-l"], "cwd": "/", "queue": "mail", "priority": 9, "delay": "PT1M30S",
        "max_retries": 2, "name": "n", "tags": ["x"], "env": {"A": "1"}, "held": True,
        "resources": {"cpu": 2}, "max_run_time": "PT1H",
        "after": [{"id": OTHER, "on": "any"}],
        "payload_base64": base64.b64encode(b"a\0\xffb\n").decode()}


def test_a_lost_answer_is_asked_for_again_with_the_same_key(fake, cli):
    fake.on("POST", "/api/v1/jobs", DROP, (201, {"id": ID, "job": job("ready")}))
    done = cli("run", "--", "true")
    assert (done.code, done.text) == (0, ID + "\n")
    keys = {request.headers["Idempotency-Key"] for request in fake.asked("POST")}
    assert len(fake.asked("POST")) == 2 and len(keys) == 1


def test_a_lost_answer_to_many_lines_is_asked_for_again_with_the_same_key(fake, cli, tmp_path):
    (tmp_path / "lines").write_text('{"type":"x"}\n')
    answer = json.dumps({"line": 1, "id": ID}) + "\n" + json.dumps({"summary": {"added": 1}}) + "\n"
    fake.on("POST", "/api/v1/jobs", DROP, (200, answer.encode()))
    done = cli("add", "--ndjson", str(tmp_path / "lines"))
    assert (done.code, done.text) == (0, ID + "\n")
    keys = {request.headers["Idempotency-Key"] for request in fake.asked("POST")}
    assert len(fake.asked("POST")) == 2 and len(keys) == 1


def test_a_node_that_knows_no_keys_is_asked_without(fake, cli):
    """Once: then an answer that is lost is not asked for again, for nobody could tell."""
    away = (503, {"code": "store_unavailable", "title": "The store cannot be reached"})
    fake.on("POST", "/api/v1/jobs", away, DROP)
    assert cli("run", "--", "true").code != 0
    assert ["Idempotency-Key" in request.headers for request in fake.asked("POST")] == [True, False]


def test_run_wait_copies_both_streams_and_ends_like_the_command(fake, cli):
    accept(fake)
    out, err = os.urandom(100_000), os.urandom(3_000)
    fake.on("GET", JOB, job("ready", attempt=0), job("running"),
            job("rejected", exitcode=500, exit_status=3))
    fake.on("GET", JOB + "/log", log_of(out, err))
    done = cli("run", "--wait", "--", "x")
    assert (done.code, done.stdout, done.stderr) == (3, out, err)
    assert {request.query["stream"]: request.query for request in fake.asked("GET", JOB + "/log")
            } == {name: {"stream": name, "attempt": "1", "follow": "1"}
                  for name in ("stdout", "stderr")}


@pytest.mark.parametrize("fields, code", [
    (dict(exitcode=200, exit_status=0, state="done"), 0),
    (dict(exitcode=501, exit_status=None, signal=9), 137),
    (dict(exitcode=503, exit_status=None, error="cannot start: x: ENOENT (no such file)"), 127),
    (dict(exitcode=503, exit_status=None, error="cannot start: x: EACCES (denied)"), 126),
    (dict(exitcode=503, exit_status=None, error="cannot start: no such directory"), 125),
    (dict(exitcode=None, exit_status=None, state="cancelled", attempt=0), 125),
])
def test_run_wait_exit_codes(fake, cli, fields, code):
    accept(fake)
    fake.on("GET", JOB, job(**{"state": "rejected", **fields}))
    fake.on("GET", JOB + "/log", log_of())
    done = cli("run", "--wait", "--", "x")
    assert done.code == code
    if fields.get("error"):
        assert fields["error"] in done.errors


def test_run_wait_goes_through_all_attempts(fake, cli):
    accept(fake)
    outputs = {"1": b"first\n", "2": b"second\n"}
    fake.on("GET", JOB, job("running"), job("retrying"), job("retrying"),
            job("running", attempt=2), job("done", attempt=2))
    fake.on("GET", JOB + "/log", lambda request: (
        200, outputs[request.query["attempt"]] if request.query["stream"] == "stdout" else b""))
    done = cli("run", "--wait", "--", "x")
    assert (done.code, done.text) == (0, "first\nsecond\n")


def test_run_wait_survives_a_restart_and_prints_every_byte_once(fake, cli):
    """The connection breaks in the middle of the output, the daemon is away for a while,
    and the stream that is read again ends before the job does."""
    accept(fake)
    whole = b"".join(b"line %d\n" % number for number in range(2000))
    turns = iter([CUT(whole[:5000]), whole[:9000], whole])
    fake.on("GET", JOB, job("running"), DROP, (503, problem("starting", 503)),
            job("running"), job("done"))
    fake.on("GET", JOB + "/log", lambda request: (
        200, next(turns) if request.query["stream"] == "stdout" else b""))
    done = cli("run", "--wait", "--", "x")
    assert done.code == 0
    assert done.stdout == whole


def test_run_wait_json_prints_the_job(fake, cli):
    accept(fake)
    fake.on("GET", JOB, job("running"), job("rejected", exitcode=500, exit_status=7))
    done = cli("run", "--json", "--wait", "--", "x")
    assert done.code == 7
    assert json.loads(done.text)["state"] == "rejected"


@pytest.mark.parametrize("wait, code", [((), 6), (("--wait",), 125)])
def test_run_without_a_daemon_of_that_name(place, wait, code):
    done = run_cli(["run", *wait, "--server", f"unix:{place}/none", "--", "true"], place)
    assert done.code == code
    assert "[daemon_unreachable]" in done.errors and done.text == ""


def test_ctrl_c_detaches_and_says_how_to_come_back(fake, cli, place):
    accept(fake)
    released = threading.Event()
    fake.on("GET", JOB, job("running"))
    fake.on("GET", JOB + "/log", lambda _: released.wait(120) and (200, b""))
    process = subprocess.Popen(
        [program(), "run", "--wait", "--", "sleep", "9"], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**clean_env(place), "PAWL_SERVER": fake.url})
    until(lambda: fake.asked("GET", JOB + "/log"), "the output is followed")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    released.set()
    assert process.returncode == 130
    assert f"pawl logs -f {ID}".encode() in errors
    assert not fake.asked("POST", JOB + "/cancel")


def test_a_word_that_is_no_text_is_refused(fake, cli):
    accept(fake)
    done = cli("run", "--", "echo", b"\xff\xfe".decode("latin-1"))
    assert done.code == 0 # those are letters
    done = run_cli(["run", "--", "echo", os.fsdecode(b"\xff")], "/tmp", server=fake.url)
    assert done.code == 2 and "[invalid_utf8]" in done.errors


# --- refusals ---

@pytest.mark.parametrize("status, code", [
    (400, 2), (401, 4), (403, 4), (404, 3), (409, 5), (421, 4), (422, 2), (500, 1), (503, 1)])
def test_refusals_have_their_exit_code(fake, cli, status, code):
    fake.on("GET", "/api/v1/jobs", (status, problem("some_code", status)))
    done = cli("ls")
    assert done.code == code
    lines = done.errors.splitlines()
    assert lines[0] == "pawl: what happened: some_code [some_code]"
    assert lines[1] == "  what to do"
    assert len(lines) <= 4 and done.text == ""


def test_a_refusal_under_json_is_the_problem_itself(fake, cli):
    told = problem("invalid_state", 409, allowed=["ready", "held"])
    fake.on("POST", JOB + "/hold", (409, told))
    done = cli("hold", ID, "--json")
    assert done.code == 5
    assert json.loads(done.errors) == told
    done = cli("hold", ID)
    assert "  allowed: ready, held" in done.errors.splitlines()


def test_own_failures_under_json_are_problems_too(place):
    done = run_cli(["ls", "--json", "--server", f"unix:{place}/none"], place)
    assert done.code == 6 and done.text == ""
    assert json.loads(done.errors)["code"] == "daemon_unreachable"
    done = run_cli(["ls", "--json", "--limit", "x"], place)
    assert done.code == 2 and json.loads(done.errors)["code"] == "usage"


def test_something_else_than_a_daemon(fake, cli):
    fake.on("GET", "/api/v1/jobs", (200, b"<html>"))
    done = cli("ls")
    assert done.code == 1 and "[bad_answer]" in done.errors
    fake.on("GET", "/api/v1/jobs", (502, b"<html>"))
    done = cli("ls")
    assert done.code == 1 and "HTTP 502" in done.errors


def test_text_of_others_cannot_steer_the_terminal(fake, cli):
    fake.on("GET", "/api/v1/jobs", {"items": [job(name="\x1b[2Jx\ny", error="\u202e")],
                                    "next_cursor": None})
    done = cli("ls")
    assert "\x1b" not in done.text and "\u202e" not in done.text
    assert "\\x1b[2Jx\\ny" in done.text and len(done.text.splitlines()) == 2


# --- tokens, tenants ---

def test_the_token_comes_from_the_environment_or_a_file(fake, cli, place):
    fake.on("GET", "/api/v1/jobs", {"items": [], "next_cursor": None})
    cli("ls")
    cli("ls", env={"PAWL_TOKEN": "secret1"})
    (place / "token").write_text("secret2\n")
    cli("ls", "--token-file", "token", env={"PAWL_TOKEN": "secret1"})
    cli("--tenant", "a b", "ls")
    asked = fake.asked("GET")
    assert [request.headers.get("Authorization") for request in asked] == [
        None, "Bearer secret1", "Bearer secret2", None]
    assert asked[3].query["tenant"] == "a b"


# --- ids ---

def test_an_id_may_be_shortened_or_last(fake, cli):
    fake.on("GET", JOB, job())
    fake.on("GET", JOB + "/attempts", {"items": [], "next_cursor": None})
    fake.on("GET", "/api/v1/jobs", {"items": [job()], "next_cursor": None})
    for word in (ID, ID.upper(), "last", ID[:6]):
        done = cli("show", word)
        assert done.code == 0 and ID in done.text, done.errors
    queries = [request.query for request in fake.asked("GET", "/api/v1/jobs")]
    assert queries == [{"limit": "1"}, {"q": f"id:{ID[:6]}", "limit": "2"}]


def test_wrong_ids(fake, cli):
    for word in ("short", "not-an-id!", ID + "0", "uuuuuuu"):
        done = cli("show", word)
        assert done.code == 2 and "[bad_id]" in done.errors
    fake.on("GET", "/api/v1/jobs", {"items": [job(), job(job_id=OTHER)], "next_cursor": None})
    done = cli("show", ID[:8])
    assert done.code == 2 and "[ambiguous_id]" in done.errors and OTHER in done.errors
    fake.on("GET", "/api/v1/jobs", {"items": [], "next_cursor": None})
    assert cli("show", ID[:8]).code == 3
    assert cli("show", "last").code == 3


# --- lists and bulk ---

def pages(fake, count, size=200):
    """Serves `count` jobs in pages, as the daemon does."""
    def answer(request):
        start = int(request.query.get("cursor", 0))
        limit = min(int(request.query["limit"]), size)
        items = [job("ready", job_id=f"{number:013d}") for number in range(start, count)[:limit]]
        end = start + len(items)
        return {"items": items, "next_cursor": str(end) if end < count else None}
    fake.on("GET", "/api/v1/jobs", answer)


def test_ls_pages(fake, cli):
    pages(fake, 450)
    assert len(cli("ls").text.splitlines()) == 51
    done = cli("ls", "--all")
    assert len(done.text.splitlines()) == 451 and done.errors == ""
    done = cli("ls", "--limit", "230", "--json", "state:ready", "tag:x")
    listed = json.loads(done.text)
    assert len(listed["items"]) == 230 and listed["next_cursor"] == "230"
    assert fake.asked("GET")[-1].query["q"] == "state:ready tag:x"


def test_ls_goes_on_after_empty_partial_pages(fake, cli):
    fake.on("GET", "/api/v1/jobs",
            {"items": [], "next_cursor": "1", "partial": True},
            {"items": [], "next_cursor": "2", "partial": True},
            {"items": [job()], "next_cursor": None})
    assert ID in cli("ls", "payload:x").text


def test_ls_of_nothing(fake, cli):
    pages(fake, 0)
    done = cli("ls")
    assert (done.code, done.text, done.errors) == (0, "", "pawl: no jobs\n")
    assert json.loads(cli("ls", "--json").text) == {"items": [], "next_cursor": None}


def answer_actions(fake, count, action="cancel", state="cancelled"):
    for number in range(count):
        fake.on("POST", f"/api/v1/jobs/{number:013d}/{action}",
                job(state, job_id=f"{number:013d}"))


def operations(fake, count, *looks):
    """Serves one operation: a dry run tells the count, then `looks` come one by one."""
    def told(**fields):
        return {"id": OTHER, "action": "cancel", "q": "state:ready", "state": "running",
                "dry_run": False, "count": count, "count_more": False, "acted": 0,
                "refused": 0, "progress": 0, **fields}

    def begin(request):
        dry = request.json.get("dry_run", False)
        return 202, told(action=request.json["action"], dry_run=dry,
                         state="done" if dry else "running")
    fake.on("POST", "/api/v1/operations", begin)
    fake.on("GET", f"/api/v1/operations/{OTHER}", *(told(**look) for look in looks))


def test_match_without_yes_does_nothing(fake, cli):
    pages(fake, 3)
    operations(fake, 3)
    done = cli("cancel", "--match", "state:ready")
    assert done.code == 2 and "[not_confirmed]" in done.errors and "3 jobs" in done.errors
    assert [asked.json["dry_run"] for asked in fake.asked("POST")] == [True]
    done = cli("cancel", "--match", "state:ready", "--dry-run")
    assert done.code == 0 and len(done.text.splitlines()) == 3
    assert json.loads(cli("cancel", "--match", "x", "--dry-run", "--json").text)["would"]
    assert len(fake.asked("POST")) == 1


def test_match_is_an_operation_of_the_daemon(fake, cli):
    """S0.75: one request, whatever matches; it is followed to its end."""
    operations(fake, 250, {}, {"acted": 100}, {"acted": 250, "state": "done"})
    done = cli("cancel", "--match", "state:ready", "--yes")
    assert done.code == 0 and len(fake.asked("POST")) == 1
    assert fake.asked("POST")[0].json == {"action": "cancel", "q": "state:ready"}
    assert done.errors.endswith(f"pawl: cancel: 250 of 250 jobs at {fake.url}\n")
    operations(fake, 3, {"acted": 2, "refused": 1, "state": "done"})
    done = cli("hold", "--match", "state:ready", "--yes")
    assert done.code == 5 and "2 of 3 jobs" in done.errors
    told = json.loads(cli("hold", "--match", "x", "--yes", "--json").text)
    assert (told["acted"], told["refused"]) == (2, 1)
    operations(fake, 3, {"acted": 1, "state": "stopped"})
    done = cli("hold", "--match", "state:ready", "--yes")
    assert done.code == 1 and "[operation_ended]" in done.errors
    operations(fake, 0, {"state": "done"})
    done = cli("hold", "--match", "state:ready", "--yes")
    assert done.code == 0 and done.errors == "pawl: no job matches\n"
    operations(fake, 1, {"acted": 1, "state": "done"})
    done = cli("set", "--match", "state:ready", "--yes", "--priority", "7", "--tag", "a")
    assert done.code == 0
    assert fake.asked("POST")[-1].json == {"action": "set", "q": "state:ready", "priority": 7,
                                           "tags": ["a"]}


def test_following_an_operation_outlives_a_restart_of_the_daemon(fake, cli):
    operations(fake, 2)
    fake.on("GET", f"/api/v1/operations/{OTHER}", DROP, (503, problem("starting", 503)),
            {"id": OTHER, "action": "kill", "state": "done", "acted": 2, "refused": 0})
    done = cli("kill", "--match", "state:running", "--yes")
    assert done.code == 0 and done.errors.endswith(f"kill: 2 of 2 jobs at {fake.url}\n")


def test_one_refusal_does_not_stop_the_others(fake, cli):
    answer_actions(fake, 3)
    fake.on("POST", "/api/v1/jobs/0000000000001/cancel", (409, problem("invalid_state", 409)))
    done = cli("cancel", *(f"{number:013d}" for number in range(3)))
    assert done.code == 5 and len(fake.asked("POST")) == 3
    assert "cancel: 2 of 3 jobs" in done.errors
    done = cli("cancel", "--json", *(f"{number:013d}" for number in range(3)))
    assert [item["id"] for item in json.loads(done.text)["items"]] == [
        "0000000000000", "0000000000002"]


@pytest.mark.parametrize("verb", [
    "cancel", "hold", "release", "pause", "resume", "halt", "retry", "kill"])
def test_every_action_has_its_path(fake, cli, verb):
    fake.on("POST", f"{JOB}/{verb}", job("ready"))
    done = cli(verb, ID)
    assert (done.code, done.text) == (0, f"{verb}  {ID}  ready\n"), done.errors


def test_rm(fake, cli):
    fake.on("DELETE", JOB, (204, b""))
    done = cli("rm", ID)
    assert (done.code, done.text) == (0, f"rm  {ID}  removed\n")


def test_set(fake, cli):
    fake.on("PATCH", JOB, job("ready"))
    done = cli("set", ID, "--priority", "9", "--queue", "q", "--at", "2030-01-31T08:00:00Z",
               "--tag", "a")
    assert done.code == 0
    assert "Thu 31 Jan 2030 08:00:00 UTC (2030-01-31T08:00:00.000Z)" in done.errors
    assert fake.asked("PATCH")[0].json == {
        "priority": 9, "queue": "q", "run_at": "2030-01-31T08:00:00.000Z", "tags": ["a"]}
    assert cli("set", ID).code == 2


# --- wait ---

def test_wait_tells_the_worst(fake, cli):
    fake.on("GET", JOB, job("running"), job("done"))
    fake.on("GET", f"/api/v1/jobs/{OTHER}", job("cancelled", job_id=OTHER, exit_status=None))
    done = cli("wait", ID)
    assert (done.code, done.text) == (0, f"{ID}  done  exit 0\n")
    done = cli("wait", ID, OTHER)
    assert done.code == 11 and f"{OTHER}  cancelled\n" in done.text
    fake.on("GET", JOB, job("rejected", exit_status=1))
    done = cli("wait", ID, OTHER, "--json")
    assert done.code == 10
    assert {item["id"] for item in json.loads(done.text)["items"]} == {ID, OTHER}


def test_wait_times_out(fake, cli):
    fake.on("GET", JOB, job("running"))
    done = cli("wait", ID, "--timeout", "50ms")
    assert done.code == 124 and "[timeout]" in done.errors


def test_wait_for_a_job_that_is_gone(fake, cli):
    fake.on("GET", JOB, job("running"), (404, problem("job_not_found", 404)))
    assert cli("wait", ID).code == 3


def test_wait_shows_plain_progress_without_a_terminal(fake, cli):
    for number in range(20):
        fake.on("GET", f"/api/v1/jobs/{number:013d}", job("done", job_id=f"{number:013d}"))
    done = cli("wait", *(f"{number:013d}" for number in range(20)))
    assert done.code == 0 and "progress 20/20 done=20" in done.errors


# --- on a terminal ---

def on_terminal(words, env):
    """Runs with a terminal for all three descriptors; returns exit code and bytes."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(program(), ["pawl", *words], {**env, "TERM": "xterm"})
    shown = b""
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown


def test_a_terminal_gets_words_colours_and_a_bar(fake, place):
    env = {**clean_env(place), "PAWL_SERVER": fake.url}
    accept(fake, name="backup")
    code, shown = on_terminal(["run", "--", "true"], env)
    assert code == 0 and b"queued" in shown and b"backup" in shown
    assert f"next:   pawl logs -f {ID}".encode() in shown
    fake.on("GET", "/api/v1/jobs", {"items": [job("failed")], "next_cursor": None})
    assert b"\x1b[31mfailed" in on_terminal(["ls"], env)[1]
    assert b"\x1b" not in on_terminal(["ls"], {**env, "NO_COLOR": "1"})[1]
    fake.on("GET", JOB, job("running"), job("done"))
    fake.on("GET", f"/api/v1/jobs/{OTHER}", job("running", job_id=OTHER),
            job("done", job_id=OTHER))
    code, shown = on_terminal(["wait", ID, OTHER], env)
    assert code == 0 and "0/2".encode() in shown and "▒".encode() in shown


def test_a_terminal_is_asked_before_a_bulk_action(fake, place):
    operations(fake, 2, {"acted": 2, "state": "done"})
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(program(), ["pawl", "cancel", "--match", "state:ready"],
                  {**clean_env(place), "PAWL_SERVER": fake.url, "TERM": "xterm"})
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(fd, 4096)
    assert f"cancel 2 jobs at {fake.url}?".encode() in shown and len(fake.asked("POST")) == 1
    os.write(fd, b"y\n")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(fd)
    assert "dry_run" not in fake.asked("POST")[1].json


# --- add ---

@pytest.mark.parametrize("word, stdin, fields", [
    ("hello", None, {"payload": "hello"}),
    ("-", b"line\n", {"payload": "line"}),
    ("@f", None, {"payload": "from a file"}),
    ("-", b"\xff\n", {"payload_base64": "/wo="}),
])
def test_add_takes_payloads_from_anywhere(fake, cli, place, word, stdin, fields):
    accept(fake)
    (place / "f").write_text("from a file\n")
    done = cli("add", "mail.send", word, "-q", "mail", stdin=stdin)
    assert (done.code, done.text) == (0, ID + "\n")
    assert fake.asked("POST")[0].json == {"type": "mail.send", "queue": "mail", **fields}


def answer_lines(request):
    lines = request.body.splitlines()
    answers = []
    for number, line in enumerate(lines, 1):
        try:
            json.loads(line)
            answers.append({"line": number, "id": f"{len(answers):013d}"})
        except ValueError:
            answers.append({"line": number, "error": problem("malformed_json", 400)})
    bad = sum("error" in answer for answer in answers)
    answers.append({"summary": {"accepted": len(lines) - bad, "rejected": bad,
                                "durable": True}})
    return 200, b"".join(json.dumps(answer).encode() + b"\n" for answer in answers)


def test_add_lines(fake, cli):
    fake.on("POST", "/api/v1/jobs", answer_lines)
    lines = b'{"payload":"a"}\n{"type":"own","priority":1}\n"text"\n'
    done = cli("add", "mail", "--ndjson", "-", "-p", "7", stdin=lines)
    assert done.code == 0 and len(done.text.splitlines()) == 3, done.errors
    sent = fake.asked("POST")[0]
    assert sent.headers["Content-Type"] == "application/x-ndjson"
    assert [json.loads(line) for line in sent.body.splitlines()] == [
        {"payload": "a", "type": "mail", "priority": 7}, {"type": "own", "priority": 1},
        {"payload": "text", "type": "mail", "priority": 7}]


def test_add_lines_as_they_are(fake, cli):
    fake.on("POST", "/api/v1/jobs", answer_lines)
    lines = b'{"type":"a",  "payload":1e400}\nnonsense\n{"type":"b"}'
    done = cli("add", "--ndjson", "-", stdin=lines)
    assert done.code == 1
    assert fake.asked("POST")[0].body == lines + b"\n"
    assert "line 2: what happened: malformed_json" in done.errors
    assert "2 jobs added, 1 line refused" in done.errors
    done = cli("add", "--ndjson", "-", "--json", stdin=lines)
    told = [json.loads(line) for line in done.text.splitlines()]
    assert [line.get("line") for line in told] == [1, 2, 3, None]
    assert told[3] == {"summary": {"accepted": 2, "rejected": 1}}


def test_a_large_file_is_sent_in_parts(fake, cli, place):
    fake.on("POST", "/api/v1/jobs", answer_lines)
    line = json.dumps({"type": "a", "payload": "x" * 300}).encode() + b"\n"
    (place / "big").write_bytes(line * 30_000)
    done = cli("add", "--ndjson", "big")
    assert done.code == 0 and len(done.text.splitlines()) == 30_000
    sent = fake.asked("POST")
    assert len(sent) > 1 and b"".join(part.body for part in sent) == line * 30_000


@pytest.mark.parametrize("final, code, text", [
    (job("done", result_size=5), 0, "bytes"),
    (job("failed", error="no such address"), 10, ""),
    (job("cancelled"), 11, ""),
])
def test_add_wait_prints_the_result(fake, cli, final, code, text):
    accept(fake)
    fake.on("GET", JOB, job("running"), final)
    fake.on("GET", JOB + "/result", (200, b"bytes"))
    done = cli("add", "mail", "x", "--wait")
    assert (done.code, done.text) == (code, text)
    assert code == 0 or f"job {ID} {final['state']}" in done.errors


def test_a_control_file_goes_as_it_is(fake, cli, place):
    accept(fake)
    (place / "job.xml").write_text("<batch-job/>")
    assert cli("add", "--control", "job.xml").text == ID + "\n"
    sent = fake.asked("POST")[0]
    assert sent.headers["Content-Type"] == "application/xml" and sent.body == b"<batch-job/>"
    assert cli("add", "mail", "--control", "job.xml").code == 2


# --- logs ---

def test_logs_are_raw(fake, cli):
    out, err = b"\x1b[31m\xff\0out", b"err\n"
    fake.on("GET", JOB, job())
    fake.on("GET", JOB + "/log", log_of(out, err))
    done = cli("logs", ID)
    assert (done.code, done.stdout, done.stderr) == (0, out, err)
    done = cli("logs", ID, "--stderr")
    assert (done.stdout, done.stderr) == (err, b"")
    done = cli("logs", ID, "--stdout", "--attempt", "2")
    assert (done.stdout, done.stderr) == (out, b"")
    assert fake.asked("GET", JOB + "/log")[-1].query == {"stream": "stdout", "attempt": "2"}
    told = json.loads(cli("logs", ID, "--json").text)
    assert base64.b64decode(told["stdout_base64"]) == out and told["stderr"] == "err\n"


def test_logs_of_a_job_that_has_not_started(fake, cli):
    fake.on("GET", JOB, job("ready", attempt=0))
    done = cli("logs", ID)
    assert done.code == 0 and done.stdout == b"" and "has not started" in done.errors


# --- config ---

def test_config_get_and_set(fake, cli):
    fake.on("GET", "/api/v1/config", {"enabled": True, "job_stale_interval": "PT30S"})
    fake.on("PATCH", "/api/v1/config", {"enabled": False})
    assert cli("config", "get", "job-stale-interval").text == "30s\n"
    assert cli("config", "get", "job_stale_interval", "--json").text == '"PT30S"\n'
    assert "enabled" in cli("config", "get").text
    assert cli("config", "get", "nothing").code == 3
    assert cli("config", "set", "enabled=false", "max-concurrent-jobs=8",
               "job_stale_interval=1m").code == 0
    assert fake.asked("PATCH")[0].json == {
        "enabled": False, "max_concurrent_jobs": 8, "job_stale_interval": "1m"}
    assert cli("config", "set", "nonsense").code == 2
    assert cli("config", "frobnicate").code == 2


# --- words about itself ---

def test_version_and_help_need_no_daemon(place):
    done = run_cli(["version"], place)
    assert done.code == 0 and done.text.startswith("pawl ")
    assert json.loads(run_cli(["version", "--json"], place).text)["version"]
    assert run_cli(["--version"], place).text.startswith("pawl ")
    done = run_cli([], place)
    assert done.code == 2 and done.text == "" and "usage" in done.errors
    for words in (["help"], ["--help"], ["help", "run"], ["run", "--help"], ["help", "times"],
                  ["serve", "--help"]):
        done = run_cli(words, place)
        assert done.code == 0 and done.text and done.errors == ""
    assert run_cli(["run", "--help"], place).text.startswith("  pawl run ")
    assert run_cli(["frobnicate"], place).code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_parse(place, shell):
    done = run_cli(["completion", shell], place)
    assert done.code == 0 and "pawl" in done.text
    script = place / "script"
    script.write_text(done.text)
    which = subprocess.run(["sh", "-c", f"command -v {shell}"], capture_output=True)
    if which.returncode:
        pytest.skip(f"there is no {shell} here")
    subprocess.run([shell, "-n", str(script)], check=True)


def test_bash_completes(fake, place):
    script = place / "script"
    script.write_text(run_cli(["completion", "bash"], place).text)
    fake.on("GET", "/api/v1/jobs", {"items": [job()], "next_cursor": None})

    def complete(*words):
        line = f"""PATH={os.path.dirname(program())}:$PATH; source {script}
            COMP_WORDS=({' '.join(f"'{word}'" for word in words)}); COMP_CWORD={len(words) - 1}
            _pawl; printf '%s\\n' "${{COMPREPLY[@]}}" """
        return subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, check=True, timeout=120,
            env={**clean_env(place), "PAWL_SERVER": fake.url}).stdout.split()
    assert complete("pawl", "ca") == ["cancel"]
    assert "--queue" in complete("pawl", "run", "--q")
    assert complete("pawl", "cancel", ID[:4]) == [ID]
    assert complete("pawl", "completion", "z") == ["zsh"]


def test_every_command_has_a_man_page(place):
    names = run_cli(["__man", "list"], place).text.split()
    assert "run" in names and "__man" not in names
    for words in (["__man"], *(["__man", name] for name in names)):
        page = run_cli(words, place)
        assert page.code == 0 and page.text.startswith(".TH PAWL")
        if os.path.exists("/usr/bin/groff"):
            checked = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8"],
                                     input=page.stdout, capture_output=True)
            assert checked.stderr == b""


# --- status ---

def statistics(queues):
    jobs = {state: sum(queue.get(state, 0) for _, queue in queues)
            for state in ("ready", "running", "failed", "rejected", "blocked")}
    return {"jobs": jobs, "queues": [{"tenant": "default", "queue": name, "jobs": queue}
                                     for name, queue in queues]}


def tell_status(fake, queues, *nodes):
    fake.on("GET", "/readyz", (200, b"ready\n"))
    fake.on("GET", "/api/v1/stats", statistics(queues))
    fake.on("GET", "/api/v1/nodes", {"items": [
        {"sysid": f"n{at}", "version": "1", "slots": 4, "enabled": True, **node}
        for at, node in enumerate(nodes)], "next_cursor": None})


def test_status_counts_the_slots_of_all_nodes(fake, cli):
    tell_status(fake, [("default", {"running": 7})], {}, {"slots": 8})
    assert "running 7/12" in cli("status").text


def test_status_tells_why_nothing_starts(fake, cli):
    tell_status(fake, [], {"draining": True}, {})
    assert "! node n0 is drained    pawl node resume n0\n" in cli("status").text
    tell_status(fake, [], {"enabled": False})
    assert "! no job is started    pawl config set enabled=true\n" in cli("status").text


def test_status_shows_the_busiest_of_many_queues(fake, cli):
    idle = [(f"idle{at}", {"done": 9}) for at in range(20)]
    tell_status(fake, [*idle, ("odd", {"rejected": 1}), ("zoo", {"ready": 5})], {})
    shown = [line.split()[0] for line in cli("status").text.splitlines() if line]
    assert shown[-9:] == ["zoo", "odd", *(f"idle{at}" for at in range(6)), "..."]
    assert "... and 14 more: pawl queue ls\n" in cli("status").text


# --- map ---

def group_of(fake, name, **counts):
    fake.on("POST", "/api/v1/jobs", (200, b'{"summary":{"accepted":2}}\n'))
    fake.on("GET", f"/api/v1/groups/{name}",
            {"group": name, "total": 2, "counts": counts, "final": "running" not in counts})


def test_map_says_where_its_failures_are(fake, cli):
    group = "g" * 120
    group_of(fake, group, done=1, rejected=1)
    done = cli("map", "--group", group, "--", "test", ":::", "a", "b")
    assert done.code == 10
    assert f"1 of 2 failed; see them: pawl ls group:{group} state:failed,rejected" in done.errors


def test_a_map_that_is_left_has_not_succeeded(fake, place):
    group_of(fake, "g", running=2)
    process = subprocess.Popen([program(), "map", "--group", "g", "--", "test", ":::", "a", "b"],
                               env={**clean_env(place), "PAWL_SERVER": fake.url},
                               stderr=subprocess.PIPE, text=True)
    until(lambda: len(fake.asked("GET", "/api/v1/groups/g")) > 1, "it looks")
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and "pawl ls group:g" in errors


# --- small words ---

def test_what_would_be_silent_is_told(fake, cli):
    fake.on("GET", "/api/v1/jobs", {"items": [], "next_cursor": None})
    done = cli("wait", "--match", "tag:none")
    assert (done.code, done.text) == (0, "") and "no job matches" in done.errors
    done = cli("run", "--on-conflict", "ignore", "--", "true")
    assert done.code == 2 and "--on-conflict needs --unique" in done.errors


def test_why_there_is_no_connection(fake, cli, place):
    nobody = cli("--server", f"unix:{place}/none.sock", "ls")
    assert nobody.code == 6 and f"unix:{place}/none.sock: nothing listens there" in nobody.errors
    plain = cli("--server", fake.url.replace("http://", "https://"), "ls")
    assert plain.code == 6 and "[daemon_unreachable]" in plain.errors
    assert "does not speak TLS" in plain.errors
