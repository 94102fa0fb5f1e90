# SPDX-License-Identifier: Apache-2.0
"""Jobs that behave badly: each ends in exactly one right outcome, no process is left over,
no descriptor leaks."""
import os
import pathlib
import random
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for                                    # noqa: E402
from lib.daemon import Place, alive, descriptors, processes_with # noqa: E402

SLOTS = 6
GRACE = 0.4
CAP = 1 << 20
OF_LIBC = 3 << 31 # signals 32 and 33, which nobody may touch


@pytest.fixture(scope="module")
def node():
    with Place() as place:
        yield place.daemon("--slots", str(SLOTS), "--set", f"daemon.grace={GRACE}s",
                           "--set", f"limits.output={CAP >> 10}K", "--set",
                           f"limits.result={CAP >> 10}K").start()


@pytest.fixture
def api(node):
    api = node.api()
    yield api
    api.close()


def shell(api, script, *args, **fields):
    return api.add(command=["/bin/sh", "-c", script, "sh", *map(str, args)],
                   **{"max_retries": 0, **fields})["id"]


def leftovers(id):
    """Processes of a job: its id is in the environment of each."""
    return processes_with(f"PAWL_JOB_ID={id}")


def nothing_left(id):
    wait_for(lambda: not leftovers(id), 120, lambda: f"left over: {leftovers(id)}")


def one_attempt(api, id):
    rows = api.get(f"/jobs/{id}/attempts")["items"]
    assert len(rows) == 1
    return rows[0]


# --- whole trees ----------------------------------------------------------------------

TREES = {
    "child": "sleep 300 & echo up; wait",
    "grandchildren": "sh -c 'sleep 300 & sleep 301 & wait' & echo up; wait",
    "double fork": "(sh -c 'sleep 300 & exit' &) ; echo up; sleep 302",
    "setsid": "setsid sleep 300 & setsid -f sleep 301; echo up; wait; sleep 302",
    "setsid double fork": "setsid -f sh -c '(setsid -f sleep 300) ; sleep 301'; echo up; "
                          "sleep 302",
    "ignores TERM": "trap '' TERM; sh -c \"trap '' TERM; while :; do sleep 0.1; done\" & "
                    "echo up; while :; do sleep 0.1; done",
    "closed stdout": "echo up; exec >&- 2>&-; sleep 300",
    "stopped by itself": "echo up; kill -STOP $$; sleep 300",
}


@pytest.mark.parametrize("action", ["cancel", "kill"])
@pytest.mark.parametrize("tree", sorted(TREES))
def test_the_whole_tree_dies(api, tree, action):
    id = shell(api, TREES[tree])
    wait_for(lambda: api.log(id) == b"up\n", 120, "it does not come up")
    assert leftovers(id)
    api.act(id, action)
    assert api.until(id)["state"] == "cancelled"
    nothing_left(id)
    row = one_attempt(api, id)
    assert row["signal"] in (9, 15) or row["exit_status"] is not None


def test_what_a_job_leaves_behind_dies_with_it(api):
    """It ends by itself; its outcome is its own, and nothing goes on."""
    id = shell(api, "setsid -f sleep 300; (sleep 301 &); sleep 302 & exit 65")
    ended = api.until(id)
    assert (ended["state"], ended["exit_status"]) == ("failed", 65)
    nothing_left(id)


def test_a_child_that_keeps_the_output_open_does_not_keep_the_job(api):
    id = shell(api, "setsid -f sh -c 'sleep 300; echo late'; echo early")
    ended = api.until(id, seconds=120)
    assert ended["state"] == "done"
    assert api.log(id) == b"early\n"
    nothing_left(id)


def test_max_run_time_ends_a_job_that_ignores_term(api):
    """S0.48: TERM to the whole group, grace, KILL; ERROR 504."""
    def told(limit):
        """Nothing, if the machine was too busy for the shell to get to its trap, or out of it
        within the grace."""
        id = shell(api, "trap 'echo term' TERM; echo up; while :; do sleep 0.05; done",
                   max_run_time=f"{limit}ms")
        ended = api.until(id)
        assert (ended["state"], ended["code"], ended["exitcode"]) == ("rejected", "error", 504)
        nothing_left(id)
        if not api.log(id).startswith(b"up\n") or b"term\n" not in api.log(id):
            return None
        return ended["signal"], one_attempt(api, id)["run_ms"] - limit
    limits = iter(range(300, 30000, 300))
    signal, more = wait_for(lambda: told(next(limits)))
    assert signal == 9 and more >= GRACE * 1000 - 50


