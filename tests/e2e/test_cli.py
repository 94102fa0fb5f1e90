# SPDX-License-Identifier: Apache-2.0
"""Every command of the command line against a real daemon."""
import json
import os
import pty
import signal
import subprocess

import pytest

from conftest import clean_env, program, run_cli


@pytest.fixture
def cli(daemon):
    return daemon.cli


def run_id(cli, *words):
    done = cli("run", *words)
    assert done.code == 0, done.errors
    return done.text.strip()


def run_wait(cli, *words, **options):
    return cli("run", "--wait", "--", *words, **options)


# --- run ---

def test_exit_codes_of_commands(cli, place):
    for number in (0, 1, 2, 64, 75, 125, 255):
        assert run_wait(cli, "sh", "-c", f"exit {number}").code == number
    for number in (2, 9, 15):
        assert run_wait(cli, "sh", "-c", f"kill -{number} $$").code == 128 + number
    done = run_wait(cli, "/nonexistent/command")
    assert done.code == 127 and "cannot start" in done.errors
    done = run_wait(cli, "no-such-command-anywhere")
    assert done.code == 127
    plain = place / "plain"
    plain.write_text("no program")
    done = run_wait(cli, str(plain))
    assert done.code == 126 and "cannot start" in done.errors


def test_output_is_copied_byte_for_byte(cli, place):
    blob = os.urandom(300_000)
    (place / "blob").write_bytes(blob)
    done = run_wait(cli, "sh", "-c", "cat blob; cat blob >&2", cwd=place)
    assert done.code == 0
    assert done.stdout == blob
    assert done.stderr == blob


def test_output_comes_while_the_command_runs(daemon, place):
    gate = place / "gate"
    os.mkfifo(gate)
    process = subprocess.Popen(
        [program(), "run", "--wait", "--", "sh", "-c", f"echo first; cat {gate}; echo last"],
        stdin=subprocess.DEVNULL, bufsize=0, stdout=subprocess.PIPE,
        env={**clean_env(daemon.home), "PAWL_SERVER": f"unix:{daemon.socket}"})
    assert process.stdout.readline() == b"first\n"
    assert process.poll() is None
    gate.write_text("second\n")
    assert process.communicate(timeout=120)[0] == b"second\nlast\n"
    assert process.returncode == 0


def test_a_command_gets_its_input_directory_and_variables(cli, place):
    (place / "in").write_bytes(b"one\ntwo") # no newline at its end: none is added
    done = cli("run", "--wait", "--stdin", "in", "--cwd", place, "--env", "A=x y", "--",
               "sh", "-c", 'cat; echo "|$A|$PWD|$PAWL_QUEUE"', cwd=place)
    assert done.stdout == f"one\ntwo|x y|{place}|default\n".encode(), done.errors
    # Nothing of the caller's environment comes along.
    done = run_wait(cli, "sh", "-c", "echo ${SECRET:-none}", env={"SECRET": "leak"})
    assert done.stdout == b"none\n"


def test_stdin_of_the_command_line_itself(cli):
    done = cli("run", "--wait", "--stdin", "-", "--", "wc", "-c", stdin=b"12345")
    assert done.text.strip() == "5"


def test_retries_are_followed(cli, place):
    script = f'echo try; test -e {place}/again && exit 0; touch {place}/again; exit 1'
    done = cli("run", "--wait", "--retries", "2", "--retry-delay", "50ms", "--", "sh", "-c",
               script)
    assert (done.code, done.text) == (0, "try\ntry\n")
    assert run_wait(cli, "sh", "-c", "echo once; exit 1").text == "once\n"


def test_ctrl_c_leaves_the_job_running(daemon, cli):
    process = subprocess.Popen(
        [program(), "run", "--wait", "--", "sh", "-c", "echo ready; sleep 600"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
        env={**clean_env(daemon.home), "PAWL_SERVER": f"unix:{daemon.socket}"})
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    job = json.loads(cli("show", "last", "--json").text)
    assert job["state"] == "running" and f"pawl logs -f {job['id']}" in errors.decode()
    assert cli("kill", "last").code == 0
    assert cli("wait", "last").code == 11


def test_waiting_survives_a_restart_of_the_daemon(daemon, place):
    gate = place / "gate"
    os.mkfifo(gate)
    process = subprocess.Popen(
        [program(), "run", "--wait", "--", "sh", "-c",
         f"seq 1 2000; cat {gate}; seq 2001 4000; exit 7"],
        stdin=subprocess.DEVNULL, bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**clean_env(daemon.home), "PAWL_SERVER": f"unix:{daemon.socket}"})
    assert process.stdout.readline() == b"1\n"
    daemon.restart()
    gate.write_text("")
    rest = process.communicate(timeout=120)[0]
    assert rest.split() == [b"%d" % number for number in range(2, 4001)]
    assert process.returncode == 7


