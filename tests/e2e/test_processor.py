# SPDX-License-Identifier: Apache-2.0
"""Processors of document 004: directories as work, against a real daemon."""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for                       # noqa: E402
from lib.daemon import Place, alive, kernel, program # noqa: E402
from lib.processor import problem_of, BUCKETS, WAIT, Processor, until_status # noqa: E402

COPY = 'cp -r "$PAWL_INPUT" "$PAWL_OUTPUT"'
# Goes on when the file beside it says so; what it wrote before shows that it runs.
GATED = ('echo begun > "$PAWL_OUTPUT"; while [ ! -e "$GATE" ]; do sleep 0.05; done; '
         'cat "$PAWL_INPUT" >> "$PAWL_OUTPUT"')


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def node(home):
    return home.daemon("--slots", "8", "--set", "daemon.grace=5s").start()


@pytest.fixture
def make(node):
    """Processors of the test's own."""
    def one(command=COPY, **fields):
        processor = Processor(node, "p" + uuid.uuid4().hex[:8])
        processor.create(command, **fields)
        return processor
    return one


@pytest.fixture
def gated(make, home):
    """A processor whose units wait for open()."""
    gate = home.path / f"gate-{uuid.uuid4().hex[:8]}"
    processor = make(GATED, env=[f"GATE={gate}"], slots=2)
    processor.gate = gate
    yield processor
    gate.touch()


def running(processor, unit):
    wait_for(lambda: (processor.dir / "output/processing" / unit).exists(), WAIT,
             lambda: f"{unit} does not run: {processor.picture()}")


def test_a_unit_goes_through_the_buckets(make):
    """S4.2 S4.4 S4.5 S4.6 S4.7 S4.8 S4.9 S4.10 S4.49: renamed into work it is processed in
    the processor's own directory, which nobody had to name."""
    processor = make()
    assert processor.dir.is_dir()
    assert all((processor.dir / bucket).is_dir() for bucket in BUCKETS)
    processor.put("file", b"one\n")
    processor.put("folder", {"a": b"A", "b": b"B"})
    processor.until("output/finished", "file", "folder")
    processor.until("input/processed", "file", "folder")
    assert (processor.dir / "output/finished/file").read_bytes() == b"one\n"
    assert (processor.dir / "output/finished/folder/b").read_bytes() == b"B"
    assert processor.where("file") == ["input/processed", "output/finished"]


def test_what_the_command_sees(make):
    """S4.13: the unit's name, its input in active, and a path for its output."""
    processor = make('set -e; test -f "$PAWL_INPUT"; test -d "$PAWL_STATE_DIR"; '
                     'test ! -e "$PAWL_OUTPUT"; env > "$PAWL_OUTPUT"')
    processor.put("u1")
    processor.until("output/finished", "u1")
    seen = dict(line.split("=", 1) for line in
                (processor.dir / "output/finished/u1").read_text().splitlines()
                if "=" in line)
    assert seen["PAWL_UNIT"] == "u1"
    assert seen["PAWL_INPUT"] == str(processor.dir / "input/active/u1")
    assert seen["PAWL_OUTPUT"] == str(processor.dir / "output/processing/u1")


def test_hostile_names(make):
    names = [b"two\nlines", b"-rf", b"x..", b"\xff\xfe", b"a'b \"$(touch x);", b"n" * 255]
    processor = make(slots=4)
    for name in names:
        processor.put(name, name)
    wait_for(lambda: len(os.listdir(os.fsencode(processor.dir / "input/processed"))) ==
             len(names), WAIT, processor.picture)
    finished = os.fsencode(processor.dir / "output/finished")
    for name in names:
        with open(finished + b"/" + name, "rb") as file:
            assert file.read() == name


def test_what_is_no_unit_stays(make, home):
    """Hidden and temporary names wait for their rename; a link is followed nowhere."""
    outside = home.path / "outside"
    outside.write_text("secret")
    processor = make()
    work = processor.dir / "input/work"
    (work / ".hidden").write_text("x")
    (work / "half.part").write_text("x")
    (work / "link").symlink_to(outside)
    os.mkfifo(work / "pipe")
    processor.put("after")
    processor.until("input/processed", "after")
    wait_for(lambda: {"link", "pipe"} <= {row["unit"] for row in
                                          processor.status()["problems"]}, WAIT,
             processor.picture)
    assert processor.bucket("input/work") == {".hidden", "half.part", "link", "pipe"}


