# SPDX-License-Identifier: Apache-2.0
"""Starting, stopping, reloading: what a daemon keeps and whom it refuses."""
import calendar
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for             # noqa: E402
from lib.daemon import Place, program    # noqa: E402


@pytest.fixture
def place():
    with Place() as place:
        yield place


def gated(api, gate, **fields):
    """A job that runs until the file `gate` is there, and then exits with 0."""
    job = api.add(command=["/bin/sh", "-c", ": >\"$0.runs\"; while [ ! -e \"$0\" ]; do sleep"
                           " 0.02; done", str(gate)], **fields)
    shown = api.until(job["id"], "running") # which it is as soon as that is decided
    wait_for(pathlib.Path(f"{gate}.runs").exists, 120)
    return shown


# --- SIGTERM and SIGINT ---------------------------------------------------------------

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_leaves_running_jobs_to_the_next_start(place, number):
    node, gate = place.daemon().start(), place.path / "gate"
    job = gated(node.api(), gate)
    node.process.send_signal(number)
    assert node.process.wait(120) == 0 # and so before the job, which waits for us
    assert "1 running jobs go on" in node.log()
    assert len(node.jobs()) >= 1
    node.start()
    taken = node.api().job(job["id"])
    assert (taken["state"], taken["attempt"]) == ("running", 1)
    gate.touch()
    assert node.api().until(job["id"])["state"] == "done"


def test_a_second_signal_ends_the_jobs_too(place):
    node = place.daemon("--set", "daemon.grace=300ms").start()
    job = node.api().add(command=["/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.05; "
                                                   "done"])
    node.api().until(job["id"], "running")
    wait_for(node.jobs, 120)
    # Both are there when it looks: it is gone soon after the first alone.
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
        node.process.send_signal(number)
    status = node.process.wait(120)
    assert status == 0
    wait_for(lambda: not node.jobs(), 120, "its processes are left over")


def test_an_idle_daemon_takes_its_launcher_along(place):
    node = place.daemon().start()
    assert node.launcher()
    assert node.stop() == 0
    wait_for(lambda: not node.launcher(), 120, "the launcher does not leave")


def test_a_daemon_that_still_waits_for_its_store_can_be_stopped(place):
    with socket.socket() as nobody: # bound, and not listening: connections are refused
        nobody.bind(("127.0.0.1", 0))
        node = place.daemon("--store",
                            f"postgresql://127.0.0.1:{nobody.getsockname()[1]}/none").spawn()
        wait_for(lambda: "store.waiting" in node.log(), 120)
        node.process.terminate()
        assert node.process.wait(120) == -signal.SIGTERM


def test_a_stop_under_load_loses_nothing_that_was_acknowledged(place):
    node = place.daemon("--set", "scheduling.enabled=off").start()
    api = node.api()
    ids = [api.add(command=["/bin/true"])["id"] for _ in range(50)]
    assert node.stop() == 0
    node.start()
    assert sorted(job["id"] for job in node.api().all()) == ids


def test_the_socket_and_listen_files(place):
    node = place.daemon().start()
    assert (os.stat(node.socket()).st_mode & 0o777) == 0o600
    assert (os.stat(node.data).st_mode & 0o077) == 0
    assert node.tcp().request("GET", "/readyz").status == 200
    assert (node.data / "listen").read_text() == "%s:%d\n" % node.address()


def test_the_store_is_private_even_in_an_open_directory(place):
    data = place.path / "open"
    data.mkdir(mode=0o755)
    node = place.daemon(data=data).start()
    node.api().add(command=["/bin/true"], env={"SECRET": "hunter2"})
    for file in data.iterdir():
        if file.is_file():
            assert (file.stat().st_mode & 0o077) == 0, file
    assert "daemon.data_open" in node.log()


def test_nothing_is_accepted_when_the_data_directory_is_gone(place):
    node = place.daemon().start()
    tcp = node.tcp()
    away = node.data.with_name("away")
    node.data.rename(away)
    try:
        wait_for(lambda: tcp.request("GET", "/readyz").status == 503, 120)
        answer = tcp.request("POST", "/api/v1/jobs", {"command": ["/bin/true"]})
        assert answer.status == 503, answer.body
    finally:
        away.rename(node.data)
    wait_for(lambda: tcp.request("GET", "/readyz").status == 200, 120)


