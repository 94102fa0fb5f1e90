# SPDX-License-Identifier: Apache-2.0
"""test_cluster_reads - what one node accepted or ran is seen at every other."""
import pathlib
import subprocess
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import Broken, wait_for      # noqa: E402
from lib.cluster import BIN, Cluster # noqa: E402
from lib.daemon import Place, files_below, program # noqa: E402
from lib.nodes import sysid_of # noqa: E402

PATIENCE = 180 # seconds; a busy machine, sanitizers


@pytest.fixture(name="place", scope="module")
def fixture_place():
    with Place() as place:
        yield place


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster(server, place):
    """Two nodes; one that is wanted to run something is the only one with slots."""
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


def stay(cluster, runs):
    """Only this one of the nodes starts jobs from now on; the other gives them to it."""
    for daemon in cluster.daemons:
        sysid = sysid_of(daemon)
        action = "resume" if daemon is runs else "drain"
        daemon.api(PATIENCE).patient("POST", f"/nodes/{sysid}/{action}")
    for daemon in cluster.daemons:
        path = f"/nodes/{sysid_of(daemon)}"
        wait_for(lambda a=daemon.api(PATIENCE), p=path, d=daemon is not runs:
                 a.get(p)["draining"] is d, PATIENCE)


def once_there(api, method, path):
    """The first whole answer that is not 503: the other node was only slow, with the answer or
    with the rest of it."""
    answers = []

    def answered():
        try:
            answers.append(api.request(method, path))
        except Broken as why:
            answers.append(why)
            return False
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
        reader.act(id, "cancel")
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


# --- what jobs printed ------------------------------------------------------------------

LONG = "seq -w 1 120000; echo so it went >&2" # 840 kB: several letters


def test_the_log_of_a_job_is_read_at_any_node(cluster):
    """What a job printed on one node, at another: whole, by stream, followed, by the command."""
    first, second = cluster.daemons
    stay(cluster, first)
    api, other = first.api(PATIENCE), second.api(PATIENCE)
    id = other.add(command=["sh", "-c", LONG])["id"]
    assert other.until(id, seconds=PATIENCE)["node"] == sysid_of(first)
    out = b"".join(b"%06d\n" % n for n in range(1, 120001))
    for asked in (api, other):
        assert once_there(asked, "GET", f"/jobs/{id}/log").body == out + b"so it went\n"
        assert once_there(asked, "GET", f"/jobs/{id}/log?stream=stderr").body == b"so it went\n"
        answer = once_there(asked, "GET", f"/jobs/{id}/log?stream=stdout&follow=1")
        assert answer.body == out and answer.headers["Pawl-Attempt"] == "1"
        assert once_there(asked, "GET", f"/jobs/{id}/log?attempt=2").status == 404
    done = subprocess.run([program(), "logs", id, "--stderr", "--server",
                           "unix:" + second.socket()], capture_output=True, check=False,
                          timeout=PATIENCE, stdin=subprocess.DEVNULL)
    assert done.stdout + done.stderr == b"so it went\n", done


def test_a_log_is_followed_from_another_node(cluster, place):
    """Over attempts that run on different nodes, until the job is over."""
    first, second = cluster.daemons
    stay(cluster, first)
    goes = place.path / "goes"
    body = (f"echo try $PAWL_ATTEMPT; while [ ! -e {goes}$PAWL_ATTEMPT ]; do sleep 0.1; done; "
            "echo end $PAWL_ATTEMPT; [ $PAWL_ATTEMPT = 2 ]")
    other = second.api(PATIENCE)
    id = other.add(command=["sh", "-c", body], max_retries=1, retry_delay="PT0.1S")["id"]
    other.until(id, {"running"}, seconds=PATIENCE)
    got = []
    follower = threading.Thread(daemon=True, target=lambda: got.append(
        once_there(second.api(PATIENCE), "GET", f"/jobs/{id}/log?follow=1")))
    follower.start()
    stay(cluster, second)
    pathlib.Path(f"{goes}1").touch()
    wait_for(lambda: other.job(id)["attempt"] == 2, PATIENCE)
    pathlib.Path(f"{goes}2").touch()
    follower.join(PATIENCE)
    assert got and got[0].body == b"try 1\nend 1\ntry 2\nend 2\n", got
    attempts = other.get(f"/jobs/{id}/attempts")["items"]
    assert [item["node"] for item in attempts] == [sysid_of(first), sysid_of(second)]
    answer = once_there(first.api(PATIENCE), "GET", f"/jobs/{id}/log?attempt=2")
    assert answer.body == b"try 2\nend 2\n"


def test_a_job_that_is_removed_leaves_no_log_anywhere(cluster):
    """Where it ran, too, whoever removes it."""
    first, second = cluster.daemons
    stay(cluster, first)
    other = second.api(PATIENCE)
    id = other.add(command=["echo", "traces"])["id"]
    other.until(id, seconds=PATIENCE)
    assert files_below(first.data / "logs", id)
    other.patient("DELETE", f"/jobs/{id}")
    wait_for(lambda: not files_below(first.data / "logs", id), PATIENCE)


def test_a_log_on_a_node_that_is_down_is_not_taken_for_empty(cluster):
    """503 with the name of the node that has it; it is read again once that is back."""
    first, second = cluster.daemons
    stay(cluster, first)
    other = second.api(PATIENCE)
    id = other.add(command=["echo", "kept"])["id"]
    other.until(id, seconds=PATIENCE)
    first.kill()
    try:
        answer = other.request("GET", f"/jobs/{id}/log")
        assert answer.status == 503 and answer.json()["code"] == "node_unreachable", answer
        assert sysid_of(first) in answer.json()["detail"]
        assert other.job(id)["state"] == "done"
    finally:
        first.start()
    assert once_there(other, "GET", f"/jobs/{id}/log").body == b"kept\n"
