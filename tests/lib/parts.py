# SPDX-License-Identifier: Apache-2.0
"""parts - units of many parts, each output made by `pawl parts`, under kill -9 of any of
their processes. One round of lib/prove.py: start(), cycle(), verdict(), close()."""
import collections
import random
import threading
import time

from lib.api import wait_for
from lib.daemon import kernel, kill, program
from lib.processor import Processor

PARTS = 400
WAIT_SECONDS = 300
# At its end a sanitized program is stopped by a tracer that is one of its processes, too;
# with that one killed it would stand still for ever.
NO_TRACER = "ASAN_OPTIONS=detect_leaks=0"
# Some output, a pause in the middle, more output: half a part could show.
PAGE = '''#!/bin/sh -e
echo "$1" >> "$RUNS"
echo "begin $1"
sleep 0.02
seq 200
echo "end $1"
'''


def whole(parts):
    """What an undisturbed run gives."""
    body = "".join(f"{i}\n" for i in range(1, 201))
    return "".join(f"begin {part}\n{body}end {part}\n" for part in parts)


class Judged:
    def __init__(self):
        self.faults, self.count = [], collections.Counter()

    def ledger(self):
        return "\n".join(f"  {key:24} {self.count[key]}" for key in sorted(self.count))


class Load:
    def __init__(self):
        self.ended = threading.Event()


class PartsKilled:
    def __init__(self, place, seed):
        self.place, self.rng = place, random.Random(seed)
        self.node = place.daemon("--set", "daemon.grace=300ms")
        self.load = Load()
        self.names = []
        self.kills = 0
        self.page = place.path / "page.sh"
        self.runs = place.path / "runs"

    def start(self):
        self.page.write_text(PAGE)
        self.page.chmod(0o755)
        self.runs.touch()
        self.node.start()
        self.processor = Processor(self.node, "domain")
        self.processor.create(
            f'exec {program()} parts run -- {self.page} {{}} < "$PAWL_INPUT"',
            env=[f"RUNS={self.runs}", NO_TRACER], max_retries=1000, retry_delay="PT0.02S")
        self.put()

    def put(self):
        """One unit after the other: a kill always meets one."""
        name = f"site{len(self.names)}"
        self.names.append(name)
        self.processor.put(name, "".join(f"{part}\n" for part in self.parts(name)).encode())

    def parts(self, name):
        return [f"{name} page {i}" for i in range(PARTS)]

    def cycle(self):
        time.sleep(self.rng.random() * 0.2)
        if self.processor.bucket("input/processed") >= set(self.names):
            self.put()
        if self.rng.random() < 0.1:
            self.node.kill()
            self.node.start()
            return
        jobs = self.node.jobs()
        if jobs:
            kill(self.rng.choice(jobs))
            self.kills += 1

    def verdict(self):
        judged = Judged()
        finished = self.processor.dir / "output/finished"
        wait_for(lambda: self.processor.bucket("input/processed") >= set(self.names) or
                 self.processor.bucket("input/failed"), WAIT_SECONDS, self.processor.picture)
        for name in self.names:
            path = finished / name
            if not path.exists():
                judged.faults.append(f"{name} is in {self.processor.where(name)}")
            elif path.read_text() != whole(self.parts(name)):
                judged.faults.append(f"{path} differs from an undisturbed run")
        begun = len(self.runs.read_text().splitlines())
        wanted = PARTS * len(self.names)
        # Before Linux 6.8 a kill between the end of a job and the renames makes the unit
        # anew: the daemon cannot tell whether the file system was mounted all the time.
        if begun > wanted + self.kills and kernel() >= (6, 8):
            judged.faults.append(f"{begun} parts were begun: {wanted} and {self.kills} kills")
        judged.count.update(units=len(self.names), parts=wanted, kills=self.kills)
        return judged

    def close(self):
        self.node.cleanup()