def test_a_bad_option_is_refused_by_the_daemon_with_words(cli):
    done = cli("run", "-q", "no/../way", "--", "true")
    assert done.code == 2 and done.errors.startswith("pawl: ") and "[" in done.errors
    done = cli("run", "--at", "sometime", "--", "true")
    assert done.code == 2 and "sometime" in done.errors


# --- times ---

def test_at_and_in(cli):
    done = cli("run", "--in", "1h", "--", "true")
    job = json.loads(cli("show", done.text.strip(), "--json").text)
    assert job["state"] == "deferred" and "UTC (" in done.errors
    done = cli("run", "--at", "2035-01-31T08:00", "--", "true")
    job = json.loads(cli("show", done.text.strip(), "--json").text)
    assert job["run_at"] == "2035-01-31T08:00:00.000Z"
    assert "Wed 31 Jan 2035 08:00:00 UTC (2035-01-31T08:00:00.000Z)" in done.errors


# --- ls, show, ids ---

def test_ls_filters_and_shortened_ids(cli):
    failed = run_id(cli, "--name", "bad one", "--tag", "a", "--", "sh", "-c", "exit 65")
    good = run_id(cli, "-q", "other", "--tag", "b", "--", "true")
    assert cli("wait", failed, good).code == 10
    assert failed in cli("ls", "state:failed").text
    assert good not in cli("ls", "state:failed").text
    assert good in cli("ls", "queue:other", "-tag:a").text
    done = cli("ls", "sate:failed")
    assert done.code == 2 and "state" in done.errors
    for word in (failed[:12], failed.upper(), failed):
        assert failed in cli("show", word).text
    assert good in cli("show", "last").text
    shown = cli("show", failed).text
    for part in ("bad one", "failed", "exit status 65", "sh -c 'exit 65'"):
        assert part in shown
    items = json.loads(cli("ls", "--json").text)["items"]
    assert [item["id"] for item in items] == [good, failed]


def test_what_is_not_there(cli):
    for verb in ("show", "logs", "wait", "explain", "cancel", "rm"):
        done = cli(verb, "0123456789abc")
        assert done.code == 3 and "[job_not_found]" in done.errors, verb


# --- logs ---

def test_logs_of_attempts_and_streams(cli, place):
    job = run_id(cli, "--retries", "1", "--retry-delay", "50ms", "--", "sh", "-c",
                 "echo out $PAWL_ATTEMPT; echo err $PAWL_ATTEMPT >&2; exit 1")
    assert cli("wait", job).code == 10
    done = cli("logs", job)
    assert (done.text, done.errors) == ("out 2\n", "err 2\n")
    assert cli("logs", "--attempt", "1", job).text == "out 1\n"
    assert cli("logs", "--stderr", job).text == "err 2\n"
    assert cli("logs", "-f", job).text == "out 2\n"
    done = cli("logs", "--attempt", "9", job)
    assert done.code == 3


def test_logs_follow_a_job_that_has_not_started(daemon, cli):
    job = run_id(cli, "--held", "--", "echo", "at last")
    process = subprocess.Popen(
        [program(), "logs", "-f", job], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
        env={**clean_env(daemon.home), "PAWL_SERVER": f"unix:{daemon.socket}"})
    assert cli("release", job).code == 0
    assert process.communicate(timeout=120)[0] == b"at last\n"
    assert process.returncode == 0


# --- acting ---