def test_a_failing_unit_goes_to_failed(make):
    """B4.2: input and output both, as an exception did there."""
    processor = make('echo half > "$PAWL_OUTPUT"; exit 3')
    processor.put("bad")
    processor.until("input/failed", "bad")
    assert processor.where("bad") == ["input/failed", "output/failed"]
    assert processor.unit("bad") == "failed"


def test_retries_come_before_failed_and_begin_afresh(make, home):
    seen = home.path / "tries"
    processor = make(f'test ! -e "$PAWL_OUTPUT"; echo $? >> {seen}; echo x > "$PAWL_OUTPUT"; '
                     'exit 1', max_retries=2, retry_delay="PT0.05S")
    processor.put("u")
    processor.until("input/failed", "u")
    assert seen.read_text().split() == ["0", "0", "0"]


def test_a_name_clash_is_told_and_the_unit_stays(make):
    processor = make()
    processor.put("same", b"first")
    processor.until("input/processed", "same")
    processor.put("same", b"second")
    wait_for(lambda: any(row["unit"] == "same" for row in processor.status()["problems"]),
             WAIT, processor.picture)
    assert problem_of(processor, "same") == (
        "there is already a unit of this name in input/processed; remove it there, rename "
        "this one, or reset the processor")
    assert (processor.dir / "input/work/same").read_bytes() == b"second"
    assert (processor.dir / "output/finished/same").read_bytes() == b"first"
    processor.signal("reset-processed", "same", status=409)
    os.unlink(processor.dir / "input/work/same")
    processor.signal("re-process", "same")
    processor.until("output/finished", "same")


def test_the_monitor_stops_and_starts_and_is_remembered(home):
    """S4.20 S4.21 S4.39 B4.4: on by default; off, what runs goes on and nothing new is
    taken, a stop between units; remembered over a restart."""
    node = home.daemon(data=home.path / "switch").start()
    gate = home.path / "switch-gate"
    processor = Processor(node, "p")
    processor.create(GATED, env=[f"GATE={gate}"])
    assert processor.status()["processing"] is True
    processor.put("first")
    running(processor, "first")
    processor.signal("stop-monitor")
    processor.signal("stop-monitor")
    processor.put("second")
    gate.touch()
    processor.until("input/processed", "first")
    node.restart()
    until_status(processor, processing=False, waiting=1)
    assert processor.unit("second") == "have-input"
    wait_for(lambda: processor.status()["off_seconds"] > 0, WAIT, processor.picture)
    processor.signal("start-monitor")
    processor.until("input/processed", "second")
    node.cleanup()


def test_slots_bound_what_runs(gated):
    """S4.41 S4.42 S4.43 S4.45 S4.69: threads, running ones, names of active units, and how
    many wait."""
    for i in range(5):
        gated.put(f"u{i}")
    status = until_status(gated, running=2, waiting=3, slots=2)
    assert set(status["active"]) == gated.bucket("input/active")
    assert len(status["active"]) == 2
    gated.gate.touch()
    gated.until("input/processed", *[f"u{i}" for i in range(5)])


def test_reset_active(gated):
    """S4.22 S4.23 S4.24 S4.25 S4.26: what runs is ended, its output deleted, its input back
    in work, and the monitor goes on as it was."""
    gated.put("u")
    running(gated, "u")
    jobs = gated.node.jobs()
    gated.signal("stop-monitor")
    answer = gated.signal("reset-active")
    assert answer["count"] == 1
    assert gated.where("u") == ["input/work"]
    wait_for(lambda: not any(alive(pid) for pid in jobs), WAIT, "its processes live on")
    assert gated.status()["processing"] is False
    gated.signal("start-monitor")
    running(gated, "u")
    gated.signal("reset-active")
    running(gated, "u") # the monitor was on: it is taken again


STUBBORN = ('trap "" TERM; (trap "" TERM; while :; do sleep 0.05; done) & '
            'echo x > "$PAWL_OUTPUT"; while :; do sleep 0.05; done')
POLITE = ('trap \'echo told > "$MARK"; exit 0\' TERM; echo x > "$PAWL_OUTPUT"; '
          'while :; do sleep 0.05; done')


