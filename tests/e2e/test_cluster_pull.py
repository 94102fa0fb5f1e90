# SPDX-License-Identifier: Apache-2.0
"""test_cluster_pull - pull workers of several nodes on one store: they get jobs wherever those
were added, and may tell any node what became of them."""
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for      # noqa: E402
from lib.cluster import Cluster # noqa: E402
from lib.daemon import Place, program # noqa: E402

PATIENCE = 180 # seconds; a busy machine, sanitizers


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster(server):
    with Place() as place, Cluster(server.database("pull"), place.path, 2, "--slots",
                                   "2") as nodes:
        yield nodes.start()


def handler(cluster, type):
    """Known to both."""
    first, second = (daemon.api(PATIENCE) for daemon in cluster.daemons)
    answer = first.request("PUT", f"/handlers/{type}", {"lang": "pull"})
    assert answer.status in (200, 201), answer
    wait_for(lambda: second.request("GET", f"/handlers/{type}").status == 200, PATIENCE)
    return first, second


def claim(api, type, count=1):
    """Jobs come as other nodes give them: so many in all."""
    jobs = []

    def asked():
        answer = api.request("POST", "/claims", {"types": [type], "max": count - len(jobs),
                                                 "wait": "PT5S", "lease": "PT10M"})
        assert answer.status in (200, 204), answer
        jobs.extend(answer.json()["jobs"] if answer.status == 200 else [])
        return len(jobs) >= count

    wait_for(asked, PATIENCE)
    return jobs


def tell(api, what, jobs, wanted="ok", **fields):
    """Each of them gets the wanted status. Asked again while a node does not answer in time:
    an end that was told before its answer was lost is late the second time."""
    items = [{"id": job["id"], "attempt": job["attempt"], "token": job["token"], **fields}
             for job in jobs]
    answers = []

    def answered():
        answers.append(api.request("POST", f"/claims/{what}", {"items": items}))
        return answers[-1].status != 503

    wait_for(answered, PATIENCE, lambda: f"{answers[-1]}")
    assert answers[-1].status == 200, answers[-1]
    told = [item["status"] for item in answers[-1].json()["items"]]
    good = {wanted, "late"} if what == "finish" and len(answers) > 1 else {wanted}
    assert len(told) == len(jobs) and set(told) <= good, told


def test_workers_get_jobs_of_other_nodes(cluster):
    """S2.29: a worker at a node without jobs of its own gets those that went in elsewhere."""
    first, second = handler(cluster, "mail")
    ids = {first.add(type="mail", payload=str(n))["id"] for n in range(4)}
    jobs = claim(second, "mail", 4)
    assert {job["id"] for job in jobs} == ids
    assert {job["payload"] for job in jobs} == {"0", "1", "2", "3"}
    tell(second, "finish", jobs, result="sent")
    for id in ids:
        assert first.until(id, seconds=PATIENCE)["state"] == "done"


def test_only_what_a_worker_asks_for_is_given(cluster):
    """Jobs of other types stay where they are."""
    first, second = handler(cluster, "wanted")
    handler(cluster, "unwanted")
    stays = first.add(type="unwanted")["id"]
    comes = first.add(type="wanted")["id"]
    jobs = claim(second, "wanted")
    assert [job["id"] for job in jobs] == [comes]
    assert first.job(stays)["state"] == "ready"
    tell(second, "finish", jobs)
    tell(first, "finish", claim(first, "unwanted"))


def test_any_node_may_be_told(cluster):
    """S1.2: behind a balancer a worker renews and finishes at whichever node it meets, also
    jobs of several nodes at once; tokens are as good as at their own."""
    first, second = handler(cluster, "call")
    for api in (first, first, second):
        api.add(type="call")
    jobs = claim(first, "call") + claim(second, "call", 2)
    assert len({job["id"] for job in jobs}) == 3
    assert len({job["node"] for job in jobs}) == 2
    for api in (first, second):
        tell(api, "renew", jobs, progress=50)
    wrong = [{**job, "token": ("1" if job["token"][0] == "0" else "0") + job["token"][1:]}
             for job in jobs]
    tell(first, "renew", wrong, "lost")
    tell(second, "finish", wrong, "late")
    tell(second, "finish", jobs, result="done")
    tell(first, "finish", jobs, "late")
    for job in jobs:
        assert first.until(job["id"], seconds=PATIENCE)["state"] == "done"
        assert second.request("GET", f"/jobs/{job['id']}/result").body == b"done"


WORKER = """
import json, os, sys
out = os.fdopen(int(os.environ["PAWL_REPLY_FD"]), "w", buffering=1)
for line in sys.stdin:
    job = json.loads(line)
    out.write(f"R: {job['id']} 200 {job['payload'].upper()}\\n")
"""


def test_a_worker_program_serves_another_node(cluster):
    """`pawl worker` at one node runs what was added at the other."""
    first, second = handler(cluster, "shout")
    id = first.add(type="shout", payload="hey")["id"]
    with subprocess.Popen([program(), "worker", "--type", "shout", "--server",
                           "unix:" + cluster.daemons[1].socket(), "--",
                           sys.executable, "-c", WORKER],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as worker:
        try:
            assert first.until(id, seconds=PATIENCE)["state"] == "done"
        finally:
            worker.terminate()
            worker.wait(PATIENCE)
    assert second.request("GET", f"/jobs/{id}/result").body == b"HEY"
