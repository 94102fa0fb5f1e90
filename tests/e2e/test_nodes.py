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