def test_a_reset_asks_first_and_kills_then(make, home, node):
    """S4.23: every process of the run gets TERM; one that does not listen, and what it
    started, gets KILL after the grace. The reset answers when none is left."""
    mark = home.path / "told"
    polite = make(POLITE, env=[f"MARK={mark}"])
    polite.put("u")
    running(polite, "u")
    polite.signal("stop-monitor")
    polite.signal("reset-active")
    assert mark.read_text() == "told\n"
    assert polite.where("u") == ["input/work"] # though it left with 0: it was undone
    before = set(node.jobs())
    stubborn = make(STUBBORN)
    stubborn.put("v")
    running(stubborn, "v")
    mine = wait_for(lambda: set(node.jobs()) - before, WAIT, "it does not run") or \
        set(node.jobs()) - before
    stubborn.signal("stop-monitor")
    stubborn.signal("reset-active", "v")
    assert stubborn.where("v") == ["input/work"]
    wait_for(lambda: not any(alive(pid) for pid in mine), WAIT, "its processes live on")


def test_a_reset_of_one_unit_leaves_the_others(gated):
    """S4.7 S4.9 S4.31"""
    gated.put("a")
    gated.put("b")
    running(gated, "a")
    running(gated, "b")
    gated.signal("stop-monitor")
    gated.signal("reset-active", "a")
    assert gated.where("a") == ["input/work"]
    assert gated.where("b") == ["input/active", "output/processing"]


def test_reset_processed_and_reset_all(gated):
    """S4.28 S4.29 S4.30: outputs go, inputs come back."""
    gated.gate.touch()
    gated.put("a")
    gated.put("b")
    gated.until("input/processed", "a", "b")
    gated.signal("stop-monitor")
    gated.signal("reset-processed", "a")
    assert gated.where("a") == ["input/work"]
    assert gated.where("b") == ["input/processed", "output/finished"]
    gated.signal("reset-processed")
    assert gated.where("b") == ["input/work"]
    gated.gate.unlink()
    gated.signal("start-monitor")
    running(gated, "a")
    running(gated, "b")
    gated.signal("stop-monitor")
    gated.signal("reset-all")
    assert gated.where("a") == gated.where("b") == ["input/work"]
    assert gated.bucket("output/processing") == set()


def test_resets_take_failed_units_and_units_of_every_state(make, home):
    """S4.28 S4.29 S4.30 B4.1: reset processed takes failed input back and deletes failed
    output, and leaves what runs; reset all takes what runs, is processed and has failed."""
    gate = home.path / f"kinds-{uuid.uuid4().hex[:8]}"
    processor = make('echo x > "$PAWL_OUTPUT"; case $PAWL_UNIT in bad) exit 3;; '
                     f'slow) while [ ! -e {gate} ]; do sleep 0.05; done;; esac', slots=3)

    def settled():
        processor.until("input/processed", "good")
        processor.until("input/failed", "bad")
        running(processor, "slow")
        processor.signal("stop-monitor")
    for name in "bad", "good", "slow":
        processor.put(name)
    settled()
    assert processor.where("bad") == ["input/failed", "output/failed"]
    processor.signal("reset-processed")
    assert processor.where("bad") == processor.where("good") == ["input/work"]
    assert processor.where("slow") == ["input/active", "output/processing"]
    processor.signal("start-monitor")
    settled()
    processor.signal("reset-all")
    assert {name: processor.where(name) for name in ("bad", "good", "slow")} == {
        name: ["input/work"] for name in ("bad", "good", "slow")}
    gate.touch()
    processor.signal("start-monitor")
    processor.until("input/processed", "good", "slow")


def test_process_says_what_it_does(gated):
    """S4.50 S4.51 S4.52: starting, in-progress, already-done, and it can wait."""
    gated.signal("stop-monitor")
    gated.put("u")
    assert gated.signal("process", "u")["answer"] == "starting"
    running(gated, "u")
    assert gated.signal("process", "u")["answer"] == "in-progress"
    assert gated.signal("process", "u", wait="PT0.1S")["status"] == "in-progress"
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waits = pool.submit(gated.signal, "process", "u", wait="PT60S")
        gated.gate.touch()
        answer = waits.result(WAIT)
    # It came while the unit was in progress, or after.
    assert answer.get("status") == "completed" or answer["answer"] == "already-done"
    assert gated.where("u") == ["input/processed", "output/finished"]
    assert gated.signal("process", "u")["answer"] == "already-done"
    gated.signal("process", "never", status=404)
    gated.signal("process", status=422)


