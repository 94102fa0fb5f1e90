# SPDX-License-Identifier: Apache-2.0
"""test_cluster_reads - what one node accepted or ran is seen at every other."""
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for      # noqa: E402
from lib.cluster import BIN, Cluster, Server # noqa: E402
from lib.daemon import Place     # noqa: E402

PATIENCE = 180 # seconds; a busy machine, sanitizers


@pytest.fixture(name="server", scope="module")
def fixture_server():
    server = Server()
    try:
        yield server.start()
    finally:
        server.remove()


@pytest.fixture(name="place", scope="module")
def fixture_place():
    with Place() as place:
        yield place


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster(server, place):
    """Two nodes; the second runs nothing by itself."""
    nodes = Cluster(server.database("reads"), place.path, 2, "--slots", "2")
    try:
        yield nodes.start()
    finally:
        nodes.close()


class Locked:
    """No one writes jobs into the store meanwhile; all may read."""

    def __init__(self, server, database):
        self.psql = subprocess.Popen(
            [BIN / "psql", "-h", server.directory, "-U", "pawl", "-d", database, "-qAt"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        self.psql.stdin.write("BEGIN; LOCK TABLE pawl.job_live IN SHARE MODE;\n\\echo locked\n")
        self.psql.stdin.flush()
        assert self.psql.stdout.readline().strip() == "locked"
        return self

    def __exit__(self, *_):
        self.psql.communicate("COMMIT;\n", timeout=PATIENCE)


def once_there(api, method, path):
    """The first answer that is not 503: the other node was only slow."""
    answers = []

    def answered():
        answers.append(api.request(method, path))
        return answers[-1].status != 503

    wait_for(answered, PATIENCE, lambda: f"{answers[-1]}")
    return answers[-1]


def test_what_one_node_accepted_is_seen_at_once_at_another(cluster):
    """S1.2: read, explained and cancelled anywhere, as soon as it is acknowledged."""
    first, second = (daemon.api(PATIENCE) for daemon in cluster.daemons)
    for n in range(4):
        writer, reader = (first, second) if n % 2 else (second, first)
        id = writer.add(command=["true"], held=True)["id"]
        for path in (f"/jobs/{id}", f"/jobs/{id}/explain", f"/jobs/{id}/attempts"):
            answer = once_there(reader, "GET", path)
            assert answer.status == 200, answer
        id = writer.add(command=["true"], held=True)["id"]
        answer = once_there(reader, "POST", f"/jobs/{id}/cancel")
        assert answer.status == 200, answer
        assert writer.job(id)["state"] == "cancelled"


def test_a_job_that_only_a_journal_has_is_not_denied(cluster, server):
    """While the store does not have it yet the answer is "ask again", never "there is none"."""
    first, second = (daemon.api(PATIENCE) for daemon in cluster.daemons)
    with Locked(server, "reads"):
        id = first.add(command=["true"], held=True)["id"]
        answer = second.request("GET", f"/jobs/{id}")
        assert answer.status == 503, answer
        assert answer.json()["code"] == "node_unreachable"
        assert answer.headers["Retry-After"]
    assert once_there(second, "GET", f"/jobs/{id}").json()["state"] == "held"


def test_a_job_that_never_was_is_denied(cluster):
    """An id that a node has not given out is known to be none, also one of its future."""
    first, second = (daemon.api(PATIENCE) for daemon in cluster.daemons)
    id = first.add(command=["true"], held=True)["id"]
    past = id[:-1] + ("0" if id[-1] != "0" else "1")
    future = chr(ord(id[0]) + 1) + id[1:]
    for wrong in (past, future):
        answer = once_there(second, "GET", f"/jobs/{wrong}")
        assert answer.status == 404 and answer.json()["code"] == "job_not_found", answer
