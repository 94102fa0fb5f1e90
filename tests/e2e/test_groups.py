# SPDX-License-Identifier: Apache-2.0
"""Groups against a real daemon: counts, progress, the completion job (once, whatever
crashes), cancelling and retrying the members."""
import json
import os
import pathlib
import subprocess
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402

LONG = 120


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def node(home):
    return home.daemon("--slots", "4", "--set", "daemon.grace=500ms").start()


@pytest.fixture
def api(node):
    api = node.api(LONG)
    yield api
    api.close()


@pytest.fixture
def name():
    return "g" + uuid.uuid4().hex[:10]


def run(api, group, *command, **fields):
    return api.add(command=list(command), max_retries=0, group=group, **fields)["id"]


def over(api, group):
    def look():
        told = api.get(f"/groups/{group}")
        return told if told["final"] and (told["completion"] or not told["then"]) else None
    return wait_for(look, LONG)


def put(api, group, status=201, **fields):
    answer = api.request("PUT", f"/groups/{group}", fields)
    assert answer.status == status, answer
    return answer.json()


def test_a_group_counts_its_jobs(home, api, name):
    door = home.path / name
    api.get(f"/groups/{name}", 404)
    run(api, name, "true")
    run(api, name, "sh", "-c", "exit 65")
    held = run(api, name, "true", held=True)
    wait_for(lambda: api.get(f"/groups/{name}")["finished"] == 2, LONG)
    told = api.get(f"/groups/{name}")
    assert (told["total"], told["progress"], told["final"]) == (3, 66, False)
    assert {state: count for state, count in told["counts"].items() if count} == \
        {"done": 1, "failed": 1, "held": 1}
    assert told["then"] is None and told["completion"] is None
    api.act(held, "release")
    told = over(api, name)
    assert (told["progress"], told["counts"]["done"]) == (100, 2)
    assert sorted(job["group"] for job in api.all(group=name)) == [name] * 3
    assert not door.exists()


def test_the_completion_job_comes_once(api, name):
    """Added when every member is final, with the numbers, once, also when a member is
    retried later."""
    answer = api.request("PUT", f"/handlers/{name}",
                         {"lang": "sh", "body": "read line; echo \"R: 200 $line\""})
    assert answer.status == 201, answer
    held = run(api, name, "sh", "-c", "exit 65", held=True)
    assert put(api, name, then=name)["then"] == name
    run(api, name, "true")
    wait_for(lambda: api.get(f"/groups/{name}")["finished"] == 1, LONG)
    assert api.all(type=name) == []
    api.act(held, "release")
    told = over(api, name)
    job = api.until(told["completion"], seconds=LONG)
    assert (job["state"], job["type"], job["group"]) == ("done", name, None)
    assert json.loads(job["payload"]) == {"group": name, "total": 2, "done": 1,
                                          "failed": 1, "rejected": 0, "cancelled": 0}
    api.act(held, "retry")
    over(api, name)
    assert [job["id"] for job in api.all(type=name)] == [told["completion"]]


def test_a_group_that_is_over_completes_at_once(api, name):
    id = run(api, name, "true")
    api.until(id, seconds=LONG)
    put(api, name, then="nobody-there") # a shared store is asked first whether it is over
    completion = wait_for(lambda: api.get(f"/groups/{name}")["completion"], LONG)
    assert api.job(completion)["state"] == "blocked"
    answer = api.request("DELETE", f"/groups/{name}")
    assert answer.status == 200 and answer.json()["removed"] is True
    assert api.get(f"/groups/{name}")["then"] is None
    assert api.request("DELETE", f"/groups/{name}").status == 404


def test_bad_requests(api, name):
    for body, status in (({"them": "x"}, 422), ({"then": "a b"}, 422), ([], 422)):
        assert api.request("PUT", f"/groups/{name}", body).status == status
    assert api.request("GET", "/groups/a%20b").status == 422
    assert api.request("POST", "/jobs", {"command": ["true"],
                                         "group": "a b"}).status == 422


def test_kill_9_between_the_ends(home):
    """Counts, and the one completion job, are the same after any crash."""
    node = home.daemon("--slots", "4", data=home.path / "crash").start()
    api = node.api(LONG)
    put(api, "night", then="report")
    door = home.path / "night-door"
    for _ in range(12):
        run(api, "night", "sh", "-c", f"while [ ! -e {door} ]; do sleep 0.02; done")
    node.restart()
    api = node.api(LONG)
    assert api.get("/groups/night")["total"] == 12
    door.touch()
    wait_for(lambda: api.get("/groups/night")["finished"] > 3, LONG)
    node.restart()
    api = node.api(LONG)
    told = over(api, "night")
    assert told["counts"]["done"] == 12 and told["completion"]
    node.restart()
    api = node.api(LONG)
    assert api.get("/groups/night") == told
    assert [job["id"] for job in api.all(type="report")] == [told["completion"]]
    api.close()


# --- pawl map ---------------------------------------------------------------------------

def cli(node, *words, stdin=b"", code=0):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith("PAWL_")}
    done = subprocess.run([program(), *words], input=stdin, capture_output=True,
                          timeout=LONG, env={**env, "PAWL_SERVER": f"unix:{node.socket()}"})
    assert done.returncode == code, done.stderr.decode()
    return done


def test_map_runs_a_command_for_every_argument(home, node, api, name):
    out = home.path / name
    out.mkdir()
    done = cli(node, "map", "--group", name, "--", "sh", "-c", f"echo hi {{}} > {out}/{{}}",
               ":::", "a", "b", "c")
    assert b"3/3" in done.stderr
    assert {file.name: file.read_text() for file in out.iterdir()} == \
        {"a": "hi a\n", "b": "hi b\n", "c": "hi c\n"}
    assert api.get(f"/groups/{name}")["counts"]["done"] == 3
    lines = cli(node, "map", "--json", "--", "test", "-e", stdin=b"/\n/tmp\n\n").stdout
    assert json.loads(lines)["counts"]["done"] == 2


def test_map_tells_how_it_ended(node, name):
    cli(node, "map", "--", "sh", "-c", "exit {}", ":::", "0", "65", code=10)
    cli(node, "map", "--", "true", ":::", code=2)
    cli(node, "map", "--", "echo", ":::", "1", "2", ":::", "x", "y", code=2)
    cli(node, "map", "--", ":::", "a", code=2)
    cli(node, "map", "--", "true", stdin=b"", code=2)


def test_map_sends_in_pieces_what_is_too_much_for_one_request(home):
    small = home.daemon("--slots", "4", "--set", "limits.body=5M",
                        data=home.path / "small").start()
    lines = b"".join(b"%0100000d\n" % i for i in range(60)) # six million bytes
    done = cli(small, "map", "--json", "--", "true", stdin=lines)
    assert json.loads(done.stdout)["counts"]["done"] == 60
    small.stop()
