# SPDX-License-Identifier: Apache-2.0
"""The archive on PostgreSQL: an old part goes as a whole, and with it all that there is of its
jobs, on every node; kill -9 in between, a reader in its way."""
import contextlib
import pathlib
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for                          # noqa: E402
from lib.daemon import Place, files_below             # noqa: E402
from lib.pg_node import SECONDS, daemon, server, things, until_done # noqa: E402, F401

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
PARTS = 22             # of 2**50 ids: about 68 days
KEEP = ("--set", "scheduling.keep_done=60d") # a part of that time is whole and has just become due
YEARS = 31556952000000 # 1000 of them, in milliseconds


@pytest.fixture(name="place")
def fixture_place():
    with Place() as place:
        yield place


@pytest.fixture(name="database")
def fixture_database(things): # noqa: F811
    return server(things)


def number(id):
    value = 0
    for digit in id:
        value = value * 32 + ALPHABET.index(digit)
    return value


def text(value):
    return "".join(ALPHABET[value >> shift & 31] for shift in range(60, -1, -5))


def older(id):
    return text(number(id) - (PARTS << 50))


def age(database, nodes):
    """What is in the archive came and ended long ago: in the database and on disks."""
    back = PARTS << 28
    database.ask(f"""
        SELECT pawl.part_add(part) FROM (
          SELECT DISTINCT (id >> 50) - {PARTS} AS part FROM pawl.job_done) p;
        UPDATE pawl.job_done SET dt = dt - {back}, created = created - {back},
          run_at = run_at - {back}, started = started - {back}, finished = finished - {back};
        UPDATE pawl.job_done SET id = id - ({PARTS}::int8 << 50), sum = NULL;
        UPDATE pawl.attempt SET job = job - ({PARTS}::int8 << 50);
        UPDATE pawl.result SET job = job - ({PARTS}::int8 << 50);
        UPDATE pawl.payload SET job = job - ({PARTS}::int8 << 50)""")
    for node in nodes:
        for path in files_below(node.data / "logs"):
            path = pathlib.Path(path)
            id, rest = path.name.split(".", 1)
            path.rename(path.with_name(f"{older(id)}.{rest}"))


def beside(database):
    """Rows of jobs that are not there, and parts that went and are not swept."""
    return database.ask("""
        SELECT concat_ws(' ', (SELECT count(*) FROM pawl.result), (SELECT count(*) FROM
          pawl.payload), (SELECT count(*) FROM pawl.attempt), (SELECT count(*) FROM pawl.part_gone),
          (SELECT count(*) FROM pg_tables WHERE schemaname = 'pawl' AND tablename ~ '^gone_'))""")


def logs(nodes, ids):
    return [path for node in nodes for path in files_below(node.data / "logs")
            if any(id in str(path) for id in ids)]


def counted(database):
    return database.ask("SELECT coalesce(sum(count), 0) FROM pawl.lane_count WHERE state = 8")


def start(things, place, database, name="node"): # pylint: disable=W0621
    node = daemon(things, place.path, database.url(), name)
    node.options = [*node.options, *KEEP]
    return node.start()


def work(node, count, **fields):
    api = node.api()
    body = "echo printed; echo 'R: 200 said'"
    assert api.request("PUT", "/handlers/work", {"lang": "sh", "body": body}).status in (200, 201)
    ids = [api.add(type="work", **fields)["id"] for _ in range(count)]
    for id in ids:
        api.until(id, "done", seconds=SECONDS)
    return ids


def settle(node):
    """What it accepted is in the store."""
    assert node.stop() == 0


def test_an_old_part_goes_with_all_that_there_is_of_its_jobs(things, place, database): # noqa: F811
    nodes = [start(things, place, database, name) for name in ("one", "two")]
    ids = [id for node in nodes for id in work(node, 3, payload="p" * 3000, group="night")]
    until_done(database, 6)
    age(database, nodes)
    old = [older(id) for id in ids]
    assert len(logs(nodes, old)) == 6
    young = work(nodes[0], 2)
    api = nodes[0].api()
    wait_for(lambda: beside(database) == "2 0 0 0 0", SECONDS, lambda: beside(database))
    wait_for(lambda: not logs(nodes, old), SECONDS, lambda: logs(nodes, old))
    assert [api.request("GET", f"/jobs/{id}").status for id in old] == [404] * 6
    assert sorted(job["id"] for job in api.all()) == sorted(young)
    assert counted(database) == "2"
    assert database.ask("SELECT coalesce(sum(count), 0) FROM pawl.job_group") == "0"
    assert any("event=store.archive_part gone=job_done_" in node.log() for node in nodes)


def test_kill_9_between_the_part_and_what_is_beside_it(things, place, database): # noqa: F811
    node = start(things, place, database)
    ids = work(node, 4)
    settle(node)
    age(database, [node])
    # As if it had been killed when the part was out, and before anything else went.
    part = database.ask("SELECT pawl.part_take_out('job_done',"
                        f" {number(older(ids[0])) >> 50}, {YEARS * 2})")
    assert int(part) == number(older(ids[0])) >> 50
    assert beside(database) == "4 0 0 1 1"
    node.start()
    wait_for(lambda: beside(database) == "0 0 0 0 0", SECONDS, lambda: beside(database))
    assert counted(database) == "0"
    wait_for(lambda: not files_below(node.data / "logs"), SECONDS)


SLEEP = "SELECT pg_sleep(3600)"


def read_long(database):
    with contextlib.suppress(AssertionError): # it is ended from outside
        database.ask(f"BEGIN; SELECT count(*) FROM pawl.job_done; {SLEEP}; COMMIT")


def of_readers(database, what):
    return database.ask(f"SELECT {what} FROM pg_stat_activity WHERE state = 'active'"
                        f" AND query LIKE '%{SLEEP}%' AND pid <> pg_backend_pid()")


def test_nobody_waits_behind_a_long_reader(things, place, database): # noqa: F811
    node = start(things, place, database)
    work(node, 3)
    settle(node)
    age(database, [node])
    reader = threading.Thread(target=read_long, args=(database,))
    reader.start()
    try:
        wait_for(lambda: of_readers(database, "count(*)") == "1", SECONDS)
        node.start()
        wait_for(lambda: "event=store.archive_busy" in node.log(), SECONDS, node.tail)
        work(node, 3) # goes on as ever
        assert counted(database) == "6"
    finally:
        of_readers(database, "count(pg_terminate_backend(pid))")
        reader.join()
    node.restart() # it looks for old jobs at its start, and then once a minute
    wait_for(lambda: beside(database) == "3 0 0 0 0", SECONDS, lambda: beside(database))
    assert counted(database) == "3"
    assert "event=store.archive_part gone=job_done_" in node.log()
