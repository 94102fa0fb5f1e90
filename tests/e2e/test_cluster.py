# SPDX-License-Identifier: Apache-2.0
"""test_cluster - several daemons on one PostgreSQL store: jobs go in anywhere and run
where there is room; a node that dies or sleeps loses its jobs to the others, once."""
import datetime
import json
import pathlib
import signal
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for      # noqa: E402
from lib.cluster import LEASE, STEADY, Cluster # noqa: E402
from lib.daemon import Place     # noqa: E402

PATIENCE = 180 # seconds; a lease, a busy machine, sanitizers


@pytest.fixture(name="place")
def fixture_place():
    with Place() as place:
        yield place


def two_nodes(server, place, request, lease):
    url = server.database(f"db{abs(hash(request.node.name))}")
    nodes = Cluster(url, place.path, 2, "--slots", "2", lease=lease)
    try:
        yield nodes.start()
    finally:
        nodes.close()


@pytest.fixture(name="cluster")
def fixture_cluster(server, place, request):
    yield from two_nodes(server, place, request, STEADY)


@pytest.fixture(name="mortal")
def fixture_mortal(server, place, request):
    """Nodes that may die: the others notice it soon."""
    yield from two_nodes(server, place, request, LEASE)


def nodes_that_ran(api, ids):
    return {api.job(id).get("node") for id in ids}


def test_jobs_run_where_there_is_room(cluster, place):
    """S2.29, S1.2, S1.21: both take jobs, and those that went in at one run on both."""
    first, second = cluster.daemons
    api = first.api()
    # Each waits for a third one to run: on one node they never would.
    marks = place.path / "marks"
    marks.mkdir()
    body = f"touch {marks}/$PAWL_JOB_ID; while [ $(ls {marks} | wc -l) -lt 3 ]; do sleep 0.05; done"
    ids = [api.add(command=["sh", "-c", body])["id"] for _ in range(6)]
    for id in ids:
        assert api.until(id, seconds=PATIENCE)["state"] == "done"
    assert len(nodes_that_ran(api, ids)) == 2
    other = second.api()
    assert other.until(ids[0], seconds=PATIENCE)["state"] == "done"
    assert other.until(other.add(command=["true"])["id"], seconds=PATIENCE)["state"] == "done"


def test_a_killed_node_loses_its_jobs_to_the_others(mortal, place):
    """S0.13: kill -9 of a node and its launcher: its jobs run elsewhere."""
    first, second = mortal.daemons
    marks = place.path / "marks"
    marks.mkdir()
    api = first.api()
    ids = [api.add_soon(command=["sh", "-c", f"echo $PAWL_ATTEMPT >> {marks}/{n}; sleep 2"])["id"]
           for n in range(6)]
    wait_for(lambda: any(marks.iterdir()), PATIENCE)
    other = second.api()
    for id in ids: # what only its journal had would come when it returns
        wait_for(lambda id=id: other.request("GET", f"/jobs/{id}").status == 200, PATIENCE)
    first.kill()
    first.kill_launcher()
    first.kill_jobs()
    for id in ids:
        assert other.until(id, seconds=PATIENCE)["state"] == "done"


def test_silence_counts_by_the_interval_of_now(server, place, request):
    """S0.15, S1.59: job_stale_interval is an hour; made 5 s while a job runs, it breaks that
    job's lock on a node that is silent for so long, and not before."""
    for nodes in two_nodes(server, place, request, "1h"):
        gate = place.path / "gate"
        api = nodes.daemons[0].api()
        id = api.add_soon(command=["sh", "-c", f"until [ -e {gate} ]; do sleep 0.1; done"],
                          max_retries=0)["id"]
        job = api.until(id, {"running"}, seconds=PATIENCE)
        runner, other = runner_and_other(nodes, job)
        assert promised(job) > 3000
        set_interval(nodes, "PT5S")
        api = other.api()
        wait_for(lambda: promised(got(api, f"/jobs/{id}")) < 6, PATIENCE)
        wait_for(lambda: all(node["lease_left_ms"] <= 5000 for node in
                             got(api, "/nodes")["items"]), PATIENCE)
        runner.kill()
        runner.kill_launcher()
        while runner.kill_jobs():
            pass
        gate.touch()
        job = api.until(id, seconds=PATIENCE) # within an hour nobody would touch it
        assert job["state"] == "done" and job["retry_number"] == 0, job
        first, second = got(api, f"/jobs/{id}/attempts")["items"][-2:]
        assert (first["exitcode"], second["exitcode"]) == (502, 200)
        # The heartbeat of a job and the lease of its node are renewed a moment apart.
        assert when(second["started_at"]) - when(first["last_heartbeat_at"]) >= 2.5


