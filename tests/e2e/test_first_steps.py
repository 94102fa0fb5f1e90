# SPDX-License-Identifier: Apache-2.0
"""What the README promises to somebody who has just cloned pawl."""
import json
import os
import socket
import subprocess

import pytest

from conftest import alive, clean_env, program, run_cli, until

HELLO = ["run", "--wait", "--", "sh", "-c", "echo hello; exit 3"]


def port_is_free():
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", 7420)) != 0


@pytest.fixture
def nobody(place):
    """No daemon at the default address, so that a private one has to be started."""
    if not port_is_free():
        pytest.skip("something listens on 127.0.0.1:7420 on this machine")
    return place


def private_data(home):
    return home / ".local/state/pawl"


def test_hello(daemon):
    done = daemon.cli(*HELLO)
    assert (done.code, done.stdout, done.stderr) == (3, b"hello\n", b"")
    listed = daemon.cli("ls")
    assert listed.code == 0 and len(listed.text.splitlines()) == 2
    job_id = listed.text.splitlines()[1].split()[0]
    shown = daemon.cli("show", "last")
    assert shown.code == 0 and job_id in shown.text and "exit status 3" in shown.text
    logs = daemon.cli("logs", "last")
    assert (logs.code, logs.stdout) == (0, b"hello\n")
    status = daemon.cli("status")
    assert status.code == 0 and "rejected 1" in status.text
    assert json.loads(daemon.cli("show", job_id, "--json").text)["exit_status"] == 3


def test_over_tcp_too(daemon):
    done = run_cli(HELLO, daemon.home, server=daemon.url)
    assert (done.code, done.stdout) == (3, b"hello\n")


def test_the_socket_in_the_data_directory_is_found(daemon):
    done = run_cli([*HELLO[:1], "--data", str(daemon.data), *HELLO[1:]], daemon.home)
    assert (done.code, done.stdout, done.stderr) == (3, b"hello\n", b"")
    done = run_cli(HELLO, daemon.home, env={"PAWL_DATA": str(daemon.data)})
    assert (done.code, done.stdout, done.stderr) == (3, b"hello\n", b"")


def test_without_a_daemon_a_private_one_is_started(nobody):
    done = run_cli(HELLO, nobody)
    assert (done.code, done.stdout) == (3, b"hello\n"), done.errors
    assert "started a private daemon" in done.errors
    data = private_data(nobody)
    assert (data / "pawl.sock").is_socket()
    assert not (data / "listen").exists() or not (data / "listen").read_text().strip()
    assert data.stat().st_mode & 0o777 == 0o700
    # The next command finds it and says nothing more.
    done = run_cli(HELLO, nobody)
    assert (done.code, done.stdout, done.errors) == (3, b"hello\n", "")
    assert len(run_cli(["ls"], nobody).text.splitlines()) == 3


def test_two_first_commands_start_one_daemon(nobody):
    commands = [subprocess.Popen([program(), *HELLO], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=nobody,
                                 env=clean_env(nobody)) for _ in range(4)]
    ended = [(*command.communicate(timeout=120), command.returncode) for command in commands]
    assert [(out, code) for out, _, code in ended] == [(b"hello\n", 3)] * 4, ended
    said = sum(b"started a private daemon" in errors for _, errors, _ in ended)
    assert said == 1
    assert len(run_cli(["ls"], nobody).text.splitlines()) == 5


def test_the_private_daemon_keeps_nothing_of_the_first_command(nobody):
    """Neither its pipes, which others would wait for, nor its directory."""
    work = nobody / "work"
    work.mkdir()
    done = run_cli(["run", "--", "true"], nobody, cwd=work)
    assert done.code == 0, done.errors # communicate() returned: the pipes are closed
    work.rmdir()
    done = run_cli(["run", "--wait", "--cwd", "/", "--", "true"], nobody)
    assert done.code == 0, done.errors


def test_a_private_daemon_that_cannot_start_says_why(nobody):
    data = private_data(nobody)
    data.mkdir(parents=True)
    (data / "pawl.db").write_bytes(b"this is no database" * 100)
    done = run_cli(HELLO, nobody)
    assert done.code == 125 and done.stdout == b""
    assert "private daemon" in done.errors and "[daemon_unreachable]" in done.errors


def test_only_run_and_add_start_one(nobody):
    for words in (["ls"], ["status"], ["show", "last"], ["wait", "last"]):
        done = run_cli(words, nobody)
        assert done.code == 6 and "[daemon_unreachable]" in done.errors
    assert not private_data(nobody).exists()
    done = run_cli(["add", "mail", "x"], nobody)
    assert done.code == 0 and len(done.text.strip()) == 13, done.errors
    job = json.loads(run_cli(["show", "last", "--json"], nobody).text)
    assert job["state"] == "blocked" and job["payload"] == "x"


def test_a_socket_left_behind_is_no_daemon(nobody):
    assert run_cli(["run", "--", "true"], nobody).code == 0
    data = private_data(nobody)
    pids = json.loads(run_cli(["status", "--json"], nobody).text)
    pid = pids["nodes"][0]["pid"]
    os.kill(pid, 9)
    until(lambda: not alive(pid), "the daemon is gone")
    assert (data / "pawl.sock").exists()
    assert run_cli(["ls"], nobody).code == 6
    done = run_cli(HELLO, nobody)
    assert (done.code, done.stdout) == (3, b"hello\n")
    assert "started a private daemon" in done.errors
