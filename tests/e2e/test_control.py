# SPDX-License-Identifier: Apache-2.0
"""Control of running work on a real daemon with real trees of processes: pause, resume,
halt, cancel and kill of one job, of many ids and of everything that matches; clearing of
a large queue; operations that go on after kill -9."""
import json
import pathlib
import subprocess
import sys
import threading
import time
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import Broken, wait_for                          # noqa: E402
from lib.daemon import Place, processes_with, program, state_of # noqa: E402
from lib.daemon import stopped as processes_stopped           # noqa: E402

LONG = 120
LEASE = 2 # seconds of silence after which a job would be taken for dead

# Parent, child and a grandchild that left the process group; each writes a line of its
# own again and again.
TREE = """
setsid -f sh -c 'while :; do echo g >> "$0"; sleep 0.02; done' "$1.grandchild"
(while :; do echo c >> "$1.child"; sleep 0.02; done) &
while :; do echo p >> "$1.parent"; sleep 0.02; done
"""

# Tells what an earlier attempt has left behind, or leaves something behind and waits.
STEPS = """
if [ -e "$PAWL_STATE_DIR/step" ]; then cat "$PAWL_STATE_DIR/step"; exit 0; fi
echo "from $PAWL_ATTEMPT" > "$PAWL_STATE_DIR/step"
echo up
while :; do sleep 0.02; done
"""


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def nodes(home):
    """With cgroups, where there are any, and without."""
    nodes = {}
    for cgroups in ("on", "off"):
        nodes[cgroups] = home.daemon("--slots", "8", "--set", "daemon.grace=500ms",
                                     data=home.path / cgroups,
                                     env={"PAWL_LAUNCH_CGROUPS": cgroups}).start()
        answer = nodes[cgroups].api().request("PATCH", "/config",
                                              {"job_stale_interval": f"PT{LEASE}S"})
        assert answer.status == 200, answer
    return nodes


@pytest.fixture(scope="module")
def node(nodes):
    return nodes["on"]


@pytest.fixture
def api(node):
    api = node.api(LONG)
    yield api
    api.close()


@pytest.fixture
def tag():
    return "t" + uuid.uuid4().hex[:10]


def cli(node, *words):
    return subprocess.run([program(), *words], text=True, capture_output=True, timeout=LONG,
                          stdin=subprocess.DEVNULL, check=False,
                          env={"PATH": "/usr/bin:/bin", "PAWL_SERVER": f"unix:{node.socket()}"})


def processes(id):
    return processes_with(f"PAWL_JOB_ID={id}")


def stopped(id):
    return processes_stopped(f"PAWL_JOB_ID={id}")


def sleepers(api, tag, count, command=("sleep", "600"), **fields):
    jobs = [api.add(command=list(command), tags=[tag], **fields)["id"] for _ in range(count)]
    for id in jobs:
        api.until(id, "running", LONG)
    return jobs


def all_in(api, jobs, *states):
    return [api.until(id, states, LONG) for id in jobs]


@pytest.mark.parametrize("cgroups", ["on", "off"])
def test_pause_stops_every_process_and_keeps_the_lease(nodes, home, tag, cgroups):
    """S4.74, S4.76: parent, child and a grandchild with a session of its own stand still,
    for longer than a silent job would be believed in, and go on where they were."""
    api = nodes[cgroups].api(LONG)
    path = home.path / tag
    id = api.add(command=["sh", "-c", TREE, "sh", str(path)])["id"]
    files = [pathlib.Path(f"{path}.{who}") for who in ("parent", "child", "grandchild")]

    def sizes():
        return [file.stat().st_size if file.exists() else 0 for file in files]
    wait_for(lambda: all(sizes()), LONG, lambda: f"{sizes()}")
    assert api.act(id, "pause")["state"] == "paused"
    wait_for(lambda: stopped(id), LONG, lambda: f"not stopped: "
             f"{[(pid, state_of(pid)) for pid in processes(id)]}")
    beats = []
    for _ in range(2): # what was in the kernel's hands when it was stopped is over by then
        still = sizes()
        beats.append(api.job(id)["last_heartbeat_at"])
        since = time.monotonic()
        wait_for(lambda: time.monotonic() > since + LEASE and
                 api.job(id)["last_heartbeat_at"] > beats[-1], LONG,
                 "the lease is not renewed")
    job = api.job(id)
    assert (job["state"], job["attempt"]) == ("paused", 1)
    assert job["lock"] not in ("", "__done")
    assert sizes() == still and stopped(id)
    api.act(id, "resume")
    wait_for(lambda: all(now > then for now, then in zip(sizes(), still)), LONG,
             lambda: f"{still} -> {sizes()}")
    assert api.job(id)["attempt"] == 1
    api.act(id, "kill")
    assert api.until(id, seconds=LONG)["state"] == "cancelled"
    wait_for(lambda: not processes(id), LONG, lambda: f"left over: {processes(id)}")