def test_hold_release_cancel_retry_rm(daemon, cli):
    job = run_id(cli, "--held", "--", "true")
    assert daemon.job(job)["state"] == "held"
    assert cli("release", job).code == 0
    assert cli("wait", job).code == 0
    done = cli("hold", job)
    assert done.code == 5 and "[invalid_state]" in done.errors
    assert cli("retry", job).code == 0
    assert cli("wait", job).code == 0
    assert daemon.job(job)["attempt"] == 2
    other = run_id(cli, "--in", "1h", "--", "true")
    assert cli("cancel", other).code == 0
    assert cli("wait", other).code == 11
    assert cli("rm", other, job).code == 0
    assert cli("show", other).code == 3


def test_pause_and_resume(daemon, cli):
    job = run_id(cli, "--", "sh", "-c", "sleep 600")
    daemon.until_state(job, "running")
    assert cli("pause", job).code == 0
    daemon.until_state(job, "paused")
    assert cli("resume", job).code == 0
    daemon.until_state(job, "running")
    assert cli("kill", job).code == 0
    assert cli("wait", job).code == 11


def test_match(daemon, cli):
    jobs = [run_id(cli, "--held", "--tag", "bulk", "--", "true") for _ in range(5)]
    other = run_id(cli, "--held", "--", "true")
    assert cli("cancel", "--match", "tag:bulk").code == 2
    done = cli("cancel", "--match", "tag:bulk", "--dry-run")
    assert sorted(done.text.split()) == sorted(jobs)
    assert daemon.job(jobs[0])["state"] == "held"
    assert cli("cancel", "--match", "tag:bulk", "--yes").code == 0
    assert {daemon.job(job)["state"] for job in jobs} == {"cancelled"}
    assert daemon.job(other)["state"] == "held"


def test_set(daemon, cli):
    job = run_id(cli, "--held", "--", "true")
    assert cli("set", job, "--priority", "-3", "--queue", "slow", "--tag", "x").code == 0
    changed = daemon.job(job)
    assert (changed["priority"], changed["queue"], changed["tags"]) == (-3, "slow", ["x"])
    assert cli("release", job).code == 0
    assert cli("wait", job).code == 0
    assert cli("set", job, "--priority", "1").code == 5


# --- wait ---

def test_wait_for_several(cli):
    jobs = [run_id(cli, "--", "true") for _ in range(3)]
    done = cli("wait", *jobs)
    assert done.code == 0 and sorted(line.split()[0] for line in done.text.splitlines()
                                     ) == sorted(jobs)
    slow = run_id(cli, "--in", "1h", "--", "true")
    done = cli("wait", slow, "--timeout", "0.2s")
    assert done.code == 124


# --- add ---

def test_add(daemon, cli, place):
    done = cli("add", "mail.send", "hello", "-p", "9")
    job = daemon.job(done.text.strip())
    assert (job["type"], job["payload"], job["priority"]) == ("mail.send", "hello", 9)
    assert job["state"] == "blocked" and job["reason"] == "no_handler"
    lines = b'{"payload":"a"}\n{"queue":"own"}\nnot json\n'
    done = cli("add", "mail", "--ndjson", "-", "-q", "mine", stdin=lines)
    assert done.code == 1 and "line 3" in done.errors
    ids = done.text.split()
    assert [daemon.job(job_id)["queue"] for job_id in ids] == ["mine", "own"]
    (place / "many").write_bytes(b'{"type":"bulk","payload":"x"}\n' * 5000)
    done = cli("add", "--ndjson", place / "many", "--json")
    told = [json.loads(line) for line in done.text.splitlines()]
    assert told[-1] == {"summary": {"accepted": 5000, "rejected": 0}}


# --- looking ---

def test_the_file_listen_leads_to_the_daemon_without_its_socket(daemon):
    job = daemon.add("true")
    os.unlink(daemon.socket)
    done = run_cli(["ls", "--data", daemon.data], daemon.home)
    assert done.code == 0 and job in done.text, done.errors


def test_wrong_numbers_and_words_too_many(cli):
    for words in (("ls", "-n", "0"), ("ls", "--limit=-1"), ("logs", "last", "--attempt", "0"),
                  ("logs", "last", "--attempt=-1"), ("status", "extra")):
        done = cli(*words)
        assert done.code == 2 and not done.text, (words, done)


def test_status(daemon, cli):
    run_id(cli, "--held", "--", "true")
    assert run_wait(cli, "false").code == 1
    done = cli("status")
    assert done.code == 0 and len(done.text.splitlines()) <= 24
    for part in ("held 1", "rejected 1", "ready"):
        assert part in done.text
    told = json.loads(cli("status", "--json").text)
    assert told["stats"] and told["nodes"][0]["pid"] == daemon.pid