def test_the_exit_code_of_waiting(make, node, gated):
    """S4.52: a script that waits for a unit goes on by what became of it."""
    def process(processor, unit, wait, *words):
        return subprocess.run(
            [program(), "processor", "process", processor.name, unit, "--wait", wait, *words,
             "--server", f"unix:{node.socket()}"], capture_output=True, text=True,
            timeout=WAIT, check=False, stdin=subprocess.DEVNULL)
    bad = make("exit 3")
    bad.signal("stop-monitor")
    bad.put("u")
    done = process(bad, "u", "60s")
    assert (done.returncode, done.stdout) == (10, f"{bad.name} failed\n"), done
    done = process(bad, "u", "60s", "--json") # a failed one is tried again
    assert (done.returncode, json.loads(done.stdout)["status"]) == (10, "failed"), done
    good = make()
    good.signal("stop-monitor")
    good.put("u")
    done = process(good, "u", "60s")
    assert (done.returncode, done.stdout) == (0, f"{good.name} completed\n"), done
    gated.put("u")
    running(gated, "u")
    done = process(gated, "u", "100ms")
    assert (done.returncode, done.stdout) == (124, f"{gated.name} in-progress\n"), done


def test_process_all_takes_what_is_there(make):
    """S4.59: once, though the monitor is off."""
    processor = make()
    processor.signal("stop-monitor")
    for i in range(3):
        processor.put(f"u{i}")
    assert processor.signal("process-all")["count"] == 3
    processor.until("input/processed", "u0", "u1", "u2")
    assert processor.status()["processing"] is False


def test_reprocess_and_purge(make):
    """S4.60 S4.61 S4.62 S4.63 S4.64 S4.65"""
    processor = make('echo x >> "$COUNT"; cat "$PAWL_INPUT" > "$PAWL_OUTPUT"',
                     env=["COUNT=/dev/null"])
    processor.put("a")
    processor.put("b")
    processor.until("input/processed", "a", "b")
    processor.signal("purge", "a")
    assert processor.where("a") == ["input/processed"]
    for _ in range(20): # whoever waited for the end sees it, each time
        assert processor.signal("re-process", "a", wait="PT60S")["status"] == "completed"
    processor.until("output/finished", "a")
    processor.signal("purge-all")
    assert processor.bucket("output/finished") == set()
    assert processor.where("b") == ["input/processed"]
    processor.signal("re-process-all")
    processor.until("output/finished", "a", "b")


def test_purge_ends_what_is_in_progress(gated):
    """S4.62 S4.64"""
    gated.put("u")
    running(gated, "u")
    gated.signal("stop-monitor")
    gated.signal("purge", "u")
    assert gated.where("u") == ["input/work"]
    gated.put("v")
    gated.signal("process", "v")
    running(gated, "v")
    gated.signal("purge-all")
    assert gated.where("v") == ["input/work"]


def test_pause_resume_halt(gated):
    """S4.73 S4.74 S4.75 S4.76 S4.77 S4.78 S4.79"""
    gated.put("a")
    gated.put("b")
    running(gated, "a")
    running(gated, "b")
    gated.signal("pause", "a")
    wait_for(lambda: gated.unit("a") == "paused", WAIT, gated.picture)
    assert gated.unit("b") == "in-progress"
    gated.signal("pause-all")
    wait_for(lambda: gated.status()["paused"] == 2, WAIT, gated.picture)
    gated.signal("resume", "a")
    wait_for(lambda: gated.unit("a") == "in-progress", WAIT, gated.picture)
    gated.signal("resume-all")
    wait_for(lambda: gated.status()["paused"] == 0, WAIT, gated.picture)
    gated.signal("halt", "a")
    wait_for(lambda: gated.unit("a") == "halted", WAIT, gated.picture)
    gated.signal("halt-all")
    wait_for(lambda: gated.status()["halted"] == 2, WAIT, gated.picture)
    assert gated.where("a")[0] == "input/active"
    gated.gate.touch()
    gated.signal("resume-all")
    gated.until("input/processed", "a", "b")
    gated.signal("pause", "a", status=404)