def test_a_job_that_ended_while_nobody_was_there_has_its_own_times(place):
    """S1.45."""
    node, gate = place.daemon().start(), place.path / "gate"
    id = gated(node.api(), gate)["id"]
    node.kill()
    gate.touch()
    wait_for(lambda: not node.jobs())
    ended = time.time()
    wait_for(lambda: time.time() > ended + 1.5)
    job = node.start().api().until(id)
    finished = calendar.timegm(time.strptime(job["finished_at"][:19], "%Y-%m-%dT%H:%M:%S"))
    assert finished <= ended, job


# --- who may start --------------------------------------------------------------------

def refused(place, *options, data=None):
    """The status and words of a daemon that does not start."""
    node = place.daemon(*options, data=data)
    node.log_path = place.path / "refused.log"
    node.spawn()
    return node.process.wait(120), node.log()


def test_a_second_daemon_on_the_same_data_is_refused(place):
    """S2.33; fault 32."""
    node = place.daemon().start()
    listen = (node.data / "listen").read_text()
    status, said = refused(place)
    assert status not in (0, None)
    assert str(node.data) in said and str(node.pid) in said, said
    (node.data / "listen").write_text(listen) # spawn() removed it
    assert node.api().request("GET", "/readyz").status == 200
    assert node.api().add(command=["/bin/true"])


def test_a_stale_lock_is_no_obstacle(place):
    node = place.daemon().start()
    node.kill()
    assert (node.data / "pawl.sock").exists()
    node.start()


@pytest.mark.parametrize("address", ["0.0.0.0:0", "192.0.2.1:0", "[::]:0"])
def test_other_than_loopback_addresses_are_refused(place, address):
    status, said = refused(place, "--listen", address)
    assert status not in (0, None)
    assert "loopback" in said


def test_an_unknown_key_is_refused_with_the_nearest_name(place):
    config = place.path / "pawl.yaml"
    config.write_text("daemon:\n  slotz: 3\n")
    status, said = refused(place, "--config", str(config))
    assert status == 2
    assert "pawl.yaml:2:3" in said and "slots" in said


def test_check_says_whether_the_configuration_is_good(place):
    good, bad = place.path / "good.yaml", place.path / "bad.yaml"
    good.write_text("daemon: { slots: 3 }\n")
    bad.write_text("daemon: { slots: many }\njournal: { segmant: 1M }\n")
    run = lambda path: subprocess.run([program(), "serve", "--check", "--config", path],
                                      capture_output=True, text=True)
    assert run(good).returncode == 0
    wrong = run(bad)
    assert wrong.returncode == 1
    assert "bad.yaml:1:" in wrong.stderr and "bad.yaml:2:" in wrong.stderr


def test_a_database_of_a_later_version_is_refused(place):
    node = place.daemon().start()
    assert node.stop() == 0
    import sqlite3
    with sqlite3.connect(node.data / "pawl.db") as db:
        db.execute("PRAGMA user_version = 4000")
        if db.execute("SELECT count(*) FROM meta WHERE key LIKE '%schema%'").fetchone()[0]:
            db.execute("UPDATE meta SET value = 4000 WHERE key LIKE '%schema%'")
    db.close()
    status, said = refused(place)
    assert status not in (0, None)
    assert "newer" in said


# --- SIGHUP ---------------------------------------------------------------------------

def test_a_reload_applies_what_it_can(place):
    config = place.path / "pawl.yaml"
    config.write_text("daemon: { slots: 1 }\nscheduling: { retry_delay: 1s }\n")
    node, gate = place.daemon("--config", str(config)).start(), place.path / "gate"
    api = node.api()
    gated(api, gate)
    second = api.add(command=["/bin/true"])
    assert api.get("/config")["max_concurrent_jobs"] == 1

    config.write_text("daemon: { slots: 2 }\nscheduling: { retry_delay: 1s }\n"
                      "limits: { body: 2M }\n")
    node.process.send_signal(signal.SIGHUP)
    assert api.until(second["id"])["state"] == "done"
    assert api.get("/config")["max_concurrent_jobs"] == 2

    def said(*words):
        return any(all(word in line for word in ("config.reloaded", *words))
                   for line in node.log().splitlines())
    wait_for(lambda: said("daemon.slots", "applied=true"))
    wait_for(lambda: said("limits.body", "needs=restart"))
    gate.touch()


