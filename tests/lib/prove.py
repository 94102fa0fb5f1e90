# SPDX-License-Identifier: Apache-2.0
"""prove - rounds of crashes until the time is up, and the ledger of all of them.

Environment: PROVE_SECONDS (60) to spend; SEED the first round's seed (by the clock), so
that a round can be run again: SEED=n ROUNDS=1. A failed round keeps its directory.
"""
import collections
import os
import sys
import time

from lib.daemon import Place


def rounds(name, cycles, make):
    """make(place, seed) gives a round: start(), cycle(), verdict(), close(). Returns the
    exit status."""
    until = time.monotonic() + float(os.environ.get("PROVE_SECONDS", "60")) * 0.9
    seed = int(os.environ.get("SEED", time.time_ns() // 1000 % 10**9))
    last = int(os.environ.get("ROUNDS", "0"))
    total, made, done = collections.Counter(), 0, 0
    while not (last and done == last) and (not done or time.monotonic() < until):
        judged, crashes = one_round(seed, cycles, make, until)
        total += judged.count
        made += crashes
        done += 1
        if judged.faults:
            print(f"{name}: round {seed} is wrong (SEED={seed} ROUNDS=1 runs it again):")
            print("\n".join(judged.faults[:40]))
            print(judged.ledger())
            return 1
        seed += 1
    print(f"{name}: {made} crashes in {done} rounds, the last seed was {seed - 1}")
    for key in sorted(total):
        print(f"  {key:24} {total[key]}")
    return 0


def one_round(seed, cycles, make, until):
    place = Place()
    begun = make(place, seed)
    try:
        begun.start()
        count = 0
        while count < cycles and (count < 3 or time.monotonic() < until):
            begun.cycle()
            count += 1
        judged = begun.verdict()
    except BaseException:
        begun.load.ended.set()
        print(f"round {seed} broke off in {place.path}; the daemon's log ends:")
        print(begun.node.tail())
        begun.close()
        raise
    begun.close()
    if judged.faults:
        print(f"history, witness and data are in {place.path}", file=sys.stderr)
        for node in place.daemons:
            node.cleanup()
    else:
        place.__exit__()
    return judged, count