def test_identify_gives_an_id_that_routes(make, node):
    """S4.54 S4.55 S4.56 S4.66"""
    processor = make()
    answer = processor.signal("identify")
    assert answer["id"] == processor.status()["id"]
    assert answer["id"].endswith(":" + processor.name)
    by_id = Processor(node, answer["id"], processor.dir)
    processor.put("u")
    processor.until("input/processed", "u")
    assert by_id.signal("process", "u")["answer"] == "already-done"
    Processor(node, "nobody", processor.dir).signal("identify", status=404)


def test_the_next_signal(make):
    """S4.53 S4.57 S4.58: a durable job that is tried until the other one has the unit."""
    first, second = make(), make()
    first.signal("stop-monitor")
    second.signal("stop-monitor")
    first.put("u")
    first.signal("process", "u", next=second.signal("identify")["id"])
    first.until("input/processed", "u")
    api = first.node.api()
    wait_for(lambda: any(job["attempt"] >= 1 and second.name in " ".join(job["command"])
                         for job in api.get("/jobs?type=signal&limit=50")["items"]), WAIT,
             "no signal was sent")
    second.put("u") # only now: the first tries found nothing
    second.until("input/processed", "u")


def test_status_has_every_field(make):
    """S4.34 S4.40 S4.44 S4.46 S4.47 S4.48 S4.67 S4.68 S4.70 S4.71 S4.72"""
    processor = make('sleep 0.05; cat "$PAWL_INPUT" > "$PAWL_OUTPUT"')
    (processor.dir / "input/receive/coming").write_text("x")
    for i in range(3):
        processor.put(f"u{i}")
    processor.until("input/processed", "u0", "u1", "u2")
    wait_for(lambda: processor.status()["waiting_seconds"] > 0, WAIT, processor.picture)
    status = until_status(processor, receiving=1, waiting=0, active=[], processed=3,
                          finished=3, sent=0, completed_total=3, failed=0)
    assert status["uptime"] > 0 and status["rate_processing"] > 0
    assert status["rate_forwarding"] == 0 and status["forwarding"] is False
    assert status["off_seconds"] == 0 and status["paused"] == 0 and status["halted"] == 0
    times = status["unit_seconds"]
    assert 0 < times["min"] <= times["avg"] <= times["max"]
    assert processor.unit("u0") == "completed" and processor.unit("no") == "no-input"
    assert processor.unit("coming") == "no-input"
    assert status["name"] == processor.name and status["node"]


def test_a_restart_resets_active(home):
    """S4.33 B4.7: what has no live attempt begins again; what still runs goes on."""
    node = home.daemon(data=home.path / "again").start()
    gate = home.path / "again-gate"
    processor = Processor(node, "p")
    processor.create(GATED, env=[f"GATE={gate}"], slots=2)
    processor.put("runs")
    running(processor, "runs")
    runs = set(node.jobs())
    node.kill()
    # As if a daemon had died between the claim and its job.
    os.rename(make_file(processor, "claimed"), processor.dir / "input/active/claimed")
    (processor.dir / "output/processing/claimed").write_text("half")
    (processor.dir / "output/processing/stray").write_text("half")
    (processor.dir / "output/processing/.gone.part").write_text("half")
    (processor.dir / "output/processing/runs.part").write_text("of one that runs")
    node.start()
    running(processor, "claimed")
    assert runs & set(node.jobs()), "the run that outlived the daemon was ended"
    gate.touch()
    processor.until("input/processed", "runs", "claimed")
    assert (processor.dir / "output/finished/claimed").read_bytes() == b"begun\nx"
    assert processor.where("stray") == [] and processor.where(".gone.part") == []
    assert processor.bucket("output/processing") == {"runs.part"}
    processor.signal("reset-active") # S4.24: the contents of output/processing
    assert processor.bucket("output/processing") == set()
    node.cleanup()