def test_max_run_time_stands_still_while_paused(api):
    """S0.70: it is the time a job runs that counts."""
    for limit in (3, 12, 48): # a pause that comes too late on a busy machine proves nothing
        id = api.add(command=["sleep", "600"], max_run_time=f"{limit}s")["id"]
        api.until(id, "running", LONG)
        if api.request("POST", f"/jobs/{id}/pause").status == 200:
            break
    paused = time.monotonic()
    wait_for(lambda: time.monotonic() > paused + limit, 2 * LONG)
    job = api.job(id)
    assert (job["state"], job["attempt"]) == ("paused", 1), job
    api.act(id, "resume")
    ended = api.until(id, seconds=2 * LONG)
    assert (ended["state"], ended["exitcode"]) == ("rejected", 504)
    [attempt] = api.get(f"/jobs/{id}/attempts")["items"]
    assert attempt["code"] == "error"


def test_halt_keeps_the_state_directory_for_the_next_attempt(api, tag):
    """S4.77, S4.78, S4.83: of one job, and of everything that matches."""
    jobs = sleepers(api, tag, 3, ["sh", "-c", STEPS], keep_state=True)
    for id in jobs:
        wait_for(lambda: api.log(id) == b"up\n", LONG)
    api.act(jobs[0], "halt")
    all_in(api, jobs[:1], "halted")
    told = operate(api, action="halt", q=f"tag:{tag} state:running")
    assert over(api, told)["acted"] == 2
    for job in all_in(api, jobs, "halted"):
        assert (job["lock"], job["retry_number"], job["attempt"]) == ("", 0, 1)
        wait_for(lambda: not processes(job["id"]), LONG)
    assert over(api, operate(api, action="resume", q=f"tag:{tag}"))["acted"] == 3
    for job in all_in(api, jobs, "done"):
        assert (job["attempt"], api.log(job["id"])) == (2, b"from 1\n")


def operate(api, **fields):
    answer = api.request("POST", "/operations", fields)
    assert answer.status == 202, answer
    return answer.json()


def over(api, told):
    return wait_for(lambda: (lambda now: now if now["state"] != "running" else None)(
        api.get(f"/operations/{told['id']}")), LONG)


@pytest.mark.parametrize("how", ["one", "ids", "match"])
def test_every_control_for_one_for_many_and_for_all_that_match(node, api, tag, how):
    """S0.75, S4.70: pause, resume, halt, resume, cancel and kill, by the command line."""
    count = 1 if how == "one" else 3
    jobs = sleepers(api, tag, count)

    def act(action, refusal=0):
        which = ["--match", f"tag:{tag}", "--yes"] if how == "match" else jobs
        done = cli(node, action, *which)
        assert done.returncode == refusal, (action, done)
        return done
    for action, state in (("pause", "paused"), ("resume", "running"), ("halt", "halted"),
                          ("resume", "running")):
        act(action)
        all_in(api, jobs, state)
    act("release", refusal=5) # makes no sense in this state
    act("cancel")
    all_in(api, jobs, "cancelled")
    act("retry")
    all_in(api, jobs, "running")
    act("kill")
    assert {job["signal"] for job in all_in(api, jobs, "cancelled")} == {9}
    act("rm")
    assert all(api.request("GET", f"/jobs/{id}").status == 404 for id in jobs)
    for id in jobs:
        wait_for(lambda: not processes(id), LONG)


