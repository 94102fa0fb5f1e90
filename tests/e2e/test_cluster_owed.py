# SPDX-License-Identifier: Apache-2.0
"""test_cluster_owed - a job that an end causes and that wants a key is not lost with the node
that was about to add it, even if that node never returns."""
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for      # noqa: E402
from lib.cluster import BIN, Cluster # noqa: E402
from lib.daemon import Place     # noqa: E402
from lib.nodes import Patient    # noqa: E402

PATIENCE = 180 # seconds; a lease, a busy machine, sanitizers
OWED = "SELECT convert_from(key, 'UTF8') FROM pawl.definition WHERE kind = 'add_owed'"


class Psql:
    """One session of its own."""

    def __init__(self, url):
        self.process = subprocess.Popen([BIN / "psql", "-AtXq", url], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def lock(self):
        """No one learns who holds a key until it is closed."""
        self.process.stdin.write("BEGIN; LOCK TABLE pawl.job_unique;\n\\echo locked\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline().strip() == "locked"

    def close(self):
        self.process.communicate("ROLLBACK;\n", timeout=PATIENCE)


def owed(url):
    """Ids of the jobs that nodes owe."""
    asked = subprocess.run(
        [BIN / "psql", "-AtXqc", OWED, url],
        capture_output=True, text=True, timeout=PATIENCE, check=True)
    return asked.stdout.split()


def test_what_is_owed_by_a_node_that_never_returns_is_added(server):
    """The cause has ended, and says so in the store; its node is killed while it asks who
    holds the key. The other adds the job, under the id that it was to have."""
    with Place() as place:
        url = server.database("owed")
        nodes = Cluster(url, place.path, 2, "--slots", "2", lease="6s")
        psql = None
        try:
            first, second = nodes.start().daemons
            api = first.api(PATIENCE)
            answer = Patient(first).api(PATIENCE).request(
                "PUT", "/handlers/one", {"lang": "sh", "body": "echo ran", "highlander": True})
            assert answer.status in (200, 201), answer
            go = place.path / "go"
            cause = api.add_soon(command=["sh", "-c", f"until [ -e {go} ]; do sleep 0.1; done"],
                                 then="one")["id"]
            api.until(cause, {"running"}, seconds=PATIENCE)
            psql = Psql(url)
            psql.lock()
            go.touch()
            [id] = wait_for(lambda: owed(url), PATIENCE, first.tail)
            first.kill()
            first.kill_launcher()
            psql.close()
            other = Patient(second).api(PATIENCE)
            wait_for(lambda: other.request("GET", f"/jobs/{id}").status == 200, PATIENCE,
                     second.tail)
            job = other.until(id, seconds=PATIENCE)
            assert job["state"] == "done" and job["type"] == "one", job
            assert job["parent"] == cause, job
            wait_for(lambda: not owed(url), PATIENCE)
            assert [row["id"] for row in other.get("/jobs?type=one")["items"]] == [id]
        finally:
            if psql:
                psql.process.kill()
                psql.process.wait()
            nodes.close()
