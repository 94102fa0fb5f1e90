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
    """pawl top on a screen of 100 columns and 30 rows."""

    def __init__(self, node):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
            os.execve(program(), ["pawl", "top"],
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
    for key, state in ((b"p", "paused"), (b"p", "running"), (b"K", "cancelled")):
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
    api.add(command=["true"], held=True, name="newer")
    screen.shows(">", "newer")
    screen.press(b"\x1b[B") # the marked row moves down, to the older one
    wait_for(lambda: re.search(rf">\s+{held}", screen.frame()), SECONDS, screen.frame)
    screen.press(b"2")
    screen.shows("HEAD WAITS", "slow")
    screen.press(b"p")
    wait_for(lambda: any(queue["paused"] for queue in api.get("/queues")["items"]), SECONDS)
    screen.shows("paused")
    screen.press(b"q")
    assert screen.ended() == 0
    assert screen.seen.startswith(b"\x1b[?1049h") and screen.seen.endswith(b"\x1b[?1049l")


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