def test_max_run_time_of_a_job_that_heeds_term(api):
    def signal():
        """On a busy machine it may not get to its end within the grace."""
        id = shell(api, "echo up; sleep 300", max_run_time="300ms")
        ended = api.until(id)
        assert (ended["state"], ended["exitcode"]) == ("rejected", 504)
        nothing_left(id)
        return ended["signal"]
    wait_for(lambda: signal() == 15)


def test_an_r_line_of_a_killed_job_counts_for_nothing(api):
    id = shell(api, "trap 'exit 0' TERM; echo 'R: 200 fine'; while :; do sleep 0.05; done",
               max_run_time="300ms", protocol=True)
    ended = api.until(id)
    assert (ended["state"], ended["exitcode"]) == ("rejected", 504)


# --- output ---------------------------------------------------------------------------

def test_a_flood_of_output_is_capped_and_its_tail_kept(api):
    id = shell(api, "yes 0123456789 | head -c 50000000; echo; echo the end")
    assert api.until(id, seconds=120)["state"] == "done"
    log = api.log(id)
    assert log.endswith(b"the end\n")
    assert log.startswith(b"\n[pawl: ") and b"bytes of output were dropped here" in log[:100]
    assert CAP // 2 <= len(log) <= CAP * 5 // 4 # whole blocks are dropped


def test_the_cap_holds_on_the_disk_too(node, api):
    id = shell(api, "yes 0123456789 | head -c 20000000")
    api.until(id, seconds=120)
    used = sum(path.stat().st_blocks * 512 for path in (node.data / "logs").rglob(f"{id}*"))
    assert CAP // 2 <= used <= 2 * CAP


def test_both_streams_are_kept_apart(api):
    id = shell(api, "echo out; echo err >&2; printf 'no newline'")
    api.until(id)
    assert api.log(id, stream="stdout") == b"out\nno newline"
    assert api.log(id, stream="stderr") == b"err\n"


def test_bytes_that_are_no_text_come_back_as_they_were(api):
    id = shell(api, r"printf 'a\000b\377\r\n'")
    api.until(id)
    assert api.log(id) == b"a\0b\xff\r\n"


def test_a_job_that_closes_its_output_goes_on(api):
    id = shell(api, "echo first; exec >&- 2>&- <&-; sleep 0.2; exit 66")
    ended = api.until(id)
    assert (ended["state"], ended["exit_status"]) == ("failed", 66)
    assert api.log(id) == b"first\n"


def test_a_job_that_never_reads_its_input(api):
    id = shell(api, "exit 0", payload="x" * 1_000_000)
    assert api.until(id)["state"] == "done"


def test_a_result_beyond_its_limit_is_cut_with_a_mark(api):
    id = shell(api, "printf 'R: 200 <<2000000\\n'; head -c 2000000 /dev/zero | tr '\\0' x",
               protocol=True)
    ended = api.until(id, seconds=120)
    assert ended["state"] == "done"
    assert ended["result_cut"] is True
    assert ended["result_size"] == CAP
    assert api.request("GET", f"/jobs/{id}/result").body == b"x" * CAP


# --- races ----------------------------------------------------------------------------

def test_exit_while_being_killed(api):
    """Either end may win; the record agrees with itself whoever does."""
    luck = random.Random(7)
    ids = []
    for n in range(30):
        id = shell(api, "sleep 0.03; exit 65", name=f"race{n}")
        wait_for(lambda id=id: api.job(id)["state"] != "ready", 120, pause=0.002)
        time.sleep(luck.uniform(0, 0.06))
        answer = api.request("POST", f"/jobs/{id}/{luck.choice(('cancel', 'kill'))}")
        assert answer.status in (200, 409), answer
        ids.append((id, answer.status))
    for id, status in ids:
        ended = api.until(id)
        assert ended["state"] == ("cancelled" if status == 200 else "failed"), ended
        row = one_attempt(api, id)
        assert (row["exit_status"], row["signal"]) in ((65, None), (None, 9), (None, 15))
        assert (ended["exit_status"], ended["signal"]) == (row["exit_status"], row["signal"])
        nothing_left(id)


