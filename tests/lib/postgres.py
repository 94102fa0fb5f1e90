# SPDX-License-Identifier: Apache-2.0
"""postgres - PostgreSQL servers of a test's own: started, killed, copied, promoted.

It refuses root, so where tests run as root it runs as the user `postgres`. Each server has
a directory, a Unix socket in it and no port; a standby is a copy of its primary.
"""
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

from lib.api import wait_for
from lib.daemon import alive, pids

BIN = pathlib.Path("/usr/lib/postgresql/15/bin")
SECONDS = 120 # a busy machine
SETTINGS = ("listen_addresses=", "max_connections=60", "shared_buffers=32MB", "max_wal_senders=4",
            "wal_level=replica", "hot_standby=on", "wal_keep_size=256MB", "autovacuum=off")


def as_postgres(*command):
    words = [str(word) for word in command]
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *words] \
        if os.geteuid() == 0 else words


class Server:
    """settings: further NAME=VALUE of the server. `durable`: with sync, as in life."""

    def __init__(self, *settings, durable=False):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="pawl-pg-", dir="/tmp"))
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.home, user.pw_uid, user.pw_gid)
        self.home.chmod(0o755) # a pooler, too, looks for the socket
        self.data = self.home / "data"
        self.settings = [*SETTINGS, *settings, *([] if durable else ["fsync=off"])]
        self.process = None

    # --- life ---------------------------------------------------------------------

    def make(self):
        self.run(BIN / "initdb", "-D", self.data, "-U", "pawl", "-A", "trust", "-N",
                 "--locale=C", "-E", "UTF8")
        return self

    def copy_of(self, primary, name):
        """A standby of the primary, known to it as `name`."""
        self.run(BIN / "pg_basebackup", "-D", self.data, "-h", primary.home, "-U", "pawl", "-R",
                 "-X", "stream", "-c", "fast")
        with open(self.data / "postgresql.auto.conf", "a") as conf:
            conf.write(f"primary_conninfo = 'host={primary.home} user=pawl "
                       f"application_name={name}'\n")
        return self

    def start(self):
        words = [word for setting in self.settings for word in ("-c", setting)]
        with open(self.home / "server.log", "ab") as log:
            self.process = subprocess.Popen(
                as_postgres(BIN / "postgres", "-D", self.data, "-k", self.home, *words),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                cwd="/")
        wait_for(self.answers, SECONDS, self.tail, pause=0.1)
        return self

    def kill(self):
        """Every process at once, as when the power goes."""
        self.end_processes()
        for name in (".s.PGSQL.5432", ".s.PGSQL.5432.lock", "data/postmaster.pid"):
            (self.home / name).unlink(missing_ok=True)

    def promote(self):
        self.run(BIN / "pg_ctl", "promote", "-D", self.data, "-w", "-t", SECONDS)

    def end_processes(self):
        """Its children have sessions of their own; all of them work in the data directory."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        wait_for(lambda: not self.kill_children(), SECONDS, self.tail, pause=0.05)

    def kill_children(self):
        found = [pid for pid in pids() if self.works_here(pid) and alive(pid)]
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return found

    def works_here(self, pid):
        try:
            return os.readlink(f"/proc/{pid}/cwd") == str(self.data)
        except OSError:
            return False

    def cleanup(self):
        self.end_processes()
        shutil.rmtree(self.home, ignore_errors=True)

    # --- looks --------------------------------------------------------------------

    def run(self, *command):
        done = subprocess.run(as_postgres(*command), stdin=subprocess.DEVNULL, cwd="/",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        assert done.returncode == 0, done.stdout.decode()
        return done.stdout.decode()

    def answers(self):
        return subprocess.run([BIN / "pg_isready", "-q", "-h", self.home, "-U", "pawl",
                               "-d", "postgres"],
                              stdin=subprocess.DEVNULL, timeout=60).returncode == 0

    def ask(self, sql, database="postgres"):
        """The one value that a statement gives, as text."""
        return self.run(BIN / "psql", "-h", self.home, "-U", "pawl", "-AtX", "-v",
                        "ON_ERROR_STOP=1", database, "-c", sql).strip()

    def tail(self):
        return (self.home / "server.log").read_text()[-3000:]

    def url(self, *others):
        """Of the database `postgres` here, or on one of the others."""
        hosts = ",".join(str(server.home) for server in (self, *others))
        return f"postgresql:///postgres?host={hosts}&user=pawl"
