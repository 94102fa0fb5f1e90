# SPDX-License-Identifier: Apache-2.0
"""The short form of tests/prove/cutoff: see lib/cutoff.py."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for # noqa: E402
from lib.cutoff import BULK, SECONDS, TYPE, CutOff # noqa: E402

JOBS = 5000


@pytest.fixture(name="cutoff")
def fixture_cutoff(place):
    made = CutOff(place)
    try:
        yield made.start()
    finally:
        made.cleanup()


def test_a_node_without_its_store_accepts_and_loses_nothing(cutoff):
    """5,000 jobs into the journal of a node that is cut off, before and after a kill -9; reads
    and actions meanwhile are refused with the reason; afterwards all of them have run."""
    cutoff.add(BULK)
    cutoff.cut()
    while len(cutoff.ids) < JOBS // 2:
        cutoff.add(BULK)
    cutoff.until_noticed()
    cutoff.check_answers()
    cutoff.kill()
    cutoff.check_answers()
    while len(cutoff.ids) < JOBS:
        cutoff.add(BULK)
    cutoff.kill()
    cutoff.settle()
    assert cutoff.away.stop(SECONDS) == 0


def test_what_others_change_meanwhile_does_not_matter_to_what_it_accepts(cutoff):
    """A handler is deleted elsewhere: jobs of its type that the node still accepted, before and
    after it was started again, wait for a handler alike, and run with the next one."""
    cutoff.cut()
    cutoff.until_noticed()
    cutoff.add(1)
    assert cutoff.ask(cutoff.near, "DELETE", f"/handlers/{TYPE}").status in (200, 204)
    cutoff.kill()
    cutoff.add(1)
    cutoff.proxy.pass_("away")
    wait_for(lambda: cutoff.states() == ["blocked no_handler"] * 2, SECONDS,
             lambda: f"{cutoff.states()} {cutoff.away.tail()}", pause=0.2)
    handler = {"lang": "python", "body": "return payload"}
    wait_for(lambda: cutoff.says(cutoff.near, (200, 201), "PUT", f"/handlers/{TYPE}", handler),
             SECONDS, cutoff.near.tail, pause=0.1)
    wait_for(lambda: cutoff.done() == 2, SECONDS, cutoff.states, pause=0.2)
