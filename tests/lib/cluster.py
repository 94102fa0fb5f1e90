# SPDX-License-Identifier: Apache-2.0
"""cluster - a PostgreSQL server of a test's own, and daemons that share it."""
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

from lib.api import PATIENCE, wait_for
from lib.daemon import Daemon

BIN = pathlib.Path("/usr/lib/postgresql/15/bin")
LEASE = "3s"   # of nodes that a test lets die, or sleep
STEADY = "60s" # of others: no busy machine lets it lapse


def _as_postgres():
    """PostgreSQL does not run as root: then it gets a user of its own."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("postgres")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class Server:
    """Listens on a socket in its own directory and nowhere else."""

    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="pawl-pg-"))
        self.data = self.directory / "data"
        self.process = None
        if os.geteuid() == 0:
            shutil.chown(self.directory, "postgres", "postgres")
        subprocess.run([BIN / "initdb", "-D", self.data, "-U", "pawl", "-A", "trust", "-N"],
                       check=True, capture_output=True, cwd=self.directory, timeout=120,
                       **_as_postgres())

    def database(self, name):
        """An empty one; returns its URL."""
        subprocess.run([BIN / "createdb", "-h", self.directory, "-U", "pawl", name],
                       check=True, capture_output=True, timeout=PATIENCE)
        return f"postgresql://pawl@/{name}?host={self.directory}"

    def start(self):
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(
                [BIN / "postgres", "-D", self.data, "-k", self.directory,
                 "-c", "listen_addresses=", "-c", "max_connections=60",
                 "-c", "shared_buffers=32MB"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory,
                start_new_session=True, **_as_postgres())
        wait_for(self.answers, PATIENCE, lambda: (self.directory / "log").read_text())
        return self

    def answers(self):
        assert self.process.poll() is None, (self.directory / "log").read_text()
        done = subprocess.run([BIN / "pg_isready", "-q", "-h", self.directory],
                              timeout=PATIENCE, check=False)
        return done.returncode == 0

    def stop(self):
        """At once: as if the power had gone."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(PATIENCE)

    def remove(self):
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


class Cluster:
    """`count` daemons on one database. lease: a test that kills one wants it short, and must
    bear with nodes that are taken for lost because the machine is busy."""

    def __init__(self, url, directory, count, *options, lease=STEADY):
        self.daemons = []
        for number in range(1, count + 1):
            data = pathlib.Path(directory) / f"node{number}"
            self.daemons.append(Daemon(data, "--store", url, "--set",
                                       f"scheduling.lease={lease}", *options))

    def start(self):
        for daemon in self.daemons:
            daemon.start()
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for daemon in self.daemons:
            if daemon.process and daemon.process.poll() is None:
                daemon.process.send_signal(signal.SIGCONT)
            daemon.cleanup()
