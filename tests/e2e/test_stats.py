# SPDX-License-Identifier: Apache-2.0
"""Statistics of a real daemon: what happened is counted once, by kind of job, and kept."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.daemon import Place, program      # noqa: E402

SECONDS = 120


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def node(home):
    """Three queues, two priorities: six jobs that end well and two that fail."""
    node = home.daemon("--slots", "4").start()
    api = node.api()
    ids = [api.add(command=["true"], queue=f"q{i % 3}", priority=5 if i % 2 else 50)["id"]
           for i in range(6)]
    ids += [api.add(command=["sh", "-c", "exit 65"], queue="bad")["id"] for _ in range(2)]
    for id in ids:
        api.until(id, seconds=SECONDS)
    return node


@pytest.fixture
def api(node):
    return node.api()


def totals(api, metric, by="none", more=""):
    answer = api.get(f"/stats/series?metric={metric}&by={by}&from=-2h{more}")
    for item in answer["items"]:
        mean = item["metric"].endswith("_ms")
        assert mean or sum(item["points"]) == item["total"], item
    return {item["key"]: item["total"] for item in answer["items"]}


def cli(node, *words, code=0):
    env = {key: value for key, value in os.environ.items() if not key.startswith("PAWL_")}
    done = subprocess.run([program(), *words], capture_output=True, timeout=120,
                          stdin=subprocess.DEVNULL,
                          env={**env, "PAWL_SERVER": f"unix:{node.socket()}"})
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode() + done.stderr.decode()


def test_what_happened_is_counted_by_kind_of_job(api):
    """S0.80: jobs by time; S0.81: and by priority, queue, type and outcome."""
    assert totals(api, "added") == {"all": 8}
    assert totals(api, "started") == {"all": 8}
    assert totals(api, "finished") == {"all": 8}
    assert totals(api, "added", "queue") == {"q0": 2, "q1": 2, "q2": 2, "bad": 2}
    assert totals(api, "finished", "priority") == {"5": 5, ">10": 3}
    assert totals(api, "finished", "type") == {"run": 8}
    assert totals(api, "finished", "outcome") == {"ok": 6, "failed": 2}
    assert totals(api, "failed", "queue", "&queue=bad") == {"bad": 2}
    assert totals(api, "finished", "none", "&tenant=nobody") == {}
    assert totals(api, "run_ms")["all"] >= 0


def test_a_restart_and_a_crash_count_nothing_twice(node, api):
    before = totals(api, "finished", "queue")
    node.kill()
    node.start()
    assert totals(node.api(), "finished", "queue") == before
    node.restart()
    assert totals(node.api(), "finished", "queue") == before


@pytest.mark.parametrize("query, says", [
    ("metric=nothing", "metric"), ("by=colour", "by"), ("from=yesterday", "from"),
    ("step=x", "step"), ("from=-2000d&step=1m", "steps"), ("colour=1", "colour"),
])
def test_what_makes_no_sense_is_refused(api, query, says):
    answer = api.request("GET", f"/stats/series?{query}")
    assert answer.status in (400, 422) and says in answer.json()["detail"], answer


def test_the_command_line_shows_jobs_per_minute(node):
    """S0.80, S0.81: pawl stats, overall and by priority, for the hour, day and month."""
    said = cli(node, "stats", "--by", "priority")
    rows = {line.split()[0]: line.split() for line in said.splitlines()}
    assert said.startswith("KEY  ADDED  STARTED  FINISHED  PER MIN ")
    assert rows["all"][1:5] == ["8", "8", "8", "0.13"], said # eight in sixty minutes
    assert rows["5"][1:5] == ["5", "5", "5", "0.08"], said
    assert rows[">10"][1:5] == ["3", "3", "3", "0.05"], said
    for period in ("hour", "day", "month"):
        shown = json.loads(cli(node, "stats", "--by", "queue", "--last", period, "--json"))
        added = {item["key"]: item["total"] for item in shown["items"]
                 if item["metric"] == "added"}
        assert added["bad"] == 2
    assert "[usage]" in cli(node, "stats", "--last", "year", code=2)
