# SPDX-License-Identifier: Apache-2.0
"""pawl export --all and pawl import --all: a whole store goes into a file and from there into
a store of either kind, without loss, and daemons go on with it."""
import collections
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import PATIENCE, wait_for     # noqa: E402
from lib.cluster import Cluster    # noqa: E402
from lib.daemon import Place, program      # noqa: E402

LONG = 180 # seconds; a busy machine, sanitizers
LEASE = ("--set", "scheduling.lease=60s")  # no busy machine lets it lapse
LATER = "2099-01-01T00:00:00Z"


@pytest.fixture
def place():
    with Place() as place:
        yield place


def pawl(*words, code=0):
    env = {name: value for name, value in os.environ.items() if not name.startswith("PAWL_")}
    done = subprocess.run([program(), *map(str, words)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=LONG, env=env)
    assert done.returncode == code, done
    return done.stdout if code == 0 else done.stderr


def export(data, store, file, code=0):
    told = pawl("export", "--all", file, "--data", data, "--store", store, code=code)
    return told if code else file.read_bytes()


def take_in(data, store, file, *more, code=0):
    return pawl("import", "--all", file, "--data", data, "--store", store, *more, code=code)


def put(api, path, **fields):
    answer = api.request("PUT", path, fields)
    assert answer.status in (200, 201), answer


# --- a store with everything in it -----------------------------------------------------

DEFINITIONS = ("/tenants", "/handlers", "/handlers/echo/versions", "/queues", "/resources",
               "/schedules", "/alert-rules", "/tokens", "/config")
PASSING = ("jobs", "running", "head_wait_ms")
TABLES = ("attempt", "result", "booking", "resource_item", "definition", "idempotency", "point",
          "rollup", "job_wait", "job_group", "job_unique")


def define(api):
    put(api, "/tenants/acme", segregate_types=True, max_queued=100)
    put(api, "/handlers/echo", body="cat", lang="sh")
    put(api, "/handlers/echo", body="echo second; cat", lang="sh")
    put(api, "/queues/mail", slots=2)
    put(api, "/queues/stopped", slots=1)
    assert api.request("POST", "/queues/stopped/pause", {"reason": "moving"}).status == 200
    put(api, "/resources/gpu", quantity=2)
    put(api, "/resources/licence", list=["a", "b"])
    put(api, "/schedules/yearly", cron="0 3 1 1 *", command=["true"])
    put(api, "/groups/all", then="echo")
    assert api.request("POST", "/tokens", {"name": "ci", "scopes": ["read"]}).status == 201
    assert api.request("PATCH", "/config", {"max_concurrent_jobs": 6}).status == 200
    put(api, "/alert-rules/disk", when="disk free < 4000000G", to="webhook:http://127.0.0.1:9/")


def end_some(api):
    """Jobs that have ended, each in its way."""
    said = ["sh", "-c", "echo 'R: 200 forty-two'"]
    ended = {
        "done": api.add(command=said, protocol=True, tags=["x"])["id"],
        "failed": api.add(command=["false"], max_retries=0)["id"],
        "retried": api.add(command=["sh", "-c", "test $PAWL_ATTEMPT = 2"], max_retries=3,
                           retry_delay="10ms")["id"],
        "echo": api.add(type="echo", payload="text\nwith lines", group="all")["id"],
        "long": api.add(command=["true"], payload="x" * 20000)["id"],
        "rejected": api.add(type="nobody", retry_window="10ms")["id"],
        "cancelled": api.add(command=["true"], held=True)["id"],
    }
    api.act(ended["cancelled"], "cancel")
    for id in ended.values():
        api.until(id, seconds=LONG)
    return ended


def leave_some(api, door):
    """Jobs that wait for something, and one that runs."""
    waits = ["sh", "-c", f"until test -e {door}; do sleep 0.1; done"]
    left = {
        "held": api.add(command=["true"], held=True, group="all")["id"],
        "deferred": api.add(command=["true"], run_at=LATER)["id"],
        "unique": api.add(command=["true"], queue="stopped",
                          unique={"key": "customer 7"})["id"],
        "binary": api.add(command=["cat"], payload_base64="/wAK", queue="stopped")["id"],
        "running": api.add(command=waits, resources={"gpu": 1, "licence": 1})["id"],
        "retrying": api.add(command=["false"], retry_delay="1h", max_retries=1)["id"],
    }
    left["blocked"] = api.add(command=["true"], after=[left["running"]])["id"]
    answer = api.request("POST", "/jobs?tenant=acme", {"type": "echo", "held": True},
                         {"Idempotency-Key": "once"})
    assert answer.status == 201, answer
    api.until(left["running"], "running", seconds=LONG)
    api.until(left["retrying"], "retrying", seconds=LONG)
    return left


def defined(api, path):
    """What was said, without how many jobs there are by now and how long they wait."""
    told = api.get(path)
    for item in told.get("items", []):
        for name in PASSING:
            item.pop(name, None)
    return told


def counts_are_right(api):
    """Sums of the store against the jobs themselves."""
    jobs = collections.Counter((job["tenant"], job["state"]) for job in api.all(tenant="*"))
    sums = {(tenant["name"], state): count for tenant in api.get("/tenants")["items"]
            for state, count in tenant["jobs"].items() if count}
    return sums == jobs


def look(api, ids):
    """What people see of it, without what changes by the minute."""
    told = {path: defined(api, path) for path in DEFINITIONS}
    told["jobs"] = {id: api.job(id) for id in ids}
    told["attempts"] = {id: api.get(f"/jobs/{id}/attempts") for id in ids}
    told["acme"] = api.get("/jobs?tenant=acme")["items"]
    oldest = api.get("/audit?limit=1000")["items"][-10:]
    told["audit"] = [(one["at"], one["action"], one["target"]) for one in oldest]
    return told


def owed(api):
    """Notices that no one has taken: more may come, none of them goes."""
    return {one["id"] for one in api.get("/notices")["items"]}


def go_on(api, left, door):
    """What waited goes on."""
    door.touch()
    for name in ("running", "blocked"):
        assert api.until(left[name], seconds=LONG)["state"] == "done"
    refused = api.request("POST", "/jobs", {"command": ["true"], "unique": {"key": "customer 7"}})
    assert refused.status == 409, refused
    assert api.request("POST", "/queues/stopped/resume").status == 200
    assert api.until(left["unique"], seconds=LONG)["state"] == "done"
    assert api.until(left["binary"], seconds=LONG)["state"] == "done"


def test_everything_moves_to_postgresql_and_back(place, server):
    """SQLite, a file, PostgreSQL, a file, SQLite: the same bytes each time. The first daemon
    was killed: what only its journal has is moved too, and the job that ran on is taken over
    and not run again. Daemons go on from each of the stores."""
    url = server.database("moved")
    door = place.path / "door"
    node = place.daemon("--store", "sqlite:", *LEASE).start()
    api = node.api(LONG)
    define(api)
    ended = end_some(api)
    left = leave_some(api, door)
    notices = wait_for(lambda: owed(api), LONG)
    steady = [*ended.values(), *(left[name] for name in
                                 ("held", "deferred", "unique", "binary", "retrying"))]
    before = look(api, steady)
    node.kill()

    files = [place.path / f"{number}.export" for number in range(5)]
    first = export(node.data, "sqlite:", files[0])
    assert [name for name in TABLES if f'"table":"{name}"'.encode() not in first] == []
    assert export(node.data, "sqlite:", files[1]) == first
    take_in(node.data, url, files[0])
    assert export(node.data, url, files[1]) == first
    take_in(node.data, "sqlite:second.db", files[1])
    assert export(node.data, "sqlite:second.db", files[2]) == first

    shared = place.daemon("--store", url, *LEASE).start()
    api = shared.api(LONG)
    wait_for(lambda: counts_are_right(api), LONG)
    assert look(api, steady) == before and owed(api) >= notices
    running = api.job(left["running"])
    assert (running["state"], running["attempt"]) == ("running", 1)
    go_on(api, left, door)
    assert api.request("GET", f"/jobs/{ended['done']}/result").body == b"forty-two"
    middle = look(api, steady)
    new = api.add(command=["true"], held=True)["id"]
    assert new not in [job["id"] for job in before["jobs"].values()]
    assert shared.stop() == 0

    fourth = export(shared.data, url, files[3])
    take_in(shared.data, "sqlite:third.db", files[3])
    assert export(shared.data, "sqlite:third.db", files[4]) == fourth
    last = place.daemon("--store", "sqlite:third.db", *LEASE).start()
    api = last.api(LONG)
    wait_for(lambda: counts_are_right(api), LONG)
    assert look(api, steady) == middle and owed(api) >= notices
    for id in (new, left["held"]):
        api.act(id, "release")
        assert api.until(id, seconds=LONG)["state"] == "done"
    assert last.stop() == 0


def at_each_node(nodes):
    """Jobs of every kind at each of them: those that have ended, and those that wait."""
    ended, waiting = {}, {}
    for number, node in enumerate(nodes):
        api = node.api(LONG)
        done = api.add(command=["sh", "-c", f"echo 'R: 200 node {number}'"], protocol=True)["id"]
        api.until(done, seconds=LONG)
        ended[done] = f"node {number}".encode()
        held = [api.add(command=["true"], held=True, payload="x" * size)["id"]
                for size in (10, 5000)]
        waiting[held[0]], waiting[held[1]] = "held", "held"
        waiting[api.add(command=["true"], run_at=LATER)["id"]] = "deferred"
        waiting[api.add(command=["true"], after=[held[0]])["id"]] = "blocked"
        waiting[api.add(command=["true"], queue="stopped", unique={"key": f"u{number}"})["id"]] = \
            "ready"
    return ended, waiting


def states(api, ids):
    return {id: api.job(id)["state"] for id in ids}


def all_there(node, ended, waiting):
    api = node.api(LONG)
    wait_for(lambda: counts_are_right(api), LONG)
    assert states(api, waiting) == waiting
    assert states(api, ended) == dict.fromkeys(ended, "done")
    for id, said in ended.items():
        assert api.request("GET", f"/jobs/{id}/result").body == said
    return api


def export_when_over(data, store, file):
    """A node that could not say that it leaves keeps its lease to the end: until then the
    store is in use."""
    def exported():
        done = subprocess.run([program(), "export", "--all", file, "--data", data, "--store",
                               store], capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=LONG, check=False)
        assert done.returncode in (0, 5), done
        return done.returncode == 0
    wait_for(exported, LONG, pause=0.5)


def test_a_store_of_several_nodes_moves_and_comes_back(place, server):
    """PostgreSQL with two nodes that own jobs, SQLite, PostgreSQL with two new nodes: nothing is
    lost on the way, and everything runs in the end."""
    (place.path / "old").mkdir()
    url = server.database("two")
    cluster = Cluster(url, place.path / "old", 2, "--slots", "2")
    try:
        nodes = cluster.start().daemons
        put(nodes[0].api(), "/queues/stopped", slots=1)
        assert nodes[0].api().request("POST", "/queues/stopped/pause", {}).status == 200
        wait_for(lambda: nodes[1].api().get("/queues/stopped")["paused"], LONG)
        ended, waiting = at_each_node(nodes)
        assert [node.stop() for node in nodes] == [0, 0]
    finally:
        cluster.close()
    files = [place.path / f"several{number}" for number in range(2)]
    export_when_over(place.path / "visitor", url, files[0])
    alone = place.daemon("--store", "sqlite:", *LEASE, data=place.path / "alone")
    take_in(alone.data, "sqlite:", files[0])
    all_there(alone.start(), ended, waiting)
    assert alone.stop() == 0

    export(alone.data, "sqlite:", files[1])
    url = server.database("two_again")
    (place.path / "new").mkdir()
    cluster = Cluster(url, place.path / "new", 2, "--slots", "2")
    try:
        take_in(cluster.daemons[0].data, url, files[1])
        nodes = cluster.start().daemons
        all_there(nodes[1], ended, waiting)
        api = all_there(nodes[0], ended, waiting)
        assert api.request("POST", "/queues/stopped/resume").status == 200
        for number, (id, state) in enumerate(waiting.items()):
            if state == "held":
                nodes[number % 2].api(LONG).act(id, "release")
            if state == "deferred":
                assert api.request("PATCH", f"/jobs/{id}",
                                   {"run_at": "2020-01-01T00:00:00Z"}).status == 200
        for id in waiting:
            assert api.until(id, seconds=LONG)["state"] == "done"
    finally:
        cluster.close()


def test_a_new_node_takes_no_number_whose_journal_was_read(place, server):
    """The store goes on with one of its nodes; a new one comes, and only then the other. Each
    begins, what was acknowledged is there once, and what each accepts then is done."""
    cluster = Cluster(server.database("one_of_two"), place.path, 3, "--slots", "2")
    first, second, new = cluster.daemons
    url = server.database("one_and_new")
    try:
        held = [node.start().api().add(command=["true"], held=True)["id"]
                for node in (first, second)]
        assert [node.stop() for node in (first, second)] == [0, 0]
        file = place.path / "one_of_two.export"
        export_when_over(first.data, first.options[1], file)
        take_in(first.data, url, file)
        for node in cluster.daemons:
            node.options[1] = url
        added = [node.start().api(LONG).add(command=["true"])["id"]
                 for node in (first, new, second)]
        numbers = [(node.data / "identity").read_text().split()[1] for node in cluster.daemons]
        assert numbers == ["number=1", "number=2", "number=3"]
        api = second.api(LONG)
        for id in added:
            assert api.until(id, seconds=LONG)["state"] == "done"
        assert sorted(job["id"] for job in api.all()) == sorted(held + added)
        for id in held:
            api.act(id, "release")
            assert api.until(id, seconds=LONG)["state"] == "done"
    finally:
        cluster.close()


# --- what is refused -------------------------------------------------------------------

@pytest.fixture
def small(place):
    """A stopped daemon with two jobs, and its export."""
    node = place.daemon("--store", "sqlite:", *LEASE).start()
    for _ in range(2):
        node.api().add(command=["true"], held=True)
    assert node.stop() == 0
    file = place.path / "small.export"
    export(node.data, "sqlite:", file)
    return node, file


def test_files_that_are_not_whole_are_refused(place, small):
    """Nothing of them gets in."""
    node, file = small
    whole = file.read_bytes()
    bad = place.path / "bad.export"
    for text, says in ((whole[:-1], "cut off"), (whole[:len(whole) // 2], "cut off"),
                       (whole.replace(b'"slot":0', b'"slot":1', 1), "damaged"),
                       (b"1|mail|x\n", "no export of a store"), (b"", "no export of a store"),
                       (whole.replace(b"1}", b"9}", 1), "another format")):
        bad.write_bytes(text)
        told = take_in(node.data, "sqlite:new.db", bad, code=1)
        assert says in told, told
    assert not (node.data / "new.db").exists()
    assert "bad.export.none" in take_in(node.data, "sqlite:new.db", f"{bad}.none", code=3)
    assert "none.db" in export(node.data, "sqlite:none.db", bad, code=3)
    assert "--all takes everything" in pawl("export", "--all", bad, "state:done", code=2)


def test_a_store_that_is_not_empty_is_replaced_only_if_told(place, small, server):
    node, file = small
    url = server.database("full")
    for store in ("sqlite:", url):
        if store == url:
            take_in(node.data, store, file)
        told = take_in(node.data, store, file, code=5)
        assert "not empty" in told and "--replace" in told, told
        take_in(node.data, store, file, "--replace")
        assert export(node.data, store, place.path / "again.export") == file.read_bytes()


def test_a_store_in_use_is_refused(place, small, server):
    """By its own data directory's daemon, and on a shared store by any node that lives."""
    node, file = small
    url = server.database("used")
    take_in(node.data, url, file)
    node = place.daemon("--store", url, *LEASE).start()
    for told in (export(node.data, url, file, code=5),
                 take_in(node.data, url, file, "--replace", code=5)):
        assert "a daemon uses" in told and "stop it" in told, told
    other = place.path / "elsewhere"
    for told in (export(other, url, file, code=5),
                 take_in(other, url, file, "--replace", code=5)):
        assert "uses the store" in told, told
    assert len(node.api().all()) == 2
    assert node.stop() == 0


def test_an_export_goes_with_its_journal_or_begins_a_new_one(place, small, server):
    """A data directory that has gone on since is refused; a new one takes everything, also
    what another node would own."""
    node, file = small
    node.start()
    id = node.api().add(command=["true"], held=True)["id"]
    assert node.stop() == 0
    told = take_in(node.data, "sqlite:", file, "--replace", code=5)
    assert "does not end where this export does" in told, told
    export(node.data, "sqlite:", file)
    for number, store in enumerate(("sqlite:", server.database("fresh"))):
        fresh = place.daemon("--store", store, *LEASE, data=place.path / f"fresh{number}")
        take_in(fresh.data, store, file)
        api = fresh.start().api()
        assert len(api.all()) == 3
        api.act(id, "release")
        assert api.until(id, seconds=PATIENCE)["state"] == "done"
        assert api.add(command=["true"], held=True)["id"] > id
        assert fresh.stop() == 0


def test_a_job_that_runs_elsewhere_is_not_taken(place):
    """Its node would end it; a new data directory knows nothing of it."""
    door, file = place.path / "door", place.path / "one.export"
    node = place.daemon("--store", "sqlite:", *LEASE).start()
    waits = ["sh", "-c", f"until test -e {door}; do sleep 0.1; done"]
    id = node.api().add(command=waits)["id"]
    node.api().until(id, "running", seconds=LONG)
    node.kill()
    export(node.data, "sqlite:", file)
    told = take_in(place.path / "fresh", "sqlite:", file, code=5)
    assert id in told and "runs at node" in told, told
    door.touch()
