# SPDX-License-Identifier: Apache-2.0
"""Small things that a user meets: each was once silent, wrong or without a hint."""
import json
import os
import socket
import subprocess
import threading

from conftest import clean_env, program, run_cli, until


def test_a_wrong_option_without_a_command_is_named(place):
    done = run_cli(["--nonsense"], place)
    assert done.code == 2 and "unknown option --nonsense" in done.errors
    done = run_cli(["--json"], place)
    assert done.code == 2 and "missing command" in done.errors
    assert run_cli(["--help"], place).code == 0


def test_commands_of_other_programs_lead_to_ours(place):
    for word, ours in (("list", "ls"), ("jobs", "ls"), ("submit", "run"), ("enqueue", "add"),
                       ("delete", "rm"), ("remove", "rm"), ("stop", "cancel"), ("tail", "logs")):
        done = run_cli([word], place)
        assert done.code == 2 and f"did you mean {ours}?" in done.errors, done.errors
    for word, ours in (("query", "queries"), ("lst", "ls"), ("exit-code", "exit-codes")):
        done = run_cli(["help", word], place)
        assert done.code == 2 and f"did you mean {ours}?" in done.errors, done.errors


def test_serve_reads_its_options_as_every_command(place):
    done = run_cli(["serve", "--bogus"], place)
    assert done.code == 2 and "unknown option --bogus" in done.errors
    done = run_cli(["serve", "--slotz", "2"], place)
    assert done.code == 2 and "did you mean --slots?" in done.errors
    done = run_cli(["--json", "serve", "--check", "--data", place / "d"], place)
    assert done.code == 0 and "good" in done.text, done.errors
    done = run_cli(["--data", place / "d", "serve", "--check", "--set", "daemon.slots=many"], place)
    assert done.code == 1
    done = run_cli(["serve", "extra"], place)
    assert done.code == 2 and "extra" in done.errors


def test_the_time_is_over_is_124(daemon):
    done = daemon.cli("run", "--wait", "--max-run-time", "200ms", "--", "sleep", "600")
    assert done.code == 124, done.errors
    assert daemon.cli("run", "--wait", "--", "sh", "-c", "kill -15 $$").code == 143


def test_a_line_of_shell_in_one_word_is_recognised(daemon, place):
    done = daemon.cli("run", "--wait", "--", "echo hi | wc")
    assert done.code == 127 and "sh -c 'echo hi | wc'" in done.errors
    script = place / "script"
    script.write_text("echo no interpreter\n")
    script.chmod(0o755)
    done = daemon.cli("run", "--wait", "--", script)
    assert done.code == 126 and "#!/bin/sh" in done.errors, done.errors


def test_an_empty_match_is_nobody(daemon):
    for words in (["rm", "--match", "", "--dry-run"], ["rm", "--match", ""],
                  ["rm", "--match", "", "--yes"], ["wait", "--match", ""]):
        done = daemon.cli(*words)
        assert done.code == 2 and "--match needs a query" in done.errors, (words, done.errors)


def test_a_worker_without_its_program_says_so(daemon):
    done = daemon.cli("worker", "--", "no-such-program-anywhere")
    assert done.code == 127 and "no-such-program-anywhere" in done.errors
    done = daemon.cli("worker", "--", "/nonexistent/program")
    assert done.code == 127


def test_map_takes_one_list_and_tells_how_to_try_again(daemon):
    done = daemon.cli("map", "--", "echo", "{}", ":::", "1", "2", ":::", "x")
    assert done.code == 2 and ":::" in done.errors
    assert json.loads(daemon.cli("ls", "--json").text)["items"] == []
    done = daemon.cli("map", "--", "false", ":::", "1", "2")
    assert done.code == 10 and "pawl retry --match 'group:map-" in done.errors


def test_map_outlives_a_restart_of_the_daemon(daemon):
    gate = daemon.home / "gate"
    os.mkfifo(gate)
    process = subprocess.Popen(
        [program(), "map", "--", "sh", "-c", f"cat {gate}", ":::", "1"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env={**clean_env(daemon.home), "PAWL_SERVER": f"unix:{daemon.socket}"})
    until(lambda: daemon.jobs("state:running"), "the job runs")
    daemon.restart()
    gate.write_text("")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors


def test_http_to_a_tls_port_names_https(place):
    """21: "whether the daemon did it is not known", for a mere list."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer():
        connection, _ = listener.accept()
        connection.recv(4096)
        connection.sendall(b"\x15\x03\x01\x00\x02\x02\x46") # a TLS alert: unexpected message
        connection.close()
    thread = threading.Thread(target=answer)
    thread.start()
    done = run_cli(["--server", f"http://127.0.0.1:{listener.getsockname()[1]}", "ls"], place)
    thread.join(60)
    listener.close()
    assert done.code == 6 and "https://" in done.errors, done.errors
    assert "not known" not in done.errors
