# SPDX-License-Identifier: Apache-2.0
"""The judge of a cluster's history finds each kind of violation, and nothing in a history
that is as it should be."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.cluster_history import History, Judge # noqa: E402

LEASE = 5


class Story:
    """A small history told by hand: one second per line of the witness, and nodes that
    renew their leases all the time."""

    def __init__(self):
        self.history = History(LEASE)
        self.clock = 100.0
        self.jobs = {}
        for node in ("a", "b"):
            self.history.beats[node] = [float(at) for at in range(50, 400)]

    def acknowledged(self, id, marker=None):
        self.history.acknowledged[marker or f"m{id}"] = id

    def line(self, what, id, attempt, node, marker=None):
        self.clock += 1
        self.history.witness.append(
            f"{what} {id} {attempt} {marker or f'm{id}'} {node} {node}{attempt} {self.clock}")

    def ran(self, id, attempt=1, node="a", marker=None):
        self.line("S", id, attempt, node, marker)
        self.line("E", id, attempt, node, marker)

    def shown(self, id, state="done", attempt=1, node="a", marker=None, finished=7):
        marker = marker or f"m{id}"
        result = f"{marker}.{attempt}.{node}{attempt}" if state == "done" else ""
        self.jobs[id] = {"id": id, "name": marker, "state": state, "attempt": str(attempt),
                         "result": result, "finished": str(finished)}

    def good(self, id):
        self.acknowledged(id)
        self.ran(id)
        self.shown(id)

    def silent(self, node, since, until):
        """No renewal of this node was seen in between."""
        self.history.beats[node] = [at for at in self.history.beats[node]
                                    if not since < at < until]

    def faults(self):
        self.history.jobs = list(self.jobs.values())
        return Judge(self.history).verdict().faults

    def kinds(self):
        return sorted({fault.split(":")[0] for fault in self.faults()})


@pytest.fixture
def story():
    made = Story()
    made.good("1")
    return made


def test_a_good_history_has_no_faults(story):
    story.good("2")
    story.history.finished.append(("2", ["done", "1", "m2.1.a1", "7"]))
    story.history.controllers += [["a"], [], ["b"]]
    story.history.fires += [("s", 1), ("s", 2), ("t", 1)]
    story.history.counted = 2
    assert story.faults() == []


def test_a_job_that_is_gone_is_lost(story):
    story.acknowledged("2")
    assert story.kinds() == ["lost"]


def test_a_job_that_is_done_and_never_ended_is_lost(story):
    story.acknowledged("2")
    story.line("S", "2", 1, "a")
    story.shown("2")
    assert story.kinds() == ["lost"]


@pytest.mark.parametrize("state", ["ready", "running", "deferred"])
def test_a_job_that_does_not_end_is_stuck(story, state):
    story.acknowledged("2")
    story.shown("2", state)
    assert story.kinds() == ["stuck"]


def test_a_job_that_should_have_succeeded_failed(story):
    story.acknowledged("2")
    story.ran("2")
    story.shown("2", "failed")
    assert story.kinds() == ["failed"]


def test_jobs_of_nobody_are_invented(story):
    story.ran("2")
    story.shown("2")
    assert story.kinds() == ["invented"]


def test_a_job_that_was_refused_is_invented(story):
    story.history.refused.add("m2")
    story.ran("2")
    story.shown("2")
    assert story.kinds() == ["invented"]


def test_a_job_whose_answer_was_lost_may_be_there_or_not(story):
    story.history.unknown |= {"m2", "m3"}
    story.ran("2")
    story.shown("2")
    assert story.faults() == []


def test_a_run_of_no_job_is_invented(story):
    story.ran("9")
    assert story.kinds() == ["invented"]


def test_a_run_as_another_job_is_invented(story):
    story.acknowledged("2")
    story.ran("2", marker="m3")
    story.shown("2")
    assert "invented" in story.kinds()


def test_a_torn_line_is_told(story):
    story.history.witness.append("S 1 1")
    assert story.kinds() == ["invented"]


def test_two_runs_at_once_overlap(story):
    story.acknowledged("2")
    story.silent("a", 100, 200)
    story.line("S", "2", 1, "a")
    story.line("S", "2", 2, "b")
    story.line("B", "2", 1, "a")
    story.line("E", "2", 2, "b")
    story.shown("2", attempt=2, node="b")
    assert story.kinds() == ["overlap"]


def test_the_same_attempt_on_two_nodes_overlaps_too(story):
    story.acknowledged("2")
    story.history.kills["a"].append(story.clock)
    story.line("S", "2", 1, "a")
    story.line("S", "2", 1, "b")
    story.line("E", "2", 1, "a")
    story.line("E", "2", 1, "b")
    story.shown("2", node="b")
    assert story.kinds() == ["overlap"]


def test_a_second_run_while_the_first_node_lived(story):
    story.acknowledged("2")
    story.line("S", "2", 1, "a")
    story.ran("2", 2, "b")
    story.shown("2", attempt=2, node="b")
    assert story.kinds() == ["twice"]


def test_a_second_run_after_a_silence_is_right(story):
    story.acknowledged("2")
    story.line("S", "2", 1, "a")
    story.silent("a", story.clock, story.clock + 4)
    story.clock += 6
    story.ran("2", 2, "b")
    story.shown("2", attempt=2, node="b")
    assert story.faults() == []


def test_a_silence_of_another_node_excuses_nothing(story):
    story.acknowledged("2")
    story.line("S", "2", 1, "a")
    story.silent("b", story.clock, story.clock + 4)
    story.clock += 6
    story.ran("2", 2, "b")
    story.shown("2", attempt=2, node="b")
    assert story.kinds() == ["twice"]


def test_a_silence_long_ago_excuses_nothing(story):
    story.silent("a", 60, 70)
    story.acknowledged("2")
    story.line("S", "2", 1, "a")
    story.ran("2", 2, "b")
    story.shown("2", attempt=2, node="b")
    assert story.kinds() == ["twice"]


def test_a_second_run_after_a_kill_is_right(story):
    story.acknowledged("2")
    story.line("S", "2", 1, "a")
    story.history.kills["a"].append(story.clock)
    story.ran("2", 2, "b")
    story.shown("2", attempt=2, node="b")
    assert story.faults() == []


def test_a_late_result_was_taken(story):
    story.acknowledged("2")
    story.history.kills["a"].append(story.clock)
    story.ran("2", 1, "a")
    story.ran("2", 2, "b")
    story.shown("2", attempt=1, node="a")
    assert story.kinds() == ["late"]


@pytest.mark.parametrize("after", [("failed", 1, 7), ("done", 2, 7), ("done", 1, 8)])
def test_a_finished_job_changed(story, after):
    state, attempt, finished = after
    story.history.finished.append(("1", ["done", "1", "m1.1.a1", "7"]))
    story.shown("1", state, attempt, finished=finished)
    assert "changed" in story.kinds()


def test_a_finished_job_vanished(story):
    story.history.finished.append(("2", ["done", "1", "m2.1.a1", "7"]))
    assert story.kinds() == ["changed"]


def test_a_planned_time_fired_twice(story):
    story.history.fires += [("s", 1), ("s", 2), ("s", 2)]
    assert story.kinds() == ["fired"]


def test_two_nodes_had_the_duties(story):
    story.history.controllers += [["a"], ["a", "b"]]
    assert story.kinds() == ["duty"]


def test_statistics_counted_a_job_twice(story):
    story.history.counted = 2
    assert story.kinds() == ["counted"]


def test_two_jobs_of_one_key_at_the_same_time(story):
    for id in "23":
        story.acknowledged(id)
        story.history.unique[f"m{id}"] = "key"
        story.line("S", id, 1, "a")
    for id in "23":
        story.line("E", id, 1, "a")
        story.shown(id)
    assert story.kinds() == ["merged"]


def test_a_job_that_was_merged_may_be_cancelled(story):
    story.good("2")
    story.acknowledged("3")
    story.history.unique.update({"m2": "key", "m3": "key"})
    story.shown("3", "cancelled")
    assert story.faults() == []
