# SPDX-License-Identifier: Apache-2.0
"""A node that is started while its shared store is away: it accepts jobs into its journal by
what it remembers, loses and doubles none of them, and runs none before the store is back."""
import http.client
import json
import os
import pathlib
import signal
import ssl
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.api import Broken, NotSent, wait_for # noqa: E402
from lib.nodes import pawl # noqa: E402
from lib.pg_node import SECONDS, add, daemon, server, things, until_done # noqa: E402,F401
from lib.tls import certificate, tls_options # noqa: E402

FILE = "cutoff" # what it remembers, in its data directory
DEGRADED = b"ready, but degraded: store_failing\n"


def ask(node, method, path, body=None, headers=None):
    api = node.api(SECONDS)
    try:
        return api.request(method, path, body, headers)
    finally:
        api.close()


def remembers(node, *words):
    """Until what it has written down has these words in it."""
    path = node.data / FILE
    wait_for(lambda: path.exists() and all(word.encode() in path.read_bytes() for word in words),
             SECONDS, node.tail, pause=0.05)


def define(node, type, body):
    answer = ask(node, "PUT", f"/handlers/{type}", {"lang": "sh", "body": body})
    assert answer.status in (200, 201), answer
    remembers(node, type)


def restart(node):
    """kill -9, and up again without its store."""
    node.kill()
    node.start()
    assert ask(node, "GET", "/readyz").body == DEGRADED
    assert "event=node.cut_off" in node.log()


def decided(node):
    """How often its journal has something else than jobs that came through a door."""
    return sum(path.read_bytes().count(b"kind=turn") for path in
               (node.data / "journal").glob("*.journal"))


def ndjson(node, jobs, status=200):
    answer = ask(node, "POST", "/jobs", "".join(json.dumps(job) + "\n" for job in jobs).encode(),
                 {"Content-Type": "application/x-ndjson"})
    assert answer.status == status, answer
    return [line["id"] for line in answer.lines() if "id" in line]


def is_back(node):
    def words():
        try:
            return ask(node, "GET", "/readyz").body == b"ready\n"
        except (NotSent, Broken): # it begins anew
            return False
    wait_for(words, SECONDS, node.tail, pause=0.1)


def rows(database, ids):
    """state by id, of those that the store has."""
    found = database.ask("SELECT string_agg(id || ' ' || state, ',') FROM pawl.job")
    states = dict(row.split() for row in found.split(",") if row) # an empty table has none
    return {id: states.get(id) for id in ids}


def test_a_node_that_starts_without_its_store_accepts_and_loses_nothing(things, place):
    """S2.36: killed and started again and again while the store is away; every acknowledged
    job runs when it is back, once, and ids of all its lives differ."""
    database, ran = server(things), place / "ran"
    node = daemon(things, place, database.url()).start()
    define(node, "cut.off", f'echo "$PAWL_JOB_ID" >> {ran}')
    assert ask(node, "PUT", "/schedules/often", {"cron": "@every 1s", "type": "often"}).status == 201
    ids = ndjson(node, [{"type": "cut.off"}] * 3)
    until_done(database, 3)
    database.kill()
    ids += ndjson(node, [{"type": "cut.off"}] * 5) # some of them while it does not know yet
    restart(node)
    own = decided(node)
    assert own > 0
    for _ in range(2):
        ids += [answer.json()["job"]["id"] for answer in
                (ask(node, "POST", "/jobs", {"type": "cut.off"}) for _ in range(5))]
        ids += ndjson(node, [{"type": "cut.off"}] * 50)
        restart(node)
    assert len(set(ids)) == len(ids)
    assert decided(node) == own, "it has decided something without its store"
    before = ran.read_text().splitlines()
    assert set(before) <= set(ids[:8]), "it has begun a job without a lease"
    database.start()
    is_back(node)
    wait_for(lambda: set(rows(database, ids).values()) == {"done"}, SECONDS,
             lambda: f"{rows(database, ids)} {node.tail()}", pause=0.2)
    runs = ran.read_text().split()
    assert sorted(set(runs)) == sorted(ids)
    again = {id for id in runs if runs.count(id) > 1}
    assert again <= set(ids[:8]), "what was accepted without the store has run twice"
    assert "event=node.back" in node.log()
    assert node.stop() == 0


def test_what_needs_the_store_is_refused_and_says_why(things, place):
    """Keys above all: who else has them is known to the store alone."""
    database = server(things)
    node = daemon(things, place, database.url()).start()
    define(node, "cut.off", "true")
    database.kill()
    restart(node)
    job = ask(node, "POST", "/jobs", {"type": "cut.off"}).json()["job"]
    for method, path, body in (
            ("GET", f"/jobs/{job['id']}", None), ("GET", "/jobs", None), ("GET", "/stats", None),
            ("POST", f"/jobs/{job['id']}/cancel", None), ("PUT", "/queues/other", {"slots": 1}),
            ("GET", "/processors", None), ("POST", "/handlers/cut.off/test", {"payload": ""})):
        answer = ask(node, method, path, body)
        assert (answer.status, answer.json()["code"]) == (503, "store_failing"), (path, answer)
    for body, headers in (({"type": "cut.off", "unique": {"key": "one"}}, None),
                          ({"type": "cut.off"}, {"Idempotency-Key": "one"})):
        answer = ask(node, "POST", "/jobs", body, headers)
        assert (answer.status, answer.json()["code"]) == (503, "store_unavailable"), answer
    assert ask(node, "POST", "/jobs", {"type": "un.known"}).json()["job"]["state"] == "blocked"
    assert node.stop() == 0 # it can be told to stop, and what it has is kept
    node.start()
    database.start()
    is_back(node)
    until_done(database, 1)


