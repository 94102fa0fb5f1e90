# SPDX-License-Identifier: Apache-2.0
"""The controller of a real daemon: its lock, its switch, and work that only it starts."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place               # noqa: E402

SECONDS = 120


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def node(home):
    return home.daemon("--slots", "2").start()


@pytest.fixture
def api(node):
    return node.api()


def patch(api, **fields):
    answer = api.request("PATCH", "/config", fields)
    assert answer.status == 200, answer


def test_the_lock_has_version_timestamp_and_owner(api):
    """S0.24, S0.25, S0.26: the lock holds version 1 and a timestamp; S0.63: it is set by
    the controller that runs."""
    lock = wait_for(lambda: api.get("/controller")["owner"] and api.get("/controller"),
                    SECONDS)
    assert lock["version"] == 1
    assert lock["timestamp"].endswith("Z")
    assert lock["owner"] == api.get("/nodes")["items"][0]["sysid"]
    assert lock["stale"] is False


def test_the_lock_is_renewed_and_its_interval_can_be_set(api):
    """S0.16: the interval after which the lock is stale is a setting, also written with a
    bare T as 000 does."""
    patch(api, controller_stale_interval="T4S")
    assert api.get("/controller")["stale_interval"] == "PT4S"
    first = api.get("/controller")["timestamp"]
    wait_for(lambda: api.get("/controller")["timestamp"] > first, SECONDS)
    patch(api, controller_stale_interval="T2M")
    assert api.get("/controller")["version"] == 1


def test_a_restart_keeps_the_lock_with_its_owner(home):
    """S0.71: a stop clears the lock, a crash leaves it; the same owner has it at once
    again in both cases."""
    node = home.daemon(data=home.path / "restarts").start()
    owner = wait_for(lambda: node.api().get("/controller")["owner"], SECONDS)
    for leave in (node.stop, node.kill):
        leave()
        node.start()
        lock = wait_for(lambda: not node.api().get("/controller")["stale"]
                        and node.api().get("/controller"), SECONDS)
        assert lock["owner"] == owner and lock["version"] == 1
    node.stop()


def test_with_the_switch_off_nothing_starts_and_jobs_are_accepted(api):
    """S0.18, S0.1, S0.9: only the controller starts work: `enabled` off, jobs are accepted and
    wait, whatever else happens; on again, they run without waiting for anything more."""
    patch(api, enabled=False)
    ids = [api.add(command=["true"])["id"] for _ in range(5)]
    passes = api.get("/nodes")["items"][0]["passes"]
    wait_for(lambda: api.get("/nodes")["items"][0]["passes"] >= passes + 2, SECONDS)
    assert {api.job(id)["state"] for id in ids} == {"ready"}
    patch(api, enabled=True)
    for id in ids:
        assert api.until(id, seconds=SECONDS)["state"] == "done"


def test_the_tick_drives_passes_by_itself(api):
    """S0.5, S3.50: with nothing to do, a pass still comes about every second."""
    first = api.get("/nodes")["items"][0]["passes"]
    wait_for(lambda: api.get("/nodes")["items"][0]["passes"] >= first + 3, SECONDS)


def test_the_period_of_the_tick_is_a_setting(api):
    """S3.50: changed while it runs; passes go on, and work that arrives waits for none."""
    patch(api, poll_interval="PT1M")
    try:
        assert api.get("/config")["poll_interval"] == "PT1M"
        job = api.add(command=["true"])
        assert api.until(job["id"], seconds=50)["state"] == "done"
        patch(api, poll_interval="PT0.1S")
        first = api.get("/nodes")["items"][0]["passes"]
        wait_for(lambda: api.get("/nodes")["items"][0]["passes"] >= first + 10, SECONDS)
        answer = api.request("PATCH", "/config", {"poll_interval": "PT20M"})
        assert answer.status == 422 and "PT0.1S to PT10M" in answer.json()["detail"], answer
    finally:
        patch(api, poll_interval=None)
    assert api.get("/config")["poll_interval"] == "PT1S"