def killed_before_the_renames(home, name):
    """A daemon that dies when the job of its unit is done and the unit still in active: its
    output found something in the way. The runs are counted in a file."""
    node = home.daemon(data=home.path / name).start()
    gate, runs = home.path / f"{name}-gate", home.path / f"{name}-runs"
    processor = Processor(node, "p")
    processor.create(f'echo run >> {runs}; {GATED}', env=[f"GATE={gate}"])
    processor.put("u", b"whole\n")
    running(processor, "u")
    (processor.dir / "output/finished/u").write_text("in the way")
    came = (processor.dir / "input/active/u").stat().st_ctime
    wait_for(lambda: time.time() > came + 0.1, WAIT) # the end is after it, to any clock
    gate.touch()
    wait_for(lambda: any("already" in row["problem"] for row in
                         processor.status()["problems"]), WAIT, processor.picture)
    assert processor.where("u") == ["input/active", "output/processing", "output/finished"]
    node.kill()
    (processor.dir / "output/finished/u").unlink()
    return processor, runs


@pytest.mark.skipif(kernel() < (6, 8), reason="mounts have no number of their own here")
def test_a_kill_before_the_renames_does_not_make_the_unit_again(home):
    """S4.8 S4.10 S4.33: its job is done and its output there, so only the renames are."""
    processor, runs = killed_before_the_renames(home, "ended")
    processor.node.start()
    assert processor.where("u") == ["input/processed", "output/finished"]
    assert (processor.dir / "output/finished/u").read_bytes() == b"begun\nwhole\n"
    assert runs.read_text() == "run\n"
    processor.node.cleanup()


def test_a_unit_that_came_again_is_not_done_by_its_older_job(home):
    """Back in active after the end of that job, and killed before it had a new one."""
    processor, runs = killed_before_the_renames(home, "older")
    for bucket in "work", "active":
        os.rename(processor.dir / "input" / processor.where("u")[0][6:] / "u",
                  processor.dir / "input" / bucket / "u")
    (processor.dir / "output/processing/u").unlink()
    processor.node.start()
    processor.until("input/processed", "u")
    assert (processor.dir / "output/finished/u").read_bytes() == b"begun\nwhole\n"
    assert runs.read_text() == "run\nrun\n"
    processor.node.cleanup()


def test_a_job_that_is_done_does_not_make_its_output_whole(home):
    """As after a power cut: the journal has the end of the job, the disk not its output,
    and the file system is mounted anew. The unit begins again."""
    processor, runs = killed_before_the_renames(home, "lost")
    os.truncate(processor.dir / "output/processing/u", 2)
    (processor.dir / ".pawl/mount").write_text("00000000-0000-4000-8000-000000000000 1")
    processor.node.start()
    processor.until("input/processed", "u")
    assert (processor.dir / "output/finished/u").read_bytes() == b"begun\nwhole\n"
    assert runs.read_text() == "run\nrun\n"
    processor.node.cleanup()


def make_file(processor, name):
    path = processor.dir / "input/receive" / f".{name}"
    path.write_bytes(b"x")
    return path


def test_halves_of_an_end_are_completed(home):
    """Each order of renames that a crash can leave is brought to its end at the start."""
    node = home.daemon(data=home.path / "halves").start()
    processor = Processor(node, "p")
    processor.create(COPY)
    processor.signal("stop-monitor")
    node.stop()
    for name, buckets in {"output-first": ("input/active", "output/finished"),
                          "input-first": ("input/processed", "output/processing"),
                          "sent": ("input/active", "output/sent"),
                          "bad": ("input/active", "output/failed"),
                          "bad-input": ("input/failed", "output/processing")}.items():
        for bucket in buckets:
            (processor.dir / bucket / name).write_text(name)
    node.start()
    assert processor.where("output-first") == ["input/processed", "output/finished"]
    assert processor.where("input-first") == ["input/processed", "output/finished"]
    assert processor.where("sent") == ["input/processed", "output/sent"]
    assert processor.where("bad") == ["input/failed", "output/failed"]
    assert processor.where("bad-input") == ["input/failed", "output/failed"]
    node.cleanup()


def test_declared_in_the_configuration(home):
    """S4.84: the file's processors are there when the daemon is ready."""
    config = home.path / "declared.yaml"
    config.write_text(
        "processors:\n"
        "  - name: ocr\n"
        "    command: [sh, -c, 'cp \"$PAWL_INPUT\" \"$PAWL_OUTPUT\"']\n"
        "    slots: 2\n")
    node = home.daemon("--config", str(config), data=home.path / "declared").start()
    processor = Processor(node, "ocr")
    assert (processor.dir / "input/work").is_dir()
    processor.put("u")
    processor.until("input/processed", "u")
    assert processor.status()["declared"] is True
    processor.create("true", status=409)
    config.write_text("processors:\n  - {name: ocr, comand: [x]}\n")
    check = subprocess.run([program(), "serve", "--check", "--config", str(config)],
                           capture_output=True, text=True, timeout=120, check=False)
    assert check.returncode == 1 and "command" in check.stderr, check.stderr
    node.cleanup()


