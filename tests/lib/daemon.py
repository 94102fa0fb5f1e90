# SPDX-License-Identifier: Apache-2.0
"""daemon - one pawl daemon of a test's own: started, killed, started again, cleaned up.

Everything a test starts is found again by the data directory, which stands in the
environment of every job: so nothing is left over, whatever went wrong.
"""
import atexit
import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from lib.api import PATIENCE, Api, Broken, NotSent, wait_for

_numbers = itertools.count(1)


def program():
    found = os.environ.get("PAWL_BIN")
    if not found:
        found = str(pathlib.Path(__file__).resolve().parents[2] / "build/asan/src/pawl")
    return found


def kernel():
    """(major, minor) of the one that runs."""
    return tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _proc(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def alive(pid):
    """Running, and not a zombie that waits for its parent."""
    return state_of(pid) not in ([], [b"Z"])


def processes_with(text):
    """Live processes in whose environment `text` stands."""
    needle = text.encode()
    return [pid for pid in pids()
            if pid != os.getpid() and needle in _proc(pid, "environ") and alive(pid)]


def state_of(pid):
    """The letter of /proc/PID/stat, or nothing: T is stopped."""
    return _proc(pid, "stat").rpartition(b")")[2].split()[:1]


def stopped(text):
    """Every process with `text` in its environment is stopped, or waits for one that is: a
    parent inside vfork stays in the kernel (D) until its stopped child goes on."""
    states = {letter for pid in processes_with(text) for letter in state_of(pid)}
    return b"T" in states and states <= {b"T", b"D"}


def parent_of(pid):
    return int((_proc(pid, "stat").rpartition(b")")[2].split()[1:2] or [0])[0])


def files_below(folder, part=""):
    """Paths of files with `part` in their name; what vanishes meanwhile is not there."""
    return [pathlib.Path(at) / name for at, _, names in os.walk(folder) for name in names
            if part in name]


def descriptors(pid):
    """What the open descriptors of a process point to."""
    found = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            pass
    return found


_server = None


def store_options(daemon, options):
    """With PAWL_TEST_STORE=postgresql every daemon that names no store itself has a
    database of its own, on one server for the whole run: so tests that know nothing of
    stores show that all behave alike. Its lease is one that no busy machine lets lapse."""
    global _server # pylint: disable=global-statement
    if os.environ.get("PAWL_TEST_STORE") != "postgresql" or "--store" in map(str, options):
        return []
    if _server is None:
        from lib.cluster import Server # pylint: disable=import-outside-toplevel,cyclic-import
        _server = Server()
        atexit.register(_server.remove)
        _server.start()
    if daemon.store is None:
        daemon.store = _server.database(f"own{next(_numbers)}")
    return ["--store", daemon.store, "--set", "scheduling.lease=60s"]


class Daemon:
    """options: further arguments of `pawl serve`."""

    def __init__(self, data, *options, env=None):
        self.data = pathlib.Path(data)
        self.options = list(options)
        self.env = env or {}
        self.process = None
        self.store = None # of PAWL_TEST_STORE: made with the first start
        self.prefix = [] # a command that runs the daemon: as another user, on another host
        self.log_path = self.data.parent / (self.data.name + ".log")

    # --- life ----------------------------------------------------------------------

    def spawn(self, *more):
        """Starts it without waiting for anything."""
        (self.data / "listen").unlink(missing_ok=True)
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("PAWL_")}
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, program(), "serve", "--data", str(self.data), "--listen", "127.0.0.1:0",
                 *store_options(self, [*self.options, *more]), *self.options, *more],
                env={**env, **self.env}, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True)
        return self

    def start(self, *more):
        self.spawn(*more)
        self.wait_ready()
        return self

    def wait_ready(self, seconds=PATIENCE):
        wait_for(self.ready, seconds, lambda: self.story(f"is not ready after {seconds} s"))

    def ready(self):
        assert self.process.poll() is None, self.story(f"ended with {self.process.returncode}")
        if not (self.data / "listen").exists():
            return False
        return self.answers_ready()

    def answers_ready(self):
        """Whoever started it."""
        api = self.api(5)
        try:
            return api.request("GET", "/readyz").status == 200
        except (NotSent, Broken):
            return False
        finally:
            api.close()

    def kill(self):
        """kill -9: no chance to say anything."""
        self.process.kill()
        self.process.wait()

    def stop(self, seconds=PATIENCE):
        """SIGTERM; returns its exit status."""
        self.process.terminate()
        return self.process.wait(seconds)

    def restart(self):
        self.kill()
        return self.start()

    def cleanup(self):
        """Ends everything that belongs to the data directory, and nothing else."""
        if self.process and self.process.poll() is None:
            self.kill()
        self.kill_launcher()
        wait_for(lambda: not self.kill_jobs(), PATIENCE, "its jobs go on and on")

    # --- looks inside ----------------------------------------------------------------

    @property
    def pid(self):
        return self.process.pid

    def launcher(self):
        """The pid of the launcher of this data directory, or None."""
        for pid in pids():
            if b"pawl-launch" in _proc(pid, "cmdline") and alive(pid):
                try:
                    if os.readlink(f"/proc/{pid}/cwd") == str(self.data.resolve()):
                        return pid
                except OSError:
                    pass
        return None

    def kill_launcher(self):
        while (pid := self.launcher()):
            kill(pid)

    def jobs(self):
        """Live processes of jobs: the data directory is in their PAWL_JOB_FILE."""
        ours = {self.process.pid if self.process else 0, self.launcher()}
        return [pid for pid in processes_with(f"={self.data}/") if pid not in ours]

    def kill_jobs(self):
        """Returns those that it found: another may have come to be meanwhile."""
        found = self.jobs()
        for pid in found:
            kill(pid)
        return found

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def tail(self, lines=25):
        return "\n".join(self.log().splitlines()[-lines:])

    def story(self, what):
        """What went wrong, for who sees only the first line or only the last ones: what the
        node itself said last is in both, apart from what it said of jobs."""
        own = [line for line in self.log().splitlines() if " event=job." not in line][-12:]
        said = own[-1] if own else "nothing"
        return "\n".join([f"{self.data.name} {what}; it said last: {said}",
                          "its log ends:", self.tail(), "it is " + self.stage(),
                          "and said of itself:", *own])

    def stage(self):
        """How far it is, as far as can be seen from outside."""
        if self.process.poll() is not None:
            return f"gone with status {self.process.returncode}"
        waits = [_proc(self.pid, f"task/{task}/{name}").decode(errors="replace").strip()
                 for task in sorted(os.listdir(f"/proc/{self.pid}/task"), key=int)
                 for name in ("comm", "wchan")]
        words = " ".join(f"{name}:{at}" for name, at in zip(waits[::2], waits[1::2]))
        if not (self.data / "listen").exists():
            return f"without an address; threads wait in {words}"
        try:
            answer = self.api(5).request("GET", "/readyz")
        except (NotSent, Broken) as why:
            return f"without an answer ({why}); threads wait in {words}"
        return f"answering {answer}; threads wait in {words}"

    def address(self):
        host, _, port = (self.data / "listen").read_text().strip().rpartition(":")
        return host, int(port)

    def socket(self):
        return str(self.data / "pawl.sock")

    def api(self, timeout=PATIENCE, tenant=None):
        return Api(self.socket(), timeout, tenant)

    def tcp(self, timeout=PATIENCE):
        return Api(self.address(), timeout)


def kill(pid):
    """SIGKILL, and gone when this returns."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    wait_for(lambda: not alive(pid), PATIENCE, f"process {pid} does not die")


class Place:
    """A directory of its own, with daemons that end with it. Paths stay short: the name
    of a Unix socket has room for 107 bytes."""

    def __init__(self, path=None):
        self.path = pathlib.Path(path or tempfile.mkdtemp(prefix="pawl-test-"))
        self.daemons = []

    def daemon(self, *options, data=None, env=None):
        node = Daemon(data or self.path / "data", *options, env=env)
        self.daemons.append(node)
        return node

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.daemons:
            node.cleanup()
        shutil.rmtree(self.path, ignore_errors=True)