def test_match_tells_asks_and_is_an_operation(node, api, tag):
    """S0.75, S0.76: a dry run acts on nothing, without --yes nothing happens, and what
    happens can be looked at afterwards."""
    jobs = sleepers(api, tag, 2)
    done = cli(node, "pause", "--match", f"tag:{tag}", "--dry-run")
    assert sorted(done.stdout.split()) == sorted(jobs)
    done = cli(node, "pause", "--match", f"tag:{tag}")
    assert done.returncode == 2 and "pause 2 jobs" in done.stderr
    assert {job["state"] for job in all_in(api, jobs, "running")} == {"running"}
    done = cli(node, "pause", "--match", f"tag:{tag}", "--yes", "--json")
    told = json.loads(done.stdout)
    assert (told["action"], told["acted"], told["state"]) == ("pause", 2, "done")
    shown = json.loads(cli(node, "operation", "show", told["id"], "--json").stdout)
    assert shown == told
    assert told["id"] in cli(node, "operation", "ls").stdout
    assert cli(node, "operation", "wait", told["id"]).returncode == 0
    assert cli(node, "operation", "stop", told["id"]).returncode == 0
    assert cli(node, "operation", "show", "0000000000000").returncode == 3
    cli(node, "kill", "--match", f"tag:{tag}", "--yes")
    all_in(api, jobs, "cancelled")


def test_set_changes_every_field_of_waiting_jobs(node, api, tag):
    """S0.78: a start after that sees what was set."""
    script = 'echo "$PAWL_PRIORITY $PAWL_QUEUE"'
    jobs = [api.add(command=["sh", "-c", script], tags=[tag], run_at="2999-01-01T00:00:00Z")
            ["id"] for _ in range(2)]
    done = cli(node, "set", "--match", f"tag:{tag}", "--yes", "--priority", "8", "--queue",
               tag, "--max-run-time", "90s", "--tag", tag, "--tag", "more", "--in", "0s")
    assert done.returncode == 0, done
    for job in all_in(api, jobs, "done"):
        assert (job["priority"], job["queue"], job["max_run_time"]) == (8, tag, "PT1M30S")
        assert job["tags"] == [tag, "more"]
        assert api.log(job["id"]) == f"8 {tag}\n".encode()
    answer = api.request("POST", "/operations",
                         {"action": "set", "q": "state:ready", "payload": "x"})
    assert (answer.status, answer.json()["code"]) == (422, "read_only_field")


def crowd(api, tag, count):
    """Held jobs in a queue of their own."""
    body = "\n".join(str(number) for number in range(count)).encode()
    answer = api.request("POST", f"//default/job/{tag}/add?held=true&queue={tag}", body)
    assert answer.status == 200, answer


def states_of(api, tag):
    return {state: count for state, count in api.get(f"/queues/{tag}")["jobs"].items() if count}


def test_a_large_queue_is_cleared_by_an_operation(home, tag):
    """S0.73: kill -9 in the middle of it leaves nothing half done."""
    node = home.daemon("--slots", "2", data=home.path / "clear").start()
    api = node.api(LONG)
    crowd(api, tag, 6000)

    def clear():
        try:
            node.api(LONG).request("POST", f"/queues/{tag}/clear")
        except Broken:
            pass # the daemon is killed meanwhile
    asking = threading.Thread(target=clear)
    asking.start()
    [told] = wait_for(lambda: api.get("/operations")["items"], LONG)
    assert (told["action"], told["count"]) == ("cancel", 6000)
    node.kill()
    asking.join(LONG)
    node.start()
    api = node.api(LONG)
    told = over(api, told)
    assert (told["state"], told["acted"], told["refused"]) == ("done", 6000, 0)
    assert states_of(api, tag) == {"cancelled": 6000}
    crowd(api, tag, 300)
    done = cli(node, "queue", "clear", tag)
    assert done.returncode == 0, done
    wait_for(lambda: states_of(api, tag) == {"cancelled": 6300}, LONG)
    again = api.request("POST", f"/queues/{tag}/clear")
    assert again.status == 200 and again.json()["cleared"] == 0
    api.close()


def test_a_halt_of_many_goes_on_after_kill_9(home, tag):
    """S0.75: accepted is done, whatever happens to the daemon."""
    node = home.daemon("--slots", "4", "--set", "daemon.grace=500ms",
                       data=home.path / "halt").start()
    api = node.api(LONG)
    jobs = sleepers(api, tag, 3, ["sh", "-c", STEPS], keep_state=True)
    for id in jobs:
        wait_for(lambda: api.log(id) == b"up\n", LONG)
    told = operate(api, action="halt", q=f"tag:{tag}")
    node.restart()
    api = node.api(LONG)
    assert over(api, told)["acted"] == 3
    all_in(api, jobs, "halted")
    assert over(api, operate(api, action="resume", q=f"tag:{tag}"))["acted"] == 3
    for job in all_in(api, jobs, "done"):
        assert (job["attempt"], api.log(job["id"])) == (2, b"from 1\n")
    api.close()
