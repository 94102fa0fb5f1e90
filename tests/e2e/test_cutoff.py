# SPDX-License-Identifier: Apache-2.0
"""The short form of tests/prove/cutoff: see lib/cutoff.py."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.cutoff import BULK, SECONDS, CutOff # noqa: E402

JOBS = 5000


@pytest.fixture(name="cutoff")
def fixture_cutoff(place):
    made = CutOff(place)
    try:
        yield made.start()
    finally:
        made.cleanup()


def test_a_node_without_its_store_accepts_and_loses_nothing(cutoff):
    """5,000 jobs into the journal of a node that is cut off, kill -9 on top; reads and
    actions meanwhile are refused with the reason; afterwards all of them have run."""
    cutoff.add(BULK)
    cutoff.cut()
    while len(cutoff.ids) < JOBS // 2:
        cutoff.add(BULK)
    cutoff.until_noticed()
    cutoff.check_answers()
    while len(cutoff.ids) < JOBS:
        cutoff.add(BULK)
    cutoff.kill()
    cutoff.settle()
    assert cutoff.away.stop(SECONDS) == 0
