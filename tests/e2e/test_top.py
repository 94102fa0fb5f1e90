# SPDX-License-Identifier: Apache-2.0
"""pawl top on a real terminal (a pty) against a real daemon: what it shows, and keys."""
import fcntl
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import termios

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402

SECONDS = 120


class Terminal:
    """pawl top, or another command, on a screen of 30 rows."""

    def __init__(self, node, *words, columns=100):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
            os.execve(program(), ["pawl", *(words or ["top"])],
                      {"PAWL_SERVER": f"unix:{node.socket()}", "TERM": "xterm",
                       "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
        self.seen = b""
        self.code = None

    def read(self):
        """What came since the last look; False at the end."""
        while select.select([self.fd], [], [], 0)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return False
            if not data:
                return False
            self.seen += data
        return True

    def frame(self):
        """The last whole picture, without colours."""
        self.read()
        frames = self.seen.split(b"\x1b[H")
        for text in reversed(frames):
            if b"\x1b[J" in text:
                return re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", text).decode()
        return ""

    def rows(self):
        return [row.rstrip("\r") for row in self.frame().split("\n")]

    def shows(self, *parts):
        return wait_for(lambda: all(part in self.frame() for part in parts), SECONDS,
                        lambda: f"{parts} not in:\n{self.frame()}")

    def press(self, keys):
        os.write(self.fd, keys)

    def ended(self):
        def gone():
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
            return pid
        wait_for(gone, SECONDS, "pawl top does not end")
        self.read()
        os.close(self.fd)
        return self.code


@pytest.fixture
def node():
    with Place() as place:
        yield place.daemon("--slots", "2").start()


def test_jobs_and_queues_are_shown_and_keys_act_on_them(node):
    """Pause, resume, hold, release and kill of the marked job; pause of a queue; the
    terminal is as before when it ends."""
    api = node.api()
    id = api.add(command=["sleep", "600"], name="the-long-one", queue="slow")["id"]
    api.until(id, "running", SECONDS)
    screen = Terminal(node)
    screen.shows("the-long-one", "running 1/2", id, "in ")
    for key, state in ((b"p", "paused"), (b"p", "running"), (b"Ky", "cancelled")):
        screen.press(key)
        api.until(id, state, SECONDS)
        if state != "cancelled":
            screen.shows(state)
    screen.shows("nothing runs and nothing waits")
    held = api.add(command=["sleep", "600"], run_at="2999-01-01T00:00:00Z", name="later")["id"]
    screen.shows("later", "deferred")
    for key, state in ((b"h", "held"), (b"h", "deferred")):
        screen.press(key)
        api.until(held, state, SECONDS)
        screen.shows(state)
    newer = api.add(command=["true"], held=True, name="newer")["id"]
    screen.shows(">", "newer") # above the older one, which stays marked
    wait_for(lambda: re.search(rf">\s+{held}", screen.frame()), SECONDS, screen.frame)
    screen.press(b"\x1b[A")
    wait_for(lambda: re.search(rf">\s+{newer}", screen.frame()), SECONDS, screen.frame)
    screen.press(b"2")
    screen.shows("HEAD WAITS", "slow")
    screen.press(b"p")
    wait_for(lambda: any(queue["paused"] for queue in api.get("/queues")["items"]), SECONDS)
    screen.shows("paused")
    screen.press(b"q")
    assert screen.ended() == 0
    assert screen.seen.startswith(b"\x1b[?1049h") and screen.seen.endswith(b"\x1b[?1049l")


def test_cancel_and_kill_are_asked_for_and_mean_the_job_that_was_marked(node):
    """F9: the list shifts under the cursor; a key must not end another job at once."""
    api = node.api()
    first = api.add(command=["sleep", "600"], name="first")["id"]
    api.until(first, "running", SECONDS)
    screen = Terminal(node)
    wait_for(lambda: re.search(rf">\s+{first}", screen.frame()), SECONDS, screen.frame)
    for key, word in ((b"c", "cancel"), (b"K", "kill")):
        screen.press(key)
        screen.shows(f"{word} {first} (first)?")
        screen.press(b"n")
        screen.shows(f"{word}: nothing done")
    screen.press(b"c")
    screen.shows(f"cancel {first} (first)?")
    second = api.add(command=["sleep", "600"], name="second")["id"] # comes before it
    screen.shows(second)
    assert api.job(first)["state"] == "running"
    screen.press(b"y")
    api.until(first, "cancelled", SECONDS)
    assert api.job(second)["state"] == "running"
    screen.press(b"q")
    assert screen.ended() == 0


def test_what_runs_is_shown_before_what_waits_and_80_columns_are_enough(node):
    api = node.api()
    long = "a name that is a good deal longer than what is left of such a line"
    runs = api.add(command=["sleep", "600"], name="it runs " + long, queue="q" * 60)["id"]
    api.until(runs, "running", SECONDS)
    for i in range(40): # more than there are rows
        api.add(command=["true"], held=True, name=f"{i} {long}")
    for state in ("deferred", "failed"):
        api.add(command=["sh", "-c", "exit 65"], name=long,
                **({"delay": "PT1H"} if state == "deferred" else {}))
    screen = Terminal(node, columns=80)
    screen.shows(runs, "held 40")
    rows = screen.rows()
    assert all(len(row) <= 80 for row in rows), rows
    assert [row for row in rows if row.startswith(("> ", "  0"))][0].split()[1] == runs
    assert len(rows) <= 30
    screen.press(b"2")
    screen.shows("HEAD WAITS")
    assert all(len(row) <= 80 for row in screen.rows())
    screen.press(b"q")
    assert screen.ended() == 0


def test_clearing_a_queue_is_asked_for_on_a_terminal(node):
    """F9."""
    api = node.api()
    api.request("PUT", "/queues/mail", {"paused": True})
    id = api.add(command=["true"], queue="mail")["id"]
    screen = Terminal(node, "queue", "clear", "mail")
    wait_for(lambda: screen.read() and b"[y/N]" in screen.seen, SECONDS)
    assert f"cancel 1 waiting job of queue mail at unix:{node.socket()}?".encode() in screen.seen
    screen.press(b"n\n")
    assert screen.ended() == 2 and api.job(id)["state"] == "ready"
    screen = Terminal(node, "queue", "clear", "mail", "--yes")
    assert screen.ended() == 0 and b"[y/N]" not in screen.seen
    api.until(id, "cancelled", SECONDS)
    id = api.add(command=["true"], queue="mail")["id"]
    screen = Terminal(node, "queue", "clear", "mail")
    wait_for(lambda: screen.read() and b"[y/N]" in screen.seen, SECONDS)
    screen.press(b"y\n")
    assert screen.ended() == 0
    api.until(id, "cancelled", SECONDS)


def test_it_says_when_an_action_makes_no_sense_and_ends_at_ctrl_c(node):
    api = node.api()
    id = api.add(command=["true"], held=True)["id"]
    screen = Terminal(node)
    screen.shows(id, "held")
    screen.press(b"p")
    screen.shows(f"pause {id}: ")
    assert api.job(id)["state"] == "held"
    screen.press(b"\x03")
    assert screen.ended() == 0


def test_without_a_terminal_it_says_what_to_do_instead(node):
    done = subprocess.run([program(), "top"], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=SECONDS,
                          env={"PAWL_SERVER": f"unix:{node.socket()}"})
    assert done.returncode == 2 and "pawl status" in done.stderr
