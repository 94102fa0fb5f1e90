# SPDX-License-Identifier: Apache-2.0
"""bloat - wave after wave of jobs through one node on PostgreSQL: how fast each was, and how
large the table of live jobs became."""
import time

from lib.api import wait_for
from lib.daemon import Daemon

SECONDS = 300
MIB = 1 << 20


class Waves:
    """A node with one warm context whose jobs do nothing."""

    def __init__(self, server, place, jobs):
        self.server, self.jobs = server, jobs
        self.node = Daemon(place / "node", "--store", server.url(), "--slots", "1", "--set",
                           "contexts.jobs=1000000000", "--set", "daemon.log_level=warn")
        self.added = 0
        self.rates, self.sizes = [], []

    def start(self):
        self.node.start()
        self.api = self.node.api(SECONDS)
        answer = self.api.request("PUT", "//bloat/handler/noop?method=python", b"return ''",
                                  {"Content-Type": "text/plain"})
        assert answer.status == 200, answer
        return self

    def metric(self, name):
        text = self.api.request("GET", "/metrics").body.decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if line.startswith((name + " ", name + "{")))

    def wave(self):
        begun = time.monotonic()
        answer = self.api.request("POST", "//bloat/job/noop/add", b"x" * 99 + b"\n" +
                                  (b"x" * 99 + b"\n") * (self.jobs - 1),
                                  {"Content-Type": "text/plain"})
        assert answer.status == 200, answer
        self.added += self.jobs
        wait_for(lambda: self.metric("pawl_jobs_finished_total") >= self.added, SECONDS,
                 self.node.tail, pause=0.05)
        wait_for(lambda: self.metric("pawl_journal_lag_bytes") == 0, SECONDS, self.node.tail,
                 pause=0.05)
        self.rates.append(self.jobs / (time.monotonic() - begun))
        self.sizes.append(self.live_bytes())

    def live_bytes(self):
        """Of the table of live jobs, its indexes included."""
        return int(self.server.ask("SELECT pg_total_relation_size('pawl.job_live')"))

    def cleanup(self):
        self.node.cleanup()
