# SPDX-License-Identifier: Apache-2.0
"""One node on PostgreSQL, on a real server: a whole life, a start that waits, a store that
goes and comes back, a pooler in between."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.api import wait_for # noqa: E402
from lib.pg_node import SECONDS, add, daemon, server, things, until_done # noqa: E402,F401
from lib.pooler import Pooler # noqa: E402


def ready_word(node):
    api = node.api(SECONDS)
    try:
        answer = api.request("GET", "/readyz")
        return answer.status, answer.body.decode()
    finally:
        api.close()


def test_a_whole_life_and_a_restart(things, place):
    """Jobs go in, run, and are there after kill -9; people see them in views."""
    database = server(things)
    node = daemon(things, place, database.url()).start()
    ids = add(node, 20)
    until_done(database, 20)
    wait_for(lambda: "event=store.listens" in node.log(), SECONDS, node.tail)
    node.restart()
    api = node.api(SECONDS)
    job = api.request("GET", f"/api/v1/jobs/{ids[0]}").json()
    api.close()
    assert job["state"] == "done" and job["attempt"] == 1
    assert database.ask("SELECT string_agg(id, ' ' ORDER BY id) FROM pawl.job") == " ".join(
        sorted(ids))
    assert node.stop() == 0


def test_what_runs_goes_on_over_a_restart(things, place):
    """Within its lease a daemon that comes back takes its attempts over as they are."""
    gate, marks = place / "gate", place / "marks"
    node = daemon(things, place, server(things).url())
    node.options += ["--set", "scheduling.lease=1h"] # no busy machine lets it lapse
    node.start()
    ids = add(node, 3, ["sh", "-c", f"echo + >> {marks}; until [ -e {gate} ]; do sleep 0.05; done"])
    wait_for(lambda: marks.exists() and marks.read_text().count("+") == 3, SECONDS, node.tail)
    node.restart()
    gate.touch()
    api = node.api(SECONDS)
    for id in ids:
        job = api.until(id, seconds=SECONDS)
        assert (job["state"], job["attempt"]) == ("done", 1), job
    api.close()
    assert marks.read_text().count("+") == 3


def test_the_start_waits_for_the_server(things, place):
    database = server(things)
    database.kill()
    node = daemon(things, place, database.url()).spawn()
    wait_for(lambda: "store.waiting" in node.tail(), SECONDS, node.tail)
    database.start()
    node.wait_ready(SECONDS)
    wait_for(lambda: "store.there" in node.log_path.read_text(), SECONDS, node.tail)


@pytest.mark.parametrize("address", ["/nosuch?user=pawl", "/postgres?user=nosuch"])
def test_what_stays_wrong_ends_the_start(things, place, address):
    database = server(things)
    node = daemon(things, place, f"postgresql://{address}&host={database.home}").spawn()
    assert node.process.wait(SECONDS) != 0
    assert "nosuch" in node.log_path.read_text()


def test_the_journal_accepts_while_the_store_is_away(things, place):
    """Nothing that was acknowledged is lost, and the node says how it is."""
    database = server(things)
    node = daemon(things, place, database.url()).start()
    add(node, 5)
    until_done(database, 5)
    database.kill()
    ids = add(node, 100)
    assert len(ids) == 100
    wait_for(lambda: "degraded" in ready_word(node)[1], SECONDS, node.tail)
    assert ready_word(node)[0] == 200
    ids += add(node, 100)
    database.start()
    until_done(database, 205)
    wait_for(lambda: ready_word(node)[1] == "ready\n", SECONDS, node.tail)


def test_through_a_pooler_in_transaction_mode(things, place):
    """No session state: every transaction may have another server connection."""
    database = server(things)
    things.append(Pooler(database))
    pooler = things[-1].start()
    node = daemon(things, place, pooler.url()).start()
    add(node, 200)
    until_done(database, 200)
    assert node.stop() == 0


def test_nodes_behind_a_pooler_poll(things, place):
    """No one can listen there: that is noticed, and what nodes give each other arrives."""
    database = server(things)
    things.append(Pooler(database))
    pooler = things[-1].start()
    nodes = [daemon(things, place, pooler.url(), f"node{n}").start() for n in range(2)]
    for node in nodes:
        wait_for(lambda node=node: "event=store.polls" in node.log(), SECONDS, node.tail)
    # Each waits for a fifth one to run: on one node they never would.
    marks = place / "marks"
    marks.mkdir()
    add(nodes[0], 10, ("sh", "-c", f"touch {marks}/$PAWL_JOB_ID; "
                       f"until [ $(ls {marks} | wc -l) -ge 5 ]; do sleep 0.05; done"))
    until_done(database, 10)
    assert database.ask("SELECT count(DISTINCT node) FROM pawl.job_resource") == "2"
    assert not any("event=store.listens" in node.log() for node in nodes)


def test_a_job_that_outlives_its_request_key_runs(things, place):
    """Held for longer than keys are kept, a day: there is nothing left to be sure of."""
    database = server(things)
    node = daemon(things, place, database.url()).start()
    api = node.api(SECONDS)
    id = api.request("POST", "/jobs", {"command": ["true"], "held": True},
                     {"Idempotency-Key": "long ago"}).json()["id"]
    wait_for(lambda: database.ask("SELECT count(*) FROM pawl.job_unique") == "1", SECONDS)
    node.stop()
    database.ask("UPDATE pawl.job_live SET created = created - 25 * 3600000, sum = NULL")
    database.ask("DELETE FROM pawl.job_unique")
    node.start()
    api = node.api(SECONDS)
    assert api.request("POST", f"/jobs/{id}/release").status == 200
    assert api.until(id, seconds=SECONDS)["state"] == "done"
