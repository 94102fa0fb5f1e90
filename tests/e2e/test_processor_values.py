# SPDX-License-Identifier: Apache-2.0
"""What the status of a processor says, against what can be counted from outside; and what
users of the program behind document 004 (oracles B4.2 to B4.6) are used to."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for                           # noqa: E402
from lib.forwarding import COPY, home, make, node      # noqa: E402,F401
from lib.processor import WAIT, content, until_status  # noqa: E402

ROUNDING = 0.002 # seconds: each figure is a whole number of milliseconds
# Goes on when the file beside it says so; what it wrote before shows that it runs.
GATED = ('echo begun > "$PAWL_OUTPUT"; while [ ! -e "$GATE" ]; do sleep 0.05; done; '
         'cat "$PAWL_INPUT" >> "$PAWL_OUTPUT"')


@pytest.fixture
def gated(make, home, request):
    def one(command=GATED, **fields):
        gate = home.path / f"gate-{request.node.name}"
        processor = make(command, env=[f"GATE={gate}"], **fields)
        processor.gate = gate
        request.addfinalizer(gate.touch)
        return processor
    return one


def running(processor, unit):
    wait_for(lambda: (processor.dir / "output/processing" / unit).exists(), WAIT,
             lambda: f"{unit} does not run: {processor.picture()}")


def times_of(processor):
    status = processor.status()
    return [status[key] for key in ("uptime", "waiting_seconds", "off_seconds")]


def passed(processor):
    """What a moment, whatever its length, adds to uptime, time without work, time off."""
    before = times_of(processor)
    after = wait_for(lambda: (now := times_of(processor))[0] >= before[0] + 0.2 and now,
                     WAIT, processor.picture)
    return [b - a for a, b in zip(before, after)]


def test_every_moment_is_work_or_without_work_or_off(gated):
    """S4.37 S4.38: time without work and time off are what passed, to the millisecond, also
    around the moment of the switch."""
    processor = gated()
    up, waiting, off = passed(processor)
    assert abs(waiting - up) <= ROUNDING and off == 0
    processor.signal("stop-monitor")
    up, waiting, off = passed(processor)
    assert abs(off - up) <= ROUNDING and waiting == 0
    up, waiting, off = times_of(processor)
    assert abs(up - waiting - off) <= ROUNDING, "nothing ran so far"
    processor.put("u")
    processor.signal("start-monitor")
    running(processor, "u")
    up, waiting, off = passed(processor)
    assert up >= 0.2 and waiting == 0 and off == 0
    processor.gate.touch()
    processor.until("input/processed", "u")
    status = until_status(processor, completed_total=1, active=[])
    worked = status["uptime"] - status["waiting_seconds"] - status["off_seconds"]
    assert worked >= status["unit_seconds"]["max"] - 0.05 # which has a clock of its own
    assert status["unit_seconds"]["max"] >= 0.2
    up, waiting, off = passed(processor)
    assert abs(waiting - up) <= ROUNDING and off == 0


def check_rate(status, rate, total):
    """So many since the start, by whole seconds that are begun."""
    up, overall, minute = status["uptime"], status[f"{rate}_overall"], status[rate]
    assert total / (up + 2) <= overall <= total / max(up - 1, 1), status
    assert minute <= total / min(max(up - 1, 1), 60), status
    if up < 58: # all of them are of the last minute
        assert minute == overall, status


def test_rates_are_units_by_seconds(make):
    """S4.35 S4.36 B4.4: of processing and of forwarding; counted, timed, per second."""
    last = make()
    last.signal("stop-monitor")
    first = make(forward=[{"to": [last.name]}])
    units = [f"u{i}" for i in range(7)]
    for unit in units:
        first.put(unit)
    status = until_status(first, completed_total=7, finished=7)
    check_rate(status, "rate_processing", 7)
    assert status["rate_forwarding"] == status["rate_forwarding_overall"] == 0
    first.signal("start-forwarder")
    first.until("output/sent", *units)
    check_rate(until_status(first, forwarded_total=7), "rate_forwarding", 7)
    check_rate(first.status(), "rate_processing", 7)
    status = first.status()
    times = status["unit_seconds"]
    assert 0 <= times["min"] <= times["avg"] <= times["max"]
    assert times["avg"] * 7 <= status["uptime"] + 0.1, "they ran one after the other"


def test_a_unit_is_claimed_just_before_it_runs(gated):
    """B4.2 B4.6: by rename, and no more than there are slots; the others wait in work for
    as long as it takes. (The pool's queue was 1 there, and a unit waited 600 s at most.)"""
    processor = gated('ls "$(dirname "$PAWL_INPUT")" > "$PAWL_OUTPUT.part"; ' + GATED +
                      '; cat "$PAWL_OUTPUT.part" > "$PAWL_OUTPUT"')
    processor.put("a")
    running(processor, "a")
    processor.put("b")
    until_status(processor, waiting=1, active=["a"])
    assert processor.where("a") == ["input/active", "output/processing"]
    assert processor.where("b") == ["input/work"]
    processor.gate.touch()
    processor.until("input/processed", "a", "b")
    for unit in "ab":
        assert content(processor.dir / "output/finished" / unit) == unit.encode() + b"\n"


def test_an_end_needs_no_cooperation(make):
    """B4.2: there a kill set a flag that the work had to look at; here TERM, a grace, KILL."""
    processor = make('trap "" TERM; echo begun > "$PAWL_OUTPUT"; while :; do sleep 0.05; done')
    processor.put("deaf")
    running(processor, "deaf")
    processor.signal("stop-monitor")
    assert processor.signal("reset-active")["count"] == 1
    assert processor.where("deaf") == ["input/work"]
    until_status(processor, running=0, active=[])


def test_one_result_is_made_and_sent_again(make, home):
    """B4.3: what forwarding was planned to do there: destinations, move to sent, a unit put
    back, the result at the other end replaced, and only of the units that are named."""
    version = home.path / "version"
    version.write_text("1")
    last = make()
    last.signal("stop-monitor")
    first = make(f'cat {version} "$PAWL_INPUT" > "$PAWL_OUTPUT"',
                 forward=[{"to": [last.name]}])
    first.signal("start-forwarder")
    first.put("u", b"u")
    first.put("v", b"v")
    first.until("output/sent", "u", "v")
    assert last.bucket("input/work") == {"u", "v"}
    other = (last.dir / "input/work/v").stat()
    version.write_text("2")
    first.signal("re-process", "u")
    wait_for(lambda: last.where("u") == ["input/work"] and
             content(last.dir / "input/work/u") == b"2u", WAIT, last.picture)
    wait_for(lambda: first.where("u") == ["input/processed", "output/sent"], WAIT,
             first.picture)
    assert content(first.dir / "output/sent/u") == b"2u"
    now = (last.dir / "input/work/v").stat()
    assert (now.st_ino, now.st_mtime_ns) == (other.st_ino, other.st_mtime_ns)
    assert last.bucket("input/receive") == set()


def test_a_unit_through_all_its_states(gated):
    """B4.4 B4.5: initialised, processing, paused, stopped with what it had written down,
    reclaimed, completed; bounced; failed."""
    processor = gated('echo run >> "$PAWL_STATE_DIR/runs"; ' + GATED +
                      '; wc -l < "$PAWL_STATE_DIR/runs" >> "$PAWL_OUTPUT"; '
                      '[ "$PAWL_UNIT" != bad ]')
    processor.signal("stop-monitor")

    def until(unit, word):
        wait_for(lambda: processor.unit(unit) == word, WAIT,
                 lambda: f"{unit} is {processor.unit(unit)}, not {word}: {processor.picture()}")
    assert processor.unit("u") == "no-input"
    processor.put("u", b"data\n")
    until("u", "have-input")
    processor.signal("process", "u")
    running(processor, "u")
    assert processor.unit("u") == "in-progress"
    processor.signal("pause", "u")
    until("u", "paused")
    processor.signal("resume", "u")
    until("u", "in-progress")
    processor.signal("halt", "u")
    until("u", "halted")
    until_status(processor, halted=1, running=0)
    processor.signal("resume", "u")
    until("u", "in-progress")
    processor.signal("reset-active", "u") # bounce: all of it from the beginning
    until("u", "have-input")
    assert processor.where("u") == ["input/work"]
    processor.signal("process", "u")
    processor.gate.touch()
    until("u", "completed")
    assert content(processor.dir / "output/finished/u") == b"begun\ndata\n1\n"
    processor.put("bad")
    processor.signal("process", "bad")
    until("bad", "failed")


def test_limits_of_a_unit_and_of_errors(make):
    """B4.6: a unit has a time limit (600 s there) and is tried as often as is said; errors,
    100 ended the whole pool there, end nothing here but the unit."""
    slow = make('echo half > "$PAWL_OUTPUT"; sleep 600', max_run_time="PT0.2S",
                max_retries=1, retry_delay="PT0.05S")
    slow.put("u")
    slow.until("input/failed", "u")
    assert slow.where("u") == ["input/failed", "output/failed"]
    job = slow.node.api().get(f"/jobs?queue=processor:{slow.name}&limit=5")["items"][0]
    assert job["attempt"] == 2 and "max_run_time" in str(job), job
    bad = make('[ "$PAWL_UNIT" = good ] && ' + COPY, slots=8)
    names = [f"bad{i}" for i in range(101)]
    for name in names:
        bad.put(name)
    bad.until("input/failed", *names)
    bad.put("good")
    bad.until("input/processed", "good")
    until_status(bad, failed_total=101, completed_total=1, running=0)