def test_a_timeout_and_an_exit_at_the_same_moment(api):
    ids = [shell(api, "sleep 0.1; exit 0", max_run_time=f"{delay}ms")
           for delay in range(80, 140, 4)]
    for id in ids:
        ended = api.until(id)
        assert (ended["state"], ended["exitcode"]) in (("done", 200), ("rejected", 504))
        if ended["state"] == "done":
            assert ended["exit_status"] == 0
        nothing_left(id)


def test_pause_stops_the_whole_tree_and_resume_lets_it_go_on(api):
    """S4.74, S4.76: also what has left the process group."""
    id = shell(api, "setsid -f sh -c 'while :; do echo child; sleep 0.02; done'; "
                    "while :; do echo own; sleep 0.02; done")
    wait_for(lambda: b"child" in api.log(id), 120)
    assert api.act(id, "pause")["state"] == "paused"
    wait_for(lambda: quiet(api, id), 120, "it goes on printing")
    size = len(api.log(id))
    assert api.act(id, "resume")["state"] == "running"
    wait_for(lambda: len(api.log(id)) > size, 120, "it does not go on")
    api.act(id, "kill")
    api.until(id)
    nothing_left(id)


def quiet(api, id):
    """Nothing new for ten of its beats."""
    before = api.log(id)
    time.sleep(0.2)
    return api.log(id) == before


@pytest.mark.parametrize("action", ["cancel", "kill"])
def test_a_paused_job_can_be_ended(api, action):
    id = shell(api, "while :; do sleep 0.05; done")
    api.until(id, "running")
    api.act(id, "pause")
    api.act(id, action)
    assert api.until(id)["state"] == "cancelled"
    nothing_left(id)


# --- descriptors and processes --------------------------------------------------------

def test_two_hundred_jobs_leak_no_descriptor(node, api):
    def counts():
        # The launcher keeps the cgroups of all places that were ever in use at the same
        # time, and uses them again: a few more than there are slots, whatever has run.
        kept = descriptors(node.launcher()).values()
        places = [path for path in kept if "/cgroup" in path]
        assert len(places) <= 1 + 2 * 4 * SLOTS, places
        return {"daemon": len(descriptors(node.pid)),
                "launcher": len(kept) - len(places)}

    run_many(api, 20) # caches, logs and the like are open now
    before = settled(counts)
    run_many(api, 200)
    for who in ("daemon", "launcher"): # what ended last may be open for a moment more
        wait_for(lambda who=who: counts()[who] <= before[who] + 2,
                 message=lambda: f"{before} {counts()}")
    wait_for(lambda: not node.jobs())


def run_many(api, count):
    """Good and bad ones, some that cannot even be started."""
    ids = []
    for n in range(count):
        command = [["/bin/true"], ["/bin/sh", "-c", "echo x; exit 65"],
                   ["/no/such/program"], ["/etc/passwd"]][n % 4]
        ids.append(api.add(command=command, max_retries=0)["id"])
    for id in ids:
        api.until(id, seconds=120)


def settled(look):
    """A number that has stopped changing."""
    last = look()
    for _ in range(50):
        time.sleep(0.05)
        again = look()
        if again == last:
            return last
        last = again
    return last


def test_a_job_sees_three_descriptors_and_its_own_group(api):
    """interfaces 3: only 0, 1 and 2 are open; own session and group; default signals."""
    id = shell(api, "ls /proc/$$/fd; cat /proc/$$/stat")
    api.until(id)
    lines = api.log(id).decode().splitlines()
    assert [int(line) for line in lines if line.isdigit()] == [0, 1, 2]
    stat = next(line for line in lines if "(sh)" in line)
    pid, _, rest = stat.partition(" (sh) ")
    _, _, group, session = rest.split()[:4]
    assert group == session == pid
    id = api.add(command=["/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"])["id"]
    api.until(id)
    for line in api.log(id).splitlines():
        assert int(line.split()[1], 16) & ~OF_LIBC == 0, line


def test_the_launcher_is_idle_after_all_this(node):
    assert alive(node.launcher())
    wait_for(lambda: not node.jobs(), 120, "jobs are left over")
    wait_for(lambda: not [pid for pid in os.listdir("/proc")
                          if pid.isdigit() and zombie_of(pid, node)], message="zombies")


def zombie_of(pid, node):
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] == "Z" and int(fields[1]) in (node.pid, node.launcher())
