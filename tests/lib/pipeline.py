# SPDX-License-Identifier: Apache-2.0
"""pipeline - a producer, two chained processors, a third behind an rsync daemon, and
kill -9 of daemon, launcher, jobs and rsync at random moments.

    producer -> first -> last          (a forwarder on this node)
                      -> side          (the same forwarder, to an rsync daemon)

In the end every unit is exactly once in the last buckets, byte for byte, and no bucket
holds anything else. One round of lib/prove.py: start(), cycle(), verdict(), close().
"""
import collections
import os
import random
import shutil
import socket
import subprocess
import threading
import time

from lib.api import PATIENCE, wait_for
from lib.daemon import _proc, alive, kill, pids
from lib.processor import BUCKETS, Processor

# All of it with &&: a kill may hit one process of the job, and the rest goes on.
COMMAND = ('{ cat "$PAWL_INPUT"/part && sleep 0.05 && echo "$PAWL_UNIT through '
           '%s"; } > "$PAWL_OUTPUT.part" && mkdir "$PAWL_OUTPUT" && '
           'mv "$PAWL_OUTPUT.part" "$PAWL_OUTPUT/part"')
# Nothing has moved for so long: it never will. On a busy machine a transfer takes seconds.
STILL_SECONDS = 90
MOVING_SECONDS = 3600


class Judged:
    def __init__(self):
        self.faults, self.count = [], collections.Counter()

    def ledger(self):
        return "\n".join(f"  {key:24} {self.count[key]}" for key in sorted(self.count))


class Load:
    """Puts units into a processor until it is told to end."""

    def __init__(self, processor, rng, units_max):
        self.processor, self.rng, self.units_max = processor, rng, units_max
        self.units = {}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.ended.is_set() and len(self.units) < self.units_max:
            name = f"u{len(self.units):05}"
            data = self.rng.randbytes(self.rng.choice((10, 1000, 200000)))
            self.units[name] = data
            self.processor.put(name, {"part": data})
            self.ended.wait(0.15)


