# SPDX-License-Identifier: Apache-2.0
"""The judge of histories catches what it is there to catch, and nothing else."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.history import judge # noqa: E402


class Story:
    """A small history told by hand. Clock: one second per event."""

    def __init__(self):
        self.records, self.witness, self.jobs, self.attempts = [], [], {}, {}
        self.clock = 100.0

    def tick(self):
        self.clock += 1
        return self.clock

    def note(self, op, phase, **fields):
        self.records.append({"op": op, "phase": phase, "at": self.tick(), **fields})

    def add(self, marker, phase="ok", id=None, **more):
        self.note("add", "invoke", marker=marker, **more)
        if phase != "unknown":
            self.note("add", phase, marker=marker, **({"id": id} if id else {}))

    def act(self, id, action, phase="ok"):
        self.note("act", "invoke", id=id, action=action)
        self.note("act", phase, id=id, action=action)

    def crash(self, kind):
        self.note("crash", "ok", kind=kind)

    def begin(self, id, marker, attempt=1):
        self.witness.append(f"S {id} {attempt} {marker} {self.tick():.2f}")

    def end(self, id, marker, attempt=1, status=0):
        self.witness.append(f"E {id} {attempt} {marker} {status} {self.tick():.2f}")

    def run(self, id, marker, attempt=1, status=0):
        self.begin(id, marker, attempt)
        self.end(id, marker, attempt, status)

    def shown(self, id, marker, state="done", attempt=1, status=0, **more):
        exitcode = {0: 200, 65: 465, 3: 500, None: None}[status]
        size = len(f"{marker}.{attempt}") if status == 0 else 0
        self.jobs[id] = {"id": id, "name": marker, "type": "run", "state": state,
                         "attempt": attempt,
                         "exitcode": exitcode, "exit_status": status, "retry_number": 0,
                         "result_size": size, **more}
        return self.jobs[id]

    def rows(self, id, *exitcodes):
        self.attempts[id] = [{"attempt": n + 1, "exitcode": code}
                             for n, code in enumerate(exitcodes)]

    def read(self, id, state, attempt=1, exitcode=200, size=4):
        since = self.tick()
        self.note("read", "ok", since=since, id=id, seen=[state, attempt, exitcode, size])

    def verdict(self):
        return judge(self.records, self.witness, list(self.jobs.values()),
                     self.attempts or None)

    def kinds(self):
        return sorted({fault.split(":")[0] for fault in self.verdict().faults})


@pytest.fixture
def story():
    return Story()


def good(story, id="j1", marker="m1"):
    story.add(marker, id=id)
    story.run(id, marker)
    story.shown(id, marker)


def test_a_plain_history_is_right(story):
    good(story)
    story.rows("j1", 200)
    story.add("m2", id="j2")
    story.run("j2", "m2", status=65)
    story.shown("j2", "m2", "failed", status=65)
    story.rows("j2", 465)
    assert story.verdict().faults == []
    assert "acknowledged 2" in story.verdict().ledger()


def test_a_lost_job(story):
    good(story)
    story.add("m2", id="j2")
    assert story.kinds() == ["lost"]


def test_a_job_that_is_done_but_never_ran(story):
    story.add("m1", id="j1")
    story.shown("j1", "m1")
    assert story.kinds() == ["lost"]


def test_a_job_that_ran_and_vanished(story):
    story.add("m1", "unknown")
    story.run("j1", "m1")
    assert story.kinds() == ["lost"]


def test_an_unknown_add_may_be_there_or_not(story):
    story.add("m1", "unknown")
    story.add("m2", "unknown")
    story.run("j2", "m2")
    story.shown("j2", "m2")
    assert story.verdict().faults == []
    assert "unknown 2 (of which stored 1)" in story.verdict().ledger()


def test_an_unknown_add_is_not_stored_twice(story):
    story.add("m1", "unknown")
    for id in ("j1", "j2"):
        story.run(id, "m1")
        story.shown(id, "m1")
    assert story.kinds() == ["invented"]


def test_a_refused_add_never_runs(story):
    story.add("m1", "fail")
    story.run("j1", "m1")
    story.shown("j1", "m1")
    assert story.kinds() == ["invented"]


def test_an_invented_run(story):
    good(story)
    story.run("j9", "m9")
    assert "invented" in story.kinds()


def test_an_invented_job(story):
    good(story)
    story.run("j9", "m9")
    story.shown("j9", "m9")
    assert story.kinds() == ["invented"]


def test_a_job_that_ran_with_the_payload_of_another(story):
    story.add("m1", id="j1")
    story.add("m2", id="j2")
    story.run("j1", "m2")
    story.shown("j1", "m1")
    story.run("j2", "m2")
    story.shown("j2", "m2")
    assert "invented" in story.kinds()


def test_one_id_for_two_jobs(story):
    good(story)
    story.add("m2", id="j1")
    assert "invented" in story.kinds()


def test_a_line_that_no_job_writes(story):
    good(story)
    story.witness.append("S j1 1")
    assert story.kinds() == ["invented"]


def test_a_final_state_that_changed(story):
    good(story)
    story.read("j1", "done")
    story.read("j1", "running", exitcode=None, size=0)
    assert story.kinds() == ["changed"]


def test_a_final_state_that_changed_after_the_last_look(story):
    good(story)
    story.read("j1", "failed", exitcode=465, size=0)
    assert story.kinds() == ["changed"]


def test_another_result_of_the_same_final_state(story):
    good(story)
    story.read("j1", "done", size=5)
    assert story.kinds() == ["changed"]


def test_a_retry_leaves_a_final_state(story):
    story.add("m1", id="j1")
    story.run("j1", "m1")
    story.read("j1", "done")
    story.act("j1", "retry")
    story.run("j1", "m1", attempt=2)
    story.shown("j1", "m1", attempt=2)
    assert story.verdict().faults == []


def test_a_refused_retry_does_not(story):
    story.add("m1", id="j1")
    story.run("j1", "m1")
    story.read("j1", "done")
    story.act("j1", "retry", "fail")
    story.run("j1", "m1", attempt=2)
    story.shown("j1", "m1", attempt=2)
    assert story.kinds() == ["changed", "twice"]


def test_reads_that_overlap_prove_nothing(story):
    good(story)
    story.records.append({"op": "read", "phase": "ok", "since": 1, "at": 500, "id": "j1",
                          "seen": ["done", 1, 200, 4]})
    story.records.append({"op": "read", "phase": "ok", "since": 2, "at": 501, "id": "j1",
                          "seen": ["running", 1, None, 0]})
    assert story.verdict().faults == []


def test_an_outcome_that_no_run_produced(story):
    story.add("m1", id="j1")
    story.run("j1", "m1", status=65)
    story.shown("j1", "m1", "done", status=0)
    assert story.kinds() == ["untrue"]


def test_a_result_that_no_run_produced(story):
    good(story)
    story.jobs["j1"]["result"] = "m7.1"
    assert story.kinds() == ["untrue"]


def test_an_end_of_an_attempt_that_never_told_it(story):
    story.add("m1", id="j1")
    story.run("j1", "m1")
    story.crash("power")
    story.begin("j1", "m1", attempt=2)
    story.shown("j1", "m1", attempt=2)
    assert story.kinds() == ["untrue"]


def test_an_attempt_recorded_with_another_code(story):
    good(story)
    story.rows("j1", 500)
    assert story.kinds() == ["untrue"]


def test_a_cancel_nobody_asked_for(story):
    story.add("m1", id="j1")
    story.shown("j1", "m1", "cancelled", attempt=0, status=None)
    assert story.kinds() == ["untrue"]


def test_a_cancel_that_did_not_hold(story):
    story.add("m1", id="j1")
    story.act("j1", "cancel")
    story.run("j1", "m1")
    story.shown("j1", "m1")
    assert story.kinds() == ["ignored"]


def test_a_cancelled_job_need_not_run(story):
    story.add("m1", id="j1")
    story.act("j1", "cancel")
    story.shown("j1", "m1", "cancelled", attempt=0, status=None)
    assert story.verdict().faults == []


def test_a_run_twice_without_a_crash_in_between(story):
    story.add("m1", id="j1")
    story.run("j1", "m1")
    story.run("j1", "m1", attempt=2)
    story.crash("launcher")
    story.shown("j1", "m1", attempt=2)
    assert story.kinds() == ["twice"]


def test_a_crash_of_the_daemon_alone_repeats_nothing(story):
    story.add("m1", id="j1")
    story.run("j1", "m1")
    story.crash("daemon")
    story.run("j1", "m1", attempt=2)
    story.shown("j1", "m1", attempt=2)
    assert story.kinds() == ["twice"]


def test_a_crash_of_the_launcher_may(story):
    story.add("m1", id="j1")
    story.begin("j1", "m1")
    story.crash("launcher")
    story.run("j1", "m1", attempt=2)
    story.shown("j1", "m1", attempt=2)
    story.rows("j1", 502, 200)
    assert story.verdict().faults == []
    assert "repeated after a loss 1" in story.verdict().ledger()


def test_two_attempts_at_the_same_time(story):
    story.add("m1", id="j1")
    story.begin("j1", "m1")
    story.crash("launcher")
    story.begin("j1", "m1", attempt=2)
    story.end("j1", "m1")
    story.end("j1", "m1", attempt=2)
    story.shown("j1", "m1", attempt=2)
    story.rows("j1", 502, 200)
    assert story.kinds() == ["twice"]


def test_one_attempt_started_twice(story):
    good(story)
    story.begin("j1", "m1")
    assert story.kinds() == ["twice"]


def test_a_flaky_job_runs_again_and_is_charged(story):
    story.add("m1", id="j1")
    story.run("j1", "m1", status=75)
    story.run("j1", "m1", attempt=2)
    story.shown("j1", "m1", attempt=2, retry_number=1)
    story.rows("j1", 175, 200)
    assert story.verdict().faults == []
    story.jobs["j1"]["retry_number"] = 0
    assert story.kinds() == ["attempts"]


def test_an_end_lost_in_a_power_cut_is_not_charged(story):
    story.add("m1", id="j1")
    story.run("j1", "m1", status=75)
    story.crash("power")
    story.run("j1", "m1", attempt=2)
    story.shown("j1", "m1", attempt=2)
    story.rows("j1", 502, 200)
    assert story.verdict().faults == []


def test_an_end_is_not_lost_without_a_cut(story):
    story.add("m1", id="j1")
    story.crash("power")
    story.run("j1", "m1", status=75)
    story.crash("daemon")
    story.run("j1", "m1", attempt=2)
    story.shown("j1", "m1", attempt=2)
    story.rows("j1", 502, 200)
    assert story.kinds() == ["untrue"]


def test_more_runs_than_attempts(story):
    good(story)
    story.run("j1", "m1", attempt=2)
    assert "attempts" in story.kinds()


def test_an_attempt_that_is_not_recorded(story):
    story.add("m1", id="j1")
    story.run("j1", "m1", status=75)
    story.run("j1", "m1", attempt=2)
    story.shown("j1", "m1", attempt=2, retry_number=1)
    story.attempts["j1"] = [{"attempt": 2, "exitcode": 200}]
    assert story.kinds() == ["attempts"]


def test_a_job_that_never_ends(story):
    story.add("m1", id="j1")
    story.begin("j1", "m1")
    story.shown("j1", "m1", "running", status=None)
    assert story.kinds() == ["stuck"]


def lines(story, *ids):
    for n in range(2):
        story.add(f"m{n}", "unknown", batch="m0")
    for n, id in enumerate(ids):
        story.shown(id, None, "blocked", attempt=0, status=None, type="load.line",
                    payload=f"m{n}")


def test_lines_are_there_all_or_none(story):
    lines(story)
    assert story.verdict().faults == []


def test_lines_are_all_there(story):
    lines(story, "j1", "j2")
    assert story.verdict().faults == []


def test_a_part_of_the_lines(story):
    lines(story, "j1")
    assert story.kinds() == ["torn"]


def test_a_line_that_ran_although_nobody_handles_it(story):
    lines(story, "j1", "j2")
    story.run("j1", "m0")
    assert "invented" in story.kinds()