def test_a_bad_reload_changes_nothing(place):
    config = place.path / "pawl.yaml"
    config.write_text("daemon: { slots: 3 }\n")
    node = place.daemon("--config", str(config)).start()
    config.write_text("daemon: { slots: 4, nonsense: 1 }\n")
    node.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "config.refused" in node.log(), 120)
    assert r'unknown key \"nonsense\" in daemon' in node.log() # quotes inside quotes
    assert node.api().get("/config")["max_concurrent_jobs"] == 3


def test_settings_changed_by_the_api_outlive_a_restart(place):
    """S0.14, S0.18, S0.74: kept in the store; the file gives only the first values."""
    node = place.daemon("--slots", "3").start()
    answer = node.api().request("PATCH", "/config", {"max_concurrent_jobs": 5})
    assert answer.status == 200, answer
    assert answer.json()["max_concurrent_jobs"] == 5
    node.restart()
    assert node.api().get("/config")["max_concurrent_jobs"] == 5


# --- what a restart keeps (I8; S1.8) --------------------------------------------------

def facts(job):
    """All but what a restart may change."""
    return {key: value for key, value in job.items() if key != "last_heartbeat_at"}


def fill(api):
    """Jobs in every state that needs no process, and the order they should run in."""
    for n, priority in enumerate([5, 9, 1, 9, 5, 7, 1, 10]):
        api.add(command=["/bin/sh", "-c", 'echo "$PAWL_JOB_ID" >>"$0"', WITNESS],
                name=f"w{n}", priority=priority)
    held = api.add(command=["/bin/true"], name="held", held=True)
    api.add(command=["/bin/true"], name="later", delay=3600)
    api.add(type="nobody.knows", name="blocked")
    api.act(api.add(command=["/bin/true"], name="cancelled")["id"], "cancel")
    moved = api.add(command=["/bin/sh", "-c", 'echo "$PAWL_JOB_ID" >>"$0"', WITNESS],
                    name="moved", priority=1)
    api.request("PATCH", f"/jobs/{moved['id']}", {"priority": 8})
    return held


WITNESS = ""


def test_order_states_and_counters_are_the_same_after_a_crash(place):
    global WITNESS # pylint: disable=global-statement
    WITNESS = str(place.path / "order")
    node = place.daemon("--slots", "1", "--set", "scheduling.enabled=off").start()
    api = node.api()
    fill(api)
    order = [job["id"] for job in api.all(state="ready", order="dispatch")]
    before = {job["id"]: facts(job) for job in api.all()}
    counts = api.get("/stats")
    for how in (node.kill, node.stop):
        how()
        node.start()
        api = node.api()
        assert [job["id"] for job in api.all(state="ready", order="dispatch")] == order
        assert {job["id"]: facts(job) for job in api.all()} == before
        assert count_fields(api.get("/stats")) == count_fields(counts)

    assert api.request("PATCH", "/config", {"enabled": True}).status == 200
    for id in order:
        api.until(id)
    assert pathlib.Path(WITNESS).read_text().split() == order
    names = [before[id]["name"] for id in order]
    assert names == ["w7", "w1", "w3", "moved", "w5", "w0", "w4", "w2", "w6"]


def count_fields(stats):
    """The numbers of jobs, of all and by queue."""
    assert stats["jobs"]["ready"] == 9
    return stats["jobs"], sorted(map(str, stats["queues"]))


def test_ids_never_go_back(place):
    node = place.daemon("--set", "scheduling.enabled=off").start()
    last = ""
    for _ in range(3):
        api = node.api()
        for _ in range(3):
            id = api.add(command=["/bin/true"])["id"]
            assert id > last
            last = id
        node.restart()


def test_what_is_due_while_nobody_is_there_runs_at_the_next_start(place):
    """S2.9, S2.15."""
    node = place.daemon().start()
    id = node.api().add(command=["/bin/true"], delay="1500ms")["id"]
    due = time.monotonic() + 1.5
    node.kill()
    wait_for(lambda: time.monotonic() > due, 120)
    node.start()
    assert node.api().until(id)["state"] == "done"


def test_the_retry_of_a_job_outlives_a_crash(place):
    node, mark = place.daemon().start(), place.path / "second"
    job = node.api().add(command=["/bin/sh", "-c", 'test -e "$0" || exit 75', str(mark)],
                         retry_delay="1s", max_retries=50)
    node.api().until(job["id"], "retrying")
    node.kill()
    mark.touch()
    node.start()
    ended = node.api().until(job["id"])
    assert ended["state"] == "done"
    assert ended["retry_number"] == ended["attempt"] - 1 >= 1