class Pipeline:
    def __init__(self, place, seed, units=400, data=None):
        self.units = units
        self.place, self.rng = place, random.Random(seed)
        self.node = place.daemon("--slots", "8", "--set", "daemon.grace=500ms", data=data)
        self.rsyncd = None
        self.kills = collections.Counter()
        self.load = None

    # --- the round -------------------------------------------------------------------

    def start(self):
        self.node.start()
        self.first = Processor(self.node, "first")
        self.last = Processor(self.node, "last")
        self.side = Processor(self.node, "side")
        # A killed job is an error of its own: it may try again.
        fields = {"slots": 2, "max_retries": 50, "retry_delay": "PT0.05S"}
        self.last.create(COMMAND % "last", **fields)
        self.side.create(COMMAND % "side", **fields)
        to = ["last"]
        if self.start_rsyncd():
            to.append(f"rsync://127.0.0.1:{self.port}/side")
        self.first.create(COMMAND % "first", start_forwarder=True, **fields,
                          forward=[{"to": to, "slots": 3}])
        self.load = Load(self.first, random.Random(self.rng.random()), self.units)
        self.load.thread.start()

    def start_rsyncd(self):
        if not shutil.which("rsync"):
            return False
        for _ in range(5):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
            config = self.place.path / "rsyncd.conf"
            config.write_text(f"port = {self.port}\naddress = 127.0.0.1\n"
                              f"pid file = {self.place.path}/rsyncd.pid.{self.port}\n"
                              "use chroot = no\nmax connections = 50\n"
                              f"[side]\npath = {self.side.dir}\nread only = no\n" +
                              (f"uid = {os.getuid()}\ngid = {os.getgid()}\n"
                               if os.getuid() == 0 else ""))
            with open(self.place.path / "rsyncd.log", "ab") as log:
                self.rsyncd = subprocess.Popen(
                    ["rsync", "--daemon", "--no-detach", f"--config={config}"],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    start_new_session=True)
            if self.listens():
                return True
            self.stop_rsyncd()
        return False

    def listens(self):
        def look():
            with socket.socket() as probe:
                return self.rsyncd.poll() is not None or \
                    probe.connect_ex(("127.0.0.1", self.port)) == 0
        wait_for(look, PATIENCE, "the rsync daemon neither listens nor ends")
        return self.rsyncd.poll() is None

    def stop_rsyncd(self):
        if self.rsyncd:
            self.rsyncd.kill()
            self.rsyncd.wait()

    def cycle(self):
        time.sleep(self.rng.random() * 0.4)
        what = self.rng.choice(("daemon", "daemon", "launcher", "job", "rsync", "both"))
        self.kills[what] += 1
        if what == "launcher":
            pid = self.node.launcher()
            if pid:
                kill(pid)
        elif what == "job":
            self.kill_one(self.node.jobs())
        elif what == "rsync":
            self.kill_one(self.rsyncs())
        else:
            self.node.kill()
            if what == "both":
                self.node.kill_launcher()
            time.sleep(self.rng.random() * 0.1)
            self.node.start()

    def rsyncs(self):
        """Of transfers here, and what the rsync daemon started for them."""
        needle = str(self.place.path).encode()
        return [pid for pid in pids()
                if _proc(pid, "cmdline").startswith((b"rsync\0", b"rsync --daemon")) and
                needle in _proc(pid, "cmdline") and pid != self.rsyncd.pid and
                alive(pid)] if self.rsyncd else []

    def kill_one(self, found):
        if found:
            kill(self.rng.choice(found))

    # --- the verdict -----------------------------------------------------------------

    def processors(self):
        return [self.first, self.last] + ([self.side] if self.rsyncd else [])

    def snapshot(self):
        """Everything that could still change."""
        held = {}
        for processor in self.processors():
            for bucket in BUCKETS:
                held[processor.name, bucket] = frozenset(processor.bucket(bucket) -
                                                         {".arrived"})
        return held

    def wanted(self):
        """What each bucket holds in the end."""
        homes = {("first", "output/sent"), ("last", "output/finished"),
                 ("side", "output/finished")}
        units = frozenset(self.load.units)
        return {(processor.name, bucket): units if bucket == "input/processed" or
                (processor.name, bucket) in homes else frozenset()
                for processor in self.processors() for bucket in BUCKETS}

    def settled(self):
        return self.snapshot() == self.wanted()

    def wait_until_still(self):
        """As long as anything moves, and then a while more; says what holds it up."""
        begun = since = time.monotonic()
        seen = None
        while True:
            now = self.snapshot()
            if now != seen:
                seen, since = now, time.monotonic()
            still = time.monotonic() - since
            if self.settled() and still > 0.5:
                return
            if still > STILL_SECONDS:
                return # the verdict says what is wrong
            assert time.monotonic() < begun + MOVING_SECONDS, "it moves for ever"
            time.sleep(0.1)

    def expected(self, unit, *stages):
        return self.load.units[unit] + b"".join(
            f"{unit} through {stage}\n".encode() for stage in stages)

    def judge_bucket(self, judged, processor, bucket, wanted):
        held = processor.bucket(bucket) - {".arrived"}
        for unit in sorted(set(wanted) - held):
            where = {other.name: other.where(unit) for other in self.processors()}
            judged.faults.append(f"{unit} is not in {bucket} of {processor.name}: {where}")
        for unit in sorted(held - set(wanted)):
            judged.faults.append(f"{unit} is a stray in {bucket} of {processor.name}")

    def judge_bytes(self, judged, processor, bucket, stages):
        for unit in self.load.units:
            path = processor.dir / bucket / unit / "part"
            if path.exists() and path.read_bytes() != self.expected(unit, *stages):
                judged.faults.append(f"{path} has other bytes")

    def verdict(self):
        self.load.ended.set()
        self.load.thread.join()
        self.wait_until_still()
        judged = Judged()
        units = self.load.units
        wanted = self.wanted()
        for processor in self.processors():
            for bucket in BUCKETS:
                self.judge_bucket(judged, processor, bucket, wanted[processor.name, bucket])
        self.judge_bytes(judged, self.first, "output/sent", ["first"])
        self.judge_bytes(judged, self.last, "output/finished", ["first", "last"])
        self.judge_bytes(judged, self.side, "output/finished", ["first", "side"])
        if judged.faults:
            for processor in self.processors():
                judged.faults.append(f"{processor.name}: {processor.status()}")
        judged.count.update({"units": len(units), **{f"kills of {what}": count for
                                                     what, count in self.kills.items()}})
        return judged

    def close(self):
        if self.load:
            self.load.ended.set()
        self.stop_rsyncd()
