# SPDX-License-Identifier: Apache-2.0
"""test_nodes - what holds over all nodes of a store as it does on one: keys, groups,
resources, reads, pull workers."""
import concurrent.futures
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for      # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.daemon import Place     # noqa: E402

PATIENCE = 180 # seconds; a lease, a busy machine, sanitizers


@pytest.fixture(name="place", scope="module")
def fixture_place():
    with Place() as place:
        yield place


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster(place, server):
    """Three nodes; no test of this file kills one."""
    with Cluster(server.database("nodes"), place.path, 3, "--slots", "3") as nodes:
        yield nodes.start()


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


def licensed(cluster, marks):
    """Jobs with a licence at every node, all of them run; the node that ran them."""
    ids = add_everywhere(cluster, 4, resources={"licence": 1}, command=[
        "sh", "-c", f"echo + >> {marks}; sleep 0.2; echo - >> {marks}"])
    jobs = settled(cluster.daemons[0].api(PATIENCE), ids)
    assert {job["state"] for job in jobs} == {"done"}
    assert peak(marks) <= 2
    [node] = {job["node"] for job in jobs}
    return node


def test_a_resource_of_the_cluster_is_never_overbooked(cluster, place):
    """S3.44: two licences for three nodes with three slots each; the node that books them is
    drained and another does so."""
    marks = place.path / "licences"
    api = cluster.daemons[1].api(PATIENCE)
    answer = api.request("PUT", "/resources/licence",
                         {"kind": "quantity", "scope": "cluster", "quantity": 2})
    assert answer.status == 201, answer
    for daemon in cluster.daemons:
        wait_for(lambda daemon=daemon:
                 daemon.api().request("GET", "/resources/licence").status == 200, PATIENCE)
    home = licensed(cluster, marks)
    [booking] = [daemon.api(PATIENCE) for daemon in cluster.daemons
                 if "data" in daemon.api(PATIENCE).get(f"/nodes/{home}")] # its own, it tells all
    assert api.request("POST", f"/nodes/{home}/drain").status in (200, 202)
    wait_for(lambda: booking.request("GET", "/readyz").status == 503, PATIENCE)
    assert licensed(cluster, marks) != home
    assert api.request("POST", f"/nodes/{home}/resume").status in (200, 202)
    wait_for(lambda: booking.request("GET", "/readyz").status == 200, PATIENCE)
    assert licensed(cluster, marks) != home
    assert marks.read_text().split().count("+") == 36


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


def group_completed(cluster, place, name, early):
    """Members at every node, children that wait for them at another. `early`: that it is to
    be completed is said while all of them are open; else when they are over."""
    marks, gate = place.path / f"{name}.completed", place.path / f"{name}.gate"
    api = cluster.daemons[0].api(PATIENCE)
    answer = api.request("PUT", f"/handlers/{name}",
                         {"lang": "sh", "body": f"cat >> {marks}; echo >> {marks}"})
    assert answer.status == 201, answer
    parents = add_everywhere(cluster, 1, group=name, command=[
        "sh", "-c", f"until [ -e {gate} ]; do sleep 0.05; done"])
    for id in parents:
        wait_for(lambda id=id: api.request("GET", f"/jobs/{id}").status == 200, PATIENCE)
    members = parents + add_everywhere(cluster, 1, group=name, command=["true"],
                                       after=parents)
    for id in members:
        wait_for(lambda id=id: api.request("GET", f"/jobs/{id}").status == 200, PATIENCE)
    if not early:
        gate.touch()
        settled(api, members)
    answer = cluster.daemons[2].api(PATIENCE).request("PUT", f"/groups/{name}", {"then": name})
    assert answer.status in (200, 201), answer
    for daemon in cluster.daemons: # a definition reaches all nodes in a moment
        wait_for(lambda daemon=daemon:
                 daemon.api().get(f"/groups/{name}")["then"] == name, PATIENCE)
    gate.touch()
    group = wait_for(lambda: (lambda now: now["completion"] and now)(
        api.get(f"/groups/{name}")), PATIENCE)
    assert group["total"] == group["finished"] == len(members)
    wait_for(lambda: marks.exists() and marks.read_text().strip(), PATIENCE)
    for job in api.all(type=name):
        job = api.until(job["id"], seconds=PATIENCE)
        assert job["state"] == "done" or job["merged_into"], job
    assert marks.read_text().count(f'"group":"{name}"') == 1


def test_a_group_over_nodes_is_completed_once(cluster, place):
    group_completed(cluster, place, "early", early=True)
    group_completed(cluster, place, "late", early=False)


def test_an_operation_reaches_the_jobs_of_all_nodes(cluster):
    """S0.75: what matches is acted on wherever it runs or waits, once."""
    api = cluster.daemons[0].api(PATIENCE)
    waiting = add_everywhere(cluster, 4, command=["true"], tags=["crowd"],
                             run_at="2999-01-01T00:00:00Z")
    running = add_everywhere(cluster, 2, command=["sleep", "600"], tags=["crowd"])
    for id in waiting + running:
        wait_for(lambda id=id: api.request("GET", f"/jobs/{id}").status == 200, PATIENCE)
    for id in running:
        api.until(id, "running", seconds=PATIENCE)
    for action, ids, state in (("hold", waiting, "held"), ("cancel", waiting, "cancelled"),
                               ("kill", running, "cancelled")):
        query = "tag:crowd state:running" if action == "kill" else "tag:crowd state:deferred,held"
        answer = cluster.daemons[1].api(PATIENCE).request(
            "POST", "/operations", {"action": action, "q": query})
        assert answer.status == 202, answer
        for daemon in cluster.daemons: # each shows how it stands
            told = wait_for(lambda daemon=daemon: next(
                (item for item in daemon.api().get("/operations")["items"]
                 if item["id"] == answer.json()["id"] and item["state"] != "running"), None),
                PATIENCE)
            assert (told["state"], told["acted"], told["refused"]) == ("done", len(ids), 0), told
        for id in ids:
            assert api.until(id, state, seconds=PATIENCE)["attempt"] == (action == "kill")
