# SPDX-License-Identifier: Apache-2.0
"""Chained processors under kill -9 of everything; tests/prove/pipeline does it for longer."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.daemon import Place       # noqa: E402
from lib.pipeline import Pipeline  # noqa: E402

CYCLES = 20
UNITS = 40


def test_every_unit_arrives_exactly_once():
    """S4.1 S4.12 S4.16 S4.33: whatever dies, each unit ends in one place, whole."""
    seed = 7
    with Place() as place:
        crashes = Pipeline(place, seed, UNITS)
        try:
            crashes.start()
            for _ in range(CYCLES):
                crashes.cycle()
            judged = crashes.verdict()
            assert not judged.faults, "\n".join(
                [f"seed {seed}", *judged.faults[:30], crashes.node.tail(40)])
            assert judged.count["units"] > 0
        finally:
            crashes.close()