def test_a_directory_has_one_processor(make, node, home):
    """Two would take the same units; of another daemon no less."""
    processor = make()
    answer = Processor(node, "twin").create("true", status=409, dir=str(processor.dir))
    assert answer["detail"] == (f"{os.path.realpath(processor.dir)} is in use by another "
                                "processor; each has a directory of its own")
    other = home.daemon(data=home.path / "other").start()
    Processor(other, "twin").create("true", status=409, dir=str(processor.dir))
    other.cleanup()
    processor.put("u")
    processor.until("input/processed", "u")


def test_a_bad_directory_is_refused_by_name(make, node, home):
    """No permission, or another file system for one bucket: nothing is half made."""
    target = home.path / "file"
    target.write_text("x")
    answer = Processor(node, "bad").create("true", status=422, dir=str(target / "below"))
    assert str(target) in answer["detail"]
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    place = home.path / "two"
    (place / "input/work").mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "none", str(place / "input/work")],
                             capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        answer = Processor(node, "bad").create("true", status=422, dir=str(place))
        place = os.path.realpath(place)
        assert answer["detail"] == (
            f"{place}/input/work is on another file system than {place}; units are renamed "
            "between buckets, so put all of them on one")
    finally:
        subprocess.run(["umount", f"{place}/input/work"], check=True)
    assert node.api().request("GET", "/processors/bad").status == 404


def test_destroy(make, node):
    """S4.32: the whole directory, only when it is confirmed."""
    processor = make()
    processor.put("u")
    processor.until("input/processed", "u")
    processor.signal("destroy", status=422)
    processor.signal("destroy", confirm=processor.name)
    assert not processor.dir.exists()
    assert node.api().request("GET", f"/processors/{processor.name}").status == 404


def test_the_command_line(node, home):
    """S4.85: made, listed, shown and signalled, one and all."""
    def pawl(*words, code=0):
        done = subprocess.run([program(), *words, "--server", f"unix:{node.socket()}"],
                              capture_output=True, text=True, timeout=120, check=False,
                              cwd=home.path)
        assert done.returncode == code, done
        return done.stdout
    out = pawl("processor", "create", "cli", "--command", COPY, "--slots", "2")
    processor = Processor(node, "cli")
    assert out.strip() == str(processor.dir)
    processor.put("u")
    processor.until("input/processed", "u")
    assert "already-done" in pawl("processor", "process", "cli", "u")
    assert "cli" in pawl("processor", "ls")
    assert "completed" in pawl("processor", "status", "cli", "u")
    until_status(processor, processed=1, finished=1, active=[], completed_total=1)
    screen = pawl("processor", "status", "cli")
    rows = {line[:18].strip(): line[18:] for line in screen.splitlines()}
    assert rows["input"] == "on" and rows["output"] == "off" and rows["slots"] == "2"
    assert rows["waiting"] == "0" and rows["active"] == "0" and rows["processed"] == "1"
    assert rows["unsent"] == "1" and rows["sent"] == "0" and rows["receiving"] == "0"
    assert {"running", "paused", "halted", "failed", "uptime", "without work", "input off",
            "transfers", "directory", "command"} <= set(rows)
    assert "in the last minute" in rows["rate processing"] and "/s" in rows["rate forwarding"]
    assert re.fullmatch(r"min [\d.]+(ms|s), avg [\d.]+(ms|s), max [\d.]+(ms|s)",
                        rows["time per unit"]), rows
    assert json.loads(pawl("processor", "status", "cli", "--json"))["slots"] == 2
    pawl("processor", "stop-monitor", "--all")
    assert all(not item["processing"] for item in node.api().get("/processors")["items"])
    pawl("processor", "start-monitor", "--all")
    pawl("processor", "proces", "cli", code=2)
    pawl("processor", "create", "x", "--command", "true", "--mode", "hash", code=2)
    pawl("processor", "status", "nobody", code=3)
    pawl("processor", "destroy", "cli", code=2)
    pawl("processor", "destroy", "cli", "--yes")
