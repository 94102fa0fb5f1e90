# SPDX-License-Identifier: Apache-2.0
"""The short form of tests/prove/cluster: see lib/chaos.py."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.chaos import Chaos # noqa: E402

SEED = 7
SECONDS = 22         # of faults
FAILOVER_SECONDS = 9 # then the primary is killed


def test_nothing_is_lost_or_done_twice_whatever_dies(place):
    """S0.13, S1.4, S2.29: four nodes, two servers, kills, stops, cut and silent
    connections, a failover: every acknowledged job completed, none invented, none twice at
    once, none again while its node lived, no duty doubled."""
    chaos = Chaos(place, SEED)
    try:
        chaos.start()
        chaos.cause(FAILOVER_SECONDS, failovers=1)
        chaos.calm.wait(SECONDS)
        judged = chaos.settle()
        assert not judged.faults, "\n".join(judged.faults[:30])
        assert judged.count["acknowledged"] > 0 and chaos.made["failover"] == 1
    finally:
        chaos.cleanup()