def test_who_may_add_is_remembered(things, place):
    """Over TLS and with a token: those of others, and none, are refused as ever."""
    database = server(things)
    cert, key = certificate(place, "node")
    node = daemon(things, place, database.url())
    node.options += tls_options(cert, key)
    node.start()
    define(node, "cut.off", "true")
    answer = ask(node, "POST", "/tokens", {"name": "ci", "scopes": ["enqueue"]})
    assert answer.status == 201, answer
    secret = answer.json()["token"]
    remembers(node, "ci")
    assert secret.encode() not in (node.data / FILE).read_bytes()
    assert (os.stat(node.data / FILE).st_mode & 0o777) == 0o600
    database.kill()
    restart(node)
    assert post(node, cert, secret) == 201
    assert post(node, cert, secret[:-1] + ("x" if secret[-1] != "x" else "y")) == 401
    assert post(node, cert, None) == 401
    database.start()
    until_done(database, 1)


def post(node, cert, secret):
    """Over TLS; the status."""
    host, port = node.address()
    connection = http.client.HTTPSConnection(
        host, port, timeout=SECONDS, context=ssl.create_default_context(cafile=str(cert)))
    headers = {"Content-Type": "application/json"}
    if secret:
        headers["Authorization"] = f"Bearer {secret}"
    connection.request("POST", "/api/v1/jobs", json.dumps({"type": "cut.off"}), headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_what_runs_is_left_alone(things, place):
    """A node without its lease neither ends nor takes over what the launcher has; when the
    store is back within the lease it goes on as the same attempt."""
    database, ran, gate = server(things), place / "ran", place / "gate"
    node = daemon(things, place, database.url())
    node.options += ["--set", "scheduling.lease=1h"] # no busy machine lets it lapse
    node.start()
    remembers(node)
    [id] = add(node, 1, ["sh", "-c", f"echo + >> {ran}; until [ -e {gate} ]; do sleep 0.05; done"])
    wait_for(lambda: ran.exists() and ran.read_text(), SECONDS, node.tail)
    wait_for(lambda: database.ask("SELECT count(*) FROM pawl.job WHERE state = 'running'") == "1",
             SECONDS, node.tail)
    database.kill()
    restart(node)
    assert len(node.jobs()) >= 1, "it has ended what ran"
    database.start()
    is_back(node)
    wait_for(lambda: "event=jobs.adopted" in node.log(), SECONDS, node.tail)
    gate.touch()
    api = node.api(SECONDS)
    job = api.until(id, seconds=SECONDS)
    api.close()
    assert (job["state"], job["attempt"], ran.read_text()) == ("done", 1, "+\n"), job


def waits(node, *words):
    """It waits for its store, as one does that was never on it, and says why."""
    node.spawn()
    wait_for(lambda: all(word in node.log() for word in ("event=store.waiting", *words)), SECONDS,
             node.tail)
    assert node.process.poll() is None
    assert not (node.data / "listen").exists()


def test_without_what_it_needs_to_know_it_waits(things, place):
    """Damaged, a copy, of another store, not there at all, or not enough."""
    database = server(things)
    node = daemon(things, place, database.url()).start()
    remembers(node)
    assert node.stop() == 0
    path = node.data / FILE
    good = path.read_bytes()
    database.kill()

    node.options += ["--set", "journal.ack=store"] # what it cannot promise it does not accept
    waits(node, "journal.ack is store")
    node.kill()
    del node.options[-2:]
    path.write_bytes(good[:40] + bytes([good[40] ^ 1]) + good[41:]) # in place
    waits(node, "is damaged")
    node.kill()
    copy = node.data / "copy"
    copy.write_bytes(good)
    copy.rename(path)
    waits(node, "is a copy")
    node.kill()
    path.unlink()
    waits(node, "has not worked on it yet")
    database.start()
    is_back(node)
    remembers(node)
    assert node.stop() == 0

    other = daemon(things, place, f"{database.url()}&application_name=other")
    database.kill()
    waits(other, "is of another store")
    other.kill()


def test_the_command_line_adds_to_a_node_without_its_store(things, place):
    """It sends keys by itself, of which such a node knows nothing: then without."""
    database, lines = server(things), place / "lines"
    node = daemon(things, place, database.url()).start()
    define(node, "cut.off", "true")
    database.kill()
    restart(node)
    lines.write_text('{"type":"cut.off"}\n' * 3)
    ids = pawl(node, "add", "cut.off", "x").split()
    ids += pawl(node, "add", "--ndjson", str(lines)).split()
    assert len(set(ids)) == 4, ids
    database.start()
    is_back(node)
    wait_for(lambda: set(rows(database, ids).values()) == {"done"}, SECONDS,
             lambda: f"{rows(database, ids)} {node.tail()}", pause=0.2)


def test_a_second_signal_is_not_slower_than_the_first(things, place):
    """Without its store it can flush nothing, and is not to wait for that for ever."""
    database = server(things)
    node = daemon(things, place, database.url()).start()
    define(node, "cut.off", "true")
    database.kill()
    restart(node)
    assert ask(node, "POST", "/jobs", {"type": "cut.off"}).status == 201
    for _ in range(2):
        node.process.send_signal(signal.SIGTERM)
        time.sleep(0.05) # or the two are one
    assert node.process.wait(SECONDS) == 0