def got(api, path):
    """A node that this machine was too slow for cannot say for a moment."""
    return wait_for(lambda: (answer := api.request("GET", path)).status == 200 and answer,
                    PATIENCE, pause=0.1).json()


def set_interval(nodes, interval):
    """And both know it."""
    api = nodes.daemons[0].api()
    wait_for(lambda: api.request("PATCH", "/config", {"job_stale_interval": interval}).status
             == 200, PATIENCE, pause=0.1)
    for daemon in nodes.daemons:
        api = daemon.api()
        wait_for(lambda: got(api, "/config")["job_stale_interval"] == interval, PATIENCE)


def when(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def promised(job):
    """Seconds from its last sign of life to where its lock may be broken; 0: it was."""
    running = job["state"] == "running" and job["last_heartbeat_at"]
    return when(job["dt"]) - when(job["last_heartbeat_at"]) if running else 0


def runner_and_other(nodes, job):
    """The daemon that runs the job, and the other one."""
    ours = [f"event=node.joined sysid={job['node']} " in daemon.log() for daemon in nodes.daemons]
    assert sorted(ours) == [False, True], job
    return sorted(nodes.daemons, key=lambda daemon: ours[nodes.daemons.index(daemon)],
                  reverse=True)


def test_a_node_that_slept_finds_itself_fenced_and_comes_back(mortal, place):
    """SIGSTOP longer than the lease: its jobs run elsewhere, its late
    results are refused, and it goes on as a node among others."""
    gate = place.path / "gate"
    api = mortal.daemons[0].api()
    id = api.add_soon(command=["sh", "-c", f"until [ -e {gate} ]; do sleep 0.1; done"])["id"]
    job = api.until(id, {"running"}, seconds=PATIENCE)
    sleeper, other = runner_and_other(mortal, job)
    joined = sleeper.log().count("event=node.joined")
    sleeper.process.send_signal(signal.SIGSTOP)
    # It was fenced: another attempt runs, and only the other one can have it.
    wait_for(lambda: other.api().until(id, {"running"}, seconds=PATIENCE)["attempt"]
             > job["attempt"], PATIENCE, other.tail, pause=0.1)
    gate.touch()
    job = other.api().until(id, seconds=PATIENCE)
    assert job["state"] == "done"
    sleeper.process.send_signal(signal.SIGCONT)
    wait_for(lambda: sleeper.log().count("event=node.joined") > joined, PATIENCE, sleeper.tail)
    sleeper.wait_ready(PATIENCE)
    again = sleeper.api()
    assert again.until(id, seconds=PATIENCE)["attempt"] == job["attempt"]
    late = again.add_soon(command=["true"])["id"]
    assert again.until(late, seconds=PATIENCE)["state"] == "done"


def alerts(api):
    """None: it cannot say just now."""
    answer = api.request("GET", "/alerts")
    assert answer.status in (200, 503), answer
    return answer.json()["items"] if answer.status == 200 else None


def test_a_lost_node_is_told_until_it_is_back(mortal):
    """The alert `node lost`, whichever of them held the controller lock."""
    first, second = mortal.daemons
    api = first.api()
    wait_for(lambda: api.request("PUT", "/alert-rules/lost", {"when": "node lost"}).status
             in (200, 201), PATIENCE, first.tail, pause=0.1)
    second.kill()
    second.kill_launcher()
    [alert] = wait_for(lambda: alerts(api), PATIENCE)
    assert alert["rule"] == "lost" and "no longer renews its lease" in alert["detail"]
    second.start()
    wait_for(lambda: alerts(api) == [], PATIENCE)
    wait_for(lambda: "event=alert.firing " in first.log(), PATIENCE)


def test_a_controller_that_no_one_replaces_is_told(server, place):
    """The alert `controller stale`: its owner is gone, the other node is leaving and takes
    no duties; and S0.71: who has the lock, its version and its time are seen at every node."""
    nodes = Cluster(server.database("stale"), place.path, 2, "--slots", "2", "--set",
                    "daemon.drain=10m")
    first, second = nodes.start().daemons
    try:
        owners = {item["sysid"]: node for node in (first, second)
                  for item in node.api().get("/nodes")["items"] if item["pid"] == node.pid}
        assert len(owners) == 2, owners
        lock = wait_for(lambda: first.api().get("/controller")["owner"]
                        and first.api().get("/controller"), PATIENCE)
        wait_for(lambda: second.api().get("/controller")["owner"] == lock["owner"], PATIENCE)
        assert lock["version"] >= 1 and lock["timestamp"] and not lock["stale"]
        holder = owners.pop(lock["owner"])
        [other] = owners.values()
        api = other.api()
        answer = api.request("PUT", "/alert-rules/stale", {"when": "controller stale"})
        assert answer.status == 201, answer
        other.process.send_signal(signal.SIGTERM)
        wait_for(lambda: "event=daemon.leaving" in other.log(), PATIENCE)
        answer = other.api().request("PATCH", "/config", {"controller_stale_interval": "PT1S"})
        assert answer.status == 200, answer
        holder.kill()
        holder.kill_launcher()
        [alert] = wait_for(lambda: other.api().get("/alerts")["items"], PATIENCE)
        assert alert["rule"] == "stale" and lock["owner"] in alert["detail"], alert
        assert other.api().get("/controller")["stale"] is True
        wait_for(lambda: "event=alert.firing " in other.log(), PATIENCE)
        holder.start()
        wait_for(lambda: not other.api().get("/controller")["stale"], PATIENCE)
        wait_for(lambda: not holder.api().get("/alerts")["items"], PATIENCE)
    finally:
        nodes.close()


def test_actions_reach_a_job_of_another_node(cluster):
    """What is asked of one node about another's job is done there."""
    first, second = cluster.daemons
    api = first.api()
    other = second.api()
    id = api.add(command=["sleep", "600"])["id"]
    wait_for(lambda: other.request("GET", f"/jobs/{id}").status == 200, PATIENCE)
    other.until(id, {"running"}, seconds=PATIENCE)
    # 503: the owner did not get to it in time, and nobody knows; asking again does no harm.
    wait_for(lambda: other.request("POST", f"/jobs/{id}/kill").status in (200, 409), PATIENCE)
    assert other.until(id, seconds=PATIENCE)["state"] == "cancelled"


def test_definitions_are_seen_by_all(cluster):
    """S2.105: a queue that was paused at one node is paused at the other."""
    first, second = cluster.daemons
    first.api().request("PUT", "/api/v1/queues/slow", {"paused": True})
    wait_for(lambda: second.api().get("/api/v1/queues/slow").get("paused") is True, PATIENCE)
    api = second.api()
    id = api.add(command=["true"], queue="slow")["id"]
    first.api().request("PUT", "/api/v1/queues/slow", {"paused": False})
    assert api.until(id, seconds=PATIENCE)["state"] == "done"


def test_many_jobs_and_many_nodes(server, place):
    """S0.4: it scales well: slots of more nodes add up, for jobs that went in at one of
    them; twenty thousand that wait hold up no other; and S1.52: each of many runs once."""
    nodes = Cluster(server.database("many"), place.path, 3, "--slots", "2")
    marks = place.path / "marks"
    marks.mkdir()
    try:
        nodes.start()
        api = nodes.daemons[0].api(PATIENCE)
        assert api.request("PUT", "/queues/later", {"paused": True}).status in (200, 201)
        line = json.dumps({"command": ["true"], "queue": "later"}) + "\n"
        answer = api.request("POST", "/jobs", (line * 20000).encode(),
                             {"Content-Type": "application/x-ndjson"})
        assert answer.status == 200, answer
        assert answer.lines()[-1]["summary"]["accepted"] == 20000

        # Each waits for all six to run: on one node, or two, they never would.
        body = (f"touch {marks}/at-once-$PAWL_JOB_ID; "
                f"while [ $(ls {marks} | grep -c at-once) -lt 6 ]; do sleep 0.05; done")
        ids = [api.add(command=["sh", "-c", body])["id"] for _ in range(6)]
        for id in ids:
            assert api.until(id, seconds=PATIENCE)["state"] == "done"
        assert len(nodes_that_ran(api, ids)) == 3

        apis = [daemon.api(PATIENCE) for daemon in nodes.daemons]
        ids = [apis[n % 3].add(command=["sh", "-c", f"echo {n} >> {marks}/ran"])["id"]
               for n in range(150)]
        for id in ids:
            wait_for(lambda id=id: api.request("GET", f"/jobs/{id}").status == 200, PATIENCE)
            assert api.until(id, seconds=PATIENCE)["state"] == "done"
        ran = [int(word) for word in (marks / "ran").read_text().split()]
        assert sorted(ran) == list(range(150))
    finally:
        nodes.close()
