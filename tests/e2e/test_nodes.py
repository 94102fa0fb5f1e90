# SPDX-License-Identifier: Apache-2.0
"""test_nodes - what holds over all nodes of a store as it does on one: keys, groups,
resources, reads, pull workers."""
import concurrent.futures
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for      # noqa: E402
from lib.cluster import Cluster, Server  # noqa: E402
from lib.daemon import Place     # noqa: E402

PATIENCE = 180 # seconds; a lease, a busy machine, sanitizers


@pytest.fixture(name="place", scope="module")
def fixture_place():
    with Place() as place:
        yield place


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster(place):
    """Three nodes; no test of this file kills one."""
    server = Server()
    nodes = None
    try:
        nodes = Cluster(server.start().database("nodes"), place.path, 3, "--slots", "3")
        yield nodes.start()
    finally:
        if nodes:
            nodes.close()
        server.remove()


def everywhere(cluster, path, body, headers=None):
    """The same request at every node, at the same moment; their answers."""
    def send(daemon):
        return daemon.api(PATIENCE).request("POST", path, body, headers)
    with concurrent.futures.ThreadPoolExecutor(len(cluster.daemons)) as pool:
        return list(pool.map(send, cluster.daemons))


def settled(api, ids):
    """The jobs, once they are final. Another node may be about to bring one in."""
    for id in ids:
        wait_for(lambda id=id: api.request("GET", f"/jobs/{id}").status == 200, PATIENCE)
    return [api.until(id, seconds=PATIENCE) for id in ids]


def test_one_job_has_a_key_wherever_it_was_accepted(cluster, place):
    """S2.29: the same unique key at three nodes at once: one runs."""
    marks = place.path / "unique"
    api = cluster.daemons[0].api(PATIENCE)
    for n in range(6):
        body = {"command": ["sh", "-c", f"echo {n} >> {marks}"],
                "unique": {"key": f"k{n}", "for": "PT1H", "on_conflict": "ignore"}}
        answers = everywhere(cluster, "/jobs", body)
        assert {answer.status for answer in answers} <= {200, 201}, answers
        ids = {answer.json()["id"] for answer in answers}
        jobs = settled(api, ids)
        [ran] = [job for job in jobs if job["state"] == "done"]
        for job in jobs:
            if job is not ran:
                assert job["state"] == "cancelled"
                assert job["merged_into"] == ran["id"]
                assert job["attempt"] == 0
    assert sorted(marks.read_text().split()) == [str(n) for n in range(6)]


def test_one_request_of_an_idempotency_key_has_its_jobs_run(cluster, place):
    """The same Idempotency-Key at three nodes at once: one request's jobs run."""
    marks = place.path / "requests"
    api = cluster.daemons[0].api(PATIENCE)
    for n in range(4):
        body = [{"command": ["sh", "-c", f"echo {n}.{k} >> {marks}"]} for k in range(2)]
        answers = everywhere(cluster, "/jobs", body, {"Idempotency-Key": f"r{n}"})
        assert {answer.status for answer in answers} == {200}, answers
        ids = {line["id"] for answer in answers for line in answer.lines() if "id" in line}
        jobs = settled(api, ids)
        assert sorted(job["state"] for job in jobs).count("done") == 2, jobs
        assert all(job["state"] == "done" or job["merged_into"] for job in jobs), jobs
    assert len(marks.read_text().split()) == len(set(marks.read_text().split())) == 8


def add_everywhere(cluster, count, **fields):
    """So many jobs at each node; their ids."""
    return [daemon.api(PATIENCE).add(**fields)["id"]
            for daemon in cluster.daemons for _ in range(count)]


def peak(path):
    """How many of those that wrote + and - into the file were there at once."""
    most = now = 0
    for sign in path.read_text().split():
        now += 1 if sign == "+" else -1
        most = max(most, now)
    return most


def test_a_resource_of_the_cluster_is_never_overbooked(cluster, place):
    """S3.44: two licences for three nodes with three slots each."""
    marks = place.path / "licences"
    api = cluster.daemons[1].api(PATIENCE)
    answer = api.request("PUT", "/resources/licence",
                         {"kind": "quantity", "scope": "cluster", "quantity": 2})
    assert answer.status == 201, answer
    for daemon in cluster.daemons:
        wait_for(lambda daemon=daemon:
                 daemon.api().request("GET", "/resources/licence").status == 200, PATIENCE)
    ids = add_everywhere(cluster, 4, resources={"licence": 1}, command=[
        "sh", "-c", f"echo + >> {marks}; sleep 0.2; echo - >> {marks}"])
    assert {job["state"] for job in settled(api, ids)} == {"done"}
    assert marks.read_text().split().count("+") == 12
    assert peak(marks) <= 2


def test_one_highlander_runs_in_the_whole_cluster(cluster, place):
    """S3.48: at most one instance over all nodes; those that wait are one."""
    marks = place.path / "highlander"
    api = cluster.daemons[2].api(PATIENCE)
    answer = api.request("PUT", "/handlers/only", {
        "lang": "sh", "highlander": True,
        "body": f"echo + >> {marks}; sleep 0.3; echo - >> {marks}"})
    assert answer.status == 201, answer
    for daemon in cluster.daemons:
        wait_for(lambda daemon=daemon:
                 daemon.api().request("GET", "/handlers/only").status == 200, PATIENCE)
    ids = set()
    for _ in range(3):
        answers = everywhere(cluster, "/jobs", {"type": "only"})
        assert {answer.status for answer in answers} <= {200, 201}, answers
        ids |= {answer.json()["id"] for answer in answers}
    jobs = settled(api, ids)
    assert {job["state"] for job in jobs} <= {"done", "cancelled"}
    assert all(job["state"] == "done" or job["merged_into"] for job in jobs)
    assert peak(marks) == 1
    assert marks.read_text().split().count("+") == len(
        [job for job in jobs if job["state"] == "done"])


def test_a_group_over_nodes_is_completed_once(cluster, place):
    """Members at every node, children that wait for them at another: one completion."""
    marks = place.path / "completed"
    api = cluster.daemons[0].api(PATIENCE)
    answer = api.request("PUT", "/handlers/complete",
                         {"lang": "sh", "body": f"cat >> {marks}; echo >> {marks}"})
    assert answer.status == 201, answer
    parents = add_everywhere(cluster, 2, group="spread", command=["sleep", "0.2"])
    for id in parents:
        wait_for(lambda id=id: api.request("GET", f"/jobs/{id}").status == 200, PATIENCE)
    children = [daemon.api(PATIENCE).add(group="spread", command=["true"],
                                         after=parents)["id"]
                for daemon in cluster.daemons]
    settled(api, parents + children)
    answer = cluster.daemons[2].api(PATIENCE).request(
        "PUT", "/groups/spread", {"then": "complete"})
    assert answer.status in (200, 201), answer
    group = wait_for(lambda: api.get("/groups/spread")["completion"]
                     and api.get("/groups/spread"), PATIENCE)
    assert group["total"] == group["finished"] == 9
    wait_for(lambda: marks.exists() and marks.read_text().strip(), PATIENCE)
    for job in api.all(type="complete"):
        job = api.until(job["id"], seconds=PATIENCE)
        assert job["state"] == "done" or job["merged_into"], job
    assert marks.read_text().count('"group":"spread"') == 1
