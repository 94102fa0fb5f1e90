# SPDX-License-Identifier: Apache-2.0
"""Waiting for jobs that do not go well: nobody waits in silence."""
import subprocess

from conftest import clean_env, program, until


def test_each_failed_attempt_is_told_while_one_waits(daemon):
    """F12: the same error eight times in ten minutes, and the terminal showed nothing."""
    assert daemon.cli("handler", "set", "bad", "--lang", "sh", "--retries", "2",
                      "--retry-delay", "50ms", "exit 7").code == 0
    done = daemon.cli("add", "bad", "--wait")
    assert done.code == 10, done.errors
    lines = done.errors.splitlines()
    assert [line.split(":")[1].strip() for line in lines[:2]] == ["attempt 1 failed",
                                                                  "attempt 2 failed"], lines
    assert "exit status 7" in lines[0] and "rejected" in lines[2]


def test_the_next_try_is_told(daemon):
    assert daemon.cli("handler", "set", "slow", "--lang", "sh", "--retries", "3",
                      "--retry-delay", "1h", "exit 7").code == 0
    with open(daemon.home / "told", "wb") as told:
        process = subprocess.Popen(
            [program(), "add", "slow", "--wait"], stdin=subprocess.DEVNULL, stderr=told,
            stdout=subprocess.DEVNULL,
            env={**clean_env(daemon.home), "PAWL_SERVER": f"unix:{daemon.socket}"})
    text = (daemon.home / "told")
    until(lambda: b"\n" in text.read_bytes(), "the first attempt is told")
    assert b"attempt 1 failed: exit status 7; next try in " in text.read_bytes()
    process.terminate()
    process.wait(120)
