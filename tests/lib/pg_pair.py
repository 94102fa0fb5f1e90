# SPDX-License-Identifier: Apache-2.0
"""pg_pair - a PostgreSQL primary with a synchronous standby that change places.

A failover is what an operator's tool does: the primary dies, the standby is promoted, and
the old primary is copied anew from it as its standby. While there is no standby the primary
waits for none; it is never killed then. So nothing that it acknowledged is ever lost.
"""
import shutil
import subprocess

from lib.api import wait_for
from lib.postgres import BIN, SECONDS, Server

SETTINGS = ("max_connections=120", "autovacuum=on", "max_wal_senders=6",
            "checkpoint_timeout=10min", "wal_sender_timeout=20s")


class Pair:
    def __init__(self):
        self.servers = [Server(*SETTINGS), Server(*SETTINGS)]
        self.primary, self.standby = self.servers
        self.failovers = 0

    def start(self):
        self.primary.make().start()
        self.make_standby()
        return self

    def make_standby(self):
        """The standby is a copy of the primary as it is now, and the primary waits for it."""
        shutil.rmtree(self.standby.data, ignore_errors=True)
        name = f"standby{self.failovers}"
        self.standby.copy_of(self.primary, name)
        with open(self.standby.data / "postgresql.auto.conf", "a") as conf:
            conf.write("synchronous_standby_names = ''\n") # once it is promoted
        self.standby.start()
        self.primary.ask(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
        self.primary.ask("SELECT pg_reload_conf()")
        wait_for(lambda: self.primary.ask(
            "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1",
            SECONDS, self.primary.tail, pause=0.1)

    def failover(self):
        self.primary.kill()
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary
        self.failovers += 1
        self.make_standby()

    def cleanup(self):
        for server in self.servers:
            server.cleanup()


class Asker:
    """A psql that stays, for questions that come all the time."""

    def __init__(self, server):
        self.process = subprocess.Popen(
            [BIN / "psql", "-h", server.home, "-U", "pawl", "-AtXq", "-F", "\t", "postgres"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, start_new_session=True, errors="replace")

    def rows(self, sql):
        """Lists of texts; None: the server is gone."""
        try:
            self.process.stdin.write(sql + ";\n\\echo .\n")
            self.process.stdin.flush()
        except OSError:
            return None
        rows = []
        while (line := self.process.stdout.readline()):
            if line == ".\n":
                return rows
            rows.append(line.rstrip("\n").split("\t"))
        return None

    def cleanup(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        try:
            self.process.stdin.close()
        except OSError:
            pass
