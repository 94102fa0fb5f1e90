# SPDX-License-Identifier: Apache-2.0
"""crash - a daemon that is killed again and again under load, and the verdict on it."""
import collections
import contextlib
import random
import sqlite3
import time

from lib.api import PATIENCE
from lib.history import History, judge
from lib.load import Load
from lib.witness import Witness

RESULTS = 200 # results that are read back, of all that there are


def attempts_of(data):
    """Every attempt as a person sees it in the database, by job id. A job that was cancelled
    before it ran has a row too, of attempt 0, which is none."""
    found = {}
    path = f"file:{data}/pawl.db?mode=ro"
    with contextlib.closing(sqlite3.connect(path, uri=True, timeout=PATIENCE)) as db:
        rows = db.execute("SELECT job_id, attempt, exitcode, state FROM job_resource"
                          " WHERE attempt > 0")
        for id, attempt, exitcode, state in rows:
            found.setdefault(id, []).append(
                {"attempt": attempt, "exitcode": exitcode, "state": state})
    return found


def damage_of(data):
    """What SQLite itself thinks of the database."""
    path = f"file:{data}/pawl.db?mode=ro"
    with contextlib.closing(sqlite3.connect(path, uri=True, timeout=PATIENCE)) as db:
        return "; ".join(row[0] for row in db.execute("PRAGMA integrity_check(5)"))


def verdict(node, load, history, witness, luck):
    """Brings all jobs to their end and judges. The daemon must be up."""
    jobs = load.settle()
    api = node.api()
    done = [job for job in jobs if job["state"] == "done"]
    for job in luck.sample(done, min(len(done), RESULTS)):
        job["result"] = api.request("GET", f"/jobs/{job['id']}/result").body.decode()
    counted = {state: number for state, number in api.get("/stats")["jobs"].items() if number}
    api.close()
    judged = judge(history.records, witness.lines(), jobs, attempts_of(node.data))
    states = dict(collections.Counter(job["state"] for job in jobs))
    if counted != states:
        judged.fault("counters", f"counted {counted}, there are {states}")
    if (damage := damage_of(node.data)) != "ok":
        judged.fault("damaged", f"the database: {damage}")
    return judged


class Crashes:
    """One round: a node, its clients, its history. `place` gives the directory."""

    def __init__(self, place, seed, *options, data=None, acts=True):
        self.luck = random.Random(seed)
        self.kills = 0
        self.cycles = 0
        self.node = place.daemon("--slots", "6", "--set", "journal.segment=256K",
                                 "--set", "journal.keep=0s", "--set",
                                 "daemon.log_level=warn", *options, data=data)
        self.history = History(place.path / f"history-{seed}.jsonl")
        self.witness = Witness(place.path / f"witness-{seed}")
        self.load = Load(self.node, self.history, self.witness, seed, acts)

    def start(self):
        self.node.start()
        self.load.start()

    def crash(self, kind, do):
        if self.load.error:
            self.load.stop()
        self.load.crashes |= 1
        self.history.crash(kind, do)

    def up(self):
        self.node.start()
        self.load.crashes += 1

    def kill(self):
        self.kills += 1
        self.crash("daemon", self.node.kill)

    def work(self, seconds):
        """A moment of load: mostly a short one, now and then so long that the crash meets
        the sync of the store and the removal of journal files, 5 s after the start."""
        self.cycles += 1
        if self.cycles % 25 == 3:
            time.sleep(self.luck.uniform(4.7, 5.3))
        else:
            time.sleep(self.luck.uniform(0.02, seconds))

    def kill_launcher(self):
        """Its jobs die with it, at the latest when the next one starts."""
        self.history.crash("launcher", self.node.kill_launcher)

    def cycle(self):
        """Some load, then a crash: mostly of the daemon, at times of its launcher or of
        both; now and then another one while it recovers."""
        self.work(0.4)
        luck = self.luck.random()
        if luck < 0.15:
            self.kill_launcher()
        if luck < 0.08:
            return
        self.kill()
        while self.luck.random() < 0.25:
            self.node.spawn()
            time.sleep(self.luck.uniform(0, 0.25))
            self.kill()
        self.up()

    def verdict(self):
        self.load.stop()
        return verdict(self.node, self.load, self.history, self.witness, self.luck)

    def close(self):
        self.load.ended.set()
        self.node.cleanup()