def test_one_schedule_and_one_resource_are_shown_whole(cli):
    assert cli("resource", "set", "licence", "--list", "a,b").code == 0
    assert "discrete" in cli("resource", "show", "licence").text
    made = cli("schedule", "add", "nightly", "--cron", "@daily", "--resource", "licence=1",
               "--overlap", "skip", "--", "echo", "a b")
    assert made.code == 0, made
    shown = cli("schedule", "show", "nightly").text
    for part in ("@daily", "skip", '["echo","a b"]', '{"licence":1}'):
        assert part in shown
    assert json.loads(cli("schedule", "show", "nightly", "--json").text)["name"] == "nightly"
    missing = cli("schedule", "show", "noctly")
    assert missing.code == 3 and "no such schedule: 'noctly' [schedule_not_found]" in missing.errors
    assert cli("schedule", "rm", "nightly").code == 0


def test_pawl_inside_a_job_asks_the_daemon_that_runs_it(daemon, cli, place):
    env = {"XDG_STATE_HOME": str(place / "state"), "PATH": os.environ["PATH"]}
    inner = run_wait(cli, "env", *(f"{name}={value}" for name, value in env.items()),
                     program(), "run", "--name", "inner", "--", "true")
    assert inner.code == 0 and not inner.errors, inner
    assert json.loads(cli("show", inner.text.strip(), "--json").text)["name"] == "inner"
    assert not (place / "state").exists() # no private daemon was started


def test_explain(cli):
    job = run_id(cli, "--held", "--", "true")
    done = cli("explain", job)
    assert done.code == 0 and "held" in done.text
    assert json.loads(cli("explain", job, "--json").text)


def test_config(cli):
    assert cli("config", "set", "max_concurrent_jobs=3").code == 0
    assert cli("config", "get", "max_concurrent_jobs").text == "3\n"
    assert json.loads(cli("config", "get", "--json").text)["max_concurrent_jobs"] == 3
    done = cli("config", "set", "max_concurent_jobs=3")
    assert done.code == 2 and "max_concurrent_jobs" in done.errors
    done = cli("config", "show", "--origin")
    assert done.code == 0 and "daemon.slots" in done.text and "default" in done.text
    assert "daemon.slots" in json.loads(cli("config", "show", "--json").text)


def test_doctor(daemon, cli):
    done = cli("doctor", "--data", daemon.data)
    assert done.code == 0, done.text
    checks = {check["check"]: check for check in
              json.loads(cli("doctor", "--data", daemon.data, "--json").text)["checks"]}
    assert set(checks) == {"daemon", "version", "data", "disk", "sync", "files", "listen",
                           "store"}
    assert checks["daemon"]["status"] == checks["version"]["status"] == "ok"
    # The daemon's directory counts, also where a longer name was given here.
    done = cli("doctor", "--server", f"unix:{daemon.socket}", "--data", f"{daemon.data}-and-more")
    assert f"directory {daemon.data} " in done.text, done.text
    assert "cannot be seen" not in done.text
    daemon.kill9()
    assert cli("doctor", "--data", daemon.data).code == 1


def on_terminal(daemon, *words):
    """What a command shows on a terminal; it must exit with 0."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(program(), ["pawl", *words],
                  {**clean_env(daemon.home), "PAWL_SERVER": f"unix:{daemon.socket}",
                   "TERM": "xterm"})
    shown = b""
    try:
        while piece := os.read(fd, 65536):
            shown += piece
    except OSError:
        pass
    os.close(fd)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return shown


def test_a_result_ends_its_line_on_a_terminal(daemon, cli):
    """For people only: in a pipe it is the bytes of the result."""
    assert cli("handler", "set", "say", "--lang", "sh", "echo 'R: 200 hello'").code == 0
    assert on_terminal(daemon, "add", "say", "--wait").endswith(b"hello\r\n")
    assert cli("add", "say", "--wait").text == "hello"


def test_the_bar_on_a_terminal(daemon):
    jobs = [daemon.add("sleep", "0.3") for _ in range(4)]
    shown = on_terminal(daemon, "wait", *jobs)
    assert b"4/4" in shown and "█".encode() in shown
