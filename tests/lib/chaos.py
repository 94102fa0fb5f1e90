# SPDX-License-Identifier: Apache-2.0
"""chaos - four nodes, two PostgreSQL servers and everything that can go wrong between them.

Nodes reach the servers through a proxy that loses, delays and swallows what they say. They
are killed and stopped, alone and with their launcher and jobs, for less and for more than
their lease; the primary is killed and the standby promoted. Clients add jobs at any node and
write down what was acknowledged; jobs write down themselves that they ran. At the end all
faults are mended, everything must come to its end, and lib/cluster_history.py judges.
"""
import collections
import itertools
import json
import pathlib
import random
import re
import signal
import threading
import time

from lib.api import Api, Broken, NotSent, wait_for
from lib.cluster_history import FINAL, History, Judge
from lib.daemon import Daemon
from lib.fault_proxy import FaultProxy
from lib.history import now
from lib.pg_pair import Asker, Pair

LEASE = 5            # seconds
SETTLE_SECONDS = 300 # a busy machine
CLIENT_SECONDS = 10  # for an answer: then nobody knows
BULK = 20
SCHEDULES = ("every-a", "every-b")
WARM = "chaos.warm"

# $1 witness, $2 marker, $3 fifths of a second to run. Each line in one write.
SCRIPT = """\
say() {
    read -r now rest </proc/uptime
    echo "$1 $PAWL_JOB_ID $PAWL_ATTEMPT $marker $PAWL_NODE $$ $now" >>"$witness"
}
witness=$1 marker=$2 left=$3
say S
while [ "$left" -gt 0 ]; do
    sleep 0.2
    say B
    left=$((left - 1))
done
echo "R: 200 $marker.$PAWL_ATTEMPT.$$"
say E
"""

# The same in a context, which runs many jobs: the job's number in it stands for the pid.
WARM_BEFORE = """\
import os, time
serial = 0
witness = os.open({witness!r}, os.O_WRONLY | os.O_APPEND)
def say(what, job, pid):
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    words = (what, job["id"], job["attempt"], job["name"], os.environ["PAWL_NODE"], pid, now)
    os.write(witness, " ".join(map(str, words)).encode() + b"\\n")
"""
WARM_BODY = """\
global serial
serial += 1
pid = f"{os.getpid()}-{serial}"
say("S", job, pid)
say("E", job, pid)
return f"{job['name']}.{job['attempt']}.{pid}"
"""


class Node:
    """A daemon behind doors of its own."""

    def __init__(self, number, place, proxy, pair, slots):
        self.number = number
        self.doors = [f"{number}-{k}" for k in range(2)]
        ports = [proxy.open(door, server.home / ".s.PGSQL.5432")
                 for door, server in zip(self.doors, pair.servers)]
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.daemon = Daemon(
            place / f"n{number}", "--store",
            f"postgresql://pawl@{hosts}/postgres?target_session_attrs=read-write",
            "--slots", str(slots), "--set", f"scheduling.lease={LEASE}s",
            "--set", "daemon.grace=500ms")
        self.sysid = None
        self.down = False

    def api(self):
        return Api(self.daemon.socket(), CLIENT_SECONDS)

    def learn_sysid(self):
        self.sysid = re.search(r"event=node.joined sysid=(\S+)", self.daemon.log()).group(1)


class Chaos:
    """seed: of every decision."""

    def __init__(self, place, seed, nodes=4, slots=3, adders=3, warm=False):
        self.place = pathlib.Path(place)
        self.seed = seed
        self.pair, self.proxy = None, None
        self.sizes = (nodes, slots)
        self.nodes = []
        self.history = History(LEASE)
        self.witness = self.place / "witness"
        self.witness.touch()
        self.script = self.place / "job.sh"
        self.script.write_text(SCRIPT)
        self.warm = self.keys = warm
        self.adders = adders
        self.backlog = 400
        self.most = 10**9        # jobs to add
        self.lock = threading.Lock()
        self.serial = 0
        self.ended = threading.Event() # of clients
        self.calm = threading.Event()  # of faults
        self.over = threading.Event()  # of looking
        self.error = None
        self.threads = collections.defaultdict(list)
        self.troubled = threading.Semaphore(2) # nodes at a time
        self.made = collections.Counter()
        self.ran = set() # markers of jobs that ended at least once
        self.log = open(self.place / "faults.log", "w", buffering=1)

    # --- life ----------------------------------------------------------------------------

    def start(self):
        self.proxy = FaultProxy()
        self.pair = Pair()
        self.pair.start()
        count, slots = self.sizes
        self.nodes = [Node(n, self.place, self.proxy, self.pair, slots)
                      for n in range(1, count + 1)]
        for node in self.nodes:
            node.daemon.spawn()
        for node in self.nodes:
            node.daemon.wait_ready(SETTLE_SECONDS)
            node.learn_sysid()
        self.define()
        self.run("look", self.sample)
        self.run("look", self.count_ends)
        for number in range(self.adders):
            self.run("client", self.add_jobs, number)
        return self

    def define(self):
        for name in SCHEDULES:
            self.history.own.add(name)
            self.ask("PUT", f"/schedules/{name}", {
                "cron": "@every 1s", "overlap": "allow", "job_name": name,
                "protocol": True, "command": self.command(name, 0)})
        if self.warm:
            self.ask("PUT", f"/handlers/{WARM}", {
                "lang": "python", "body": WARM_BODY,
                "before": WARM_BEFORE.format(witness=str(self.witness))})

    def ask(self, method, path, body=None):
        """Of any node, as often as it takes: on a busy machine one may be given up by the
        others at any time, and begin anew."""
        last, turns = None, itertools.cycle(self.nodes)

        def done():
            nonlocal last
            api = next(turns).daemon.api(60)
            try:
                last = api.request(method, path, body)
            except (NotSent, Broken) as why:
                last = why
                return False
            finally:
                api.close()
            assert last.status in (200, 201, 503), last
            return last.status != 503
        wait_for(done, SETTLE_SECONDS, lambda: f"{method} {path}: {last}", pause=0.2)

    def cause(self, failover_every=None, failovers=10**9):
        """Faults from now on, until settle()."""
        for node in self.nodes:
            self.run("fault", self.trouble, node)
        if failover_every:
            self.run("fault", self.fail_over, failover_every, failovers)

    def run(self, group, what, *words):
        thread = threading.Thread(target=self.guard, args=(what, *words), daemon=True)
        self.threads[group].append(thread)
        thread.start()

    def guard(self, what, *words):
        """The mistake of a thread fails the test, not only the thread."""
        try:
            what(*words)
        except Exception as error: # pylint: disable=broad-except
            self.error = self.error or error
            self.ended.set()
            self.calm.set()

    def join(self, group):
        for thread in self.threads[group]:
            thread.join()

    def note(self, text):
        self.log.write(f"{now():.2f} {text}\n")

    def cleanup(self):
        for event in (self.ended, self.calm, self.over):
            event.set()
        for group in ("client", "fault", "look"):
            self.join(group)
        for node in self.nodes:
            self.resume(node)
            node.daemon.cleanup()
        for thing in (self.pair, self.proxy):
            if thing:
                thing.cleanup()
        self.log.close()

    # --- clients -------------------------------------------------------------------------

    def job(self, marker, fifths):
        return {"protocol": True, "name": marker, "command": self.command(marker, fifths)}

    def command(self, marker, fifths):
        return ["/bin/sh", str(self.script), str(self.witness), marker, str(fifths)]

    def plan(self, luck):
        with self.lock:
            self.serial += 1
            marker = f"m{self.serial}"
        if self.warm and luck.random() < 0.8:
            return marker, {"type": WARM, "name": marker}
        fifths = luck.choice((0,) * 14 + (1, 2, 5, 20))
        return marker, self.job(marker, fifths)

    def add_jobs(self, number):
        luck = random.Random(f"{self.seed}/client/{number}")
        while not self.ended.is_set():
            if self.open() > self.backlog or len(self.history.acknowledged) >= self.most:
                self.ended.wait(0.05)
                continue
            node = luck.choice(self.nodes)
            api = node.api()
            try:
                for _ in range(luck.randrange(1, 6)):
                    if luck.random() < 0.5:
                        self.add_bulk(api, luck)
                    else:
                        self.add_one(api, luck, self.keys and node is self.nodes[0])
            except (NotSent, Broken):
                self.ended.wait(0.05)
            finally:
                api.close()

    def add_one(self, api, luck, may_be_unique):
        """A node that is cut off cannot know who else has a key: so those with one go in at
        one node."""
        marker, job = self.plan(luck)
        if may_be_unique and luck.random() < 0.1:
            job["unique"] = {"key": f"u{luck.randrange(5)}"}
            self.history.unique[marker] = job["unique"]["key"]
        status, answer = self.send(api, [marker], "application/json", json.dumps(job).encode())
        if status == 201:
            self.history.acknowledged[marker] = answer.json()["id"]

    def add_bulk(self, api, luck):
        planned = [self.plan(luck) for _ in range(BULK)]
        body = b"".join(json.dumps(job).encode() + b"\n" for _, job in planned)
        markers = [marker for marker, _ in planned]
        status, answer = self.send(api, markers, "application/x-ndjson", body)
        told = 0
        for line in answer.lines() if status == 200 else []:
            if "id" in line:
                self.history.acknowledged[markers[line["line"] - 1]] = line["id"]
                told += 1
        assert status != 200 or told == len(markers), answer

    def send(self, api, markers, kind, body):
        try:
            answer = api.request("POST", "/jobs", body, {"Content-Type": kind})
        except NotSent:
            self.history.refused.update(markers)
            raise
        except Broken:
            self.history.unknown.update(markers)
            raise
        if answer.status not in (200, 201):
            # What was refused is not stored.
            self.history.refused.update(markers)
            assert answer.status in (503, 409), answer # 409: its unique key is held
            self.ended.wait(0.1)
        return answer.status, answer

    # --- looking -------------------------------------------------------------------------

    def count_ends(self):
        with open(self.witness, "rb") as file:
            while not self.over.wait(0.1):
                self.ran.update(line.split()[3] for line in file if line.startswith(b"E"))

    def open(self):
        """How many jobs wait: what was refused is none of them."""
        return len(self.history.acknowledged) - len(self.ran)

    def sample(self):
        """Who renews its lease, who controls, and what finished jobs look like."""
        offset = time.time() - now()
        asker, asked, last_finished = None, None, 0
        while not self.over.wait(0.15):
            if asked is not self.pair.primary:
                if asker:
                    asker.cleanup()
                asked = self.pair.primary
                asker = Asker(asked)
            rows = asker.rows(
                "SELECT convert_from(sysid, 'UTF8'), coalesce(beat, 0), coalesce(controls, false)"
                " AND NOT coalesce(fenced, false) AND lease > extract(epoch FROM"
                " clock_timestamp()) * 1000 FROM pawl.node WHERE number > 0")
            if not rows:
                asked = None # a server that dies, or does not answer yet
                continue
            for sysid, beat, _ in rows:
                at = float(beat) / 1000 - offset
                beats = self.history.beats[sysid]
                if not beats or beats[-1] < at:
                    beats.append(at)
            self.history.controllers.append([row[0] for row in rows if row[2] == "t"])
            if now() - last_finished > 2:
                last_finished = now()
                self.history.finished += [(job["id"], self.shown(job)) for job in self.rows(
                    asker, "WHERE j.state >= 8 ORDER BY j.finished DESC LIMIT 100") or ()]
        if asker:
            asker.cleanup()

    @staticmethod
    def shown(job):
        return [job["state"], job["attempt"], job["result"], job["finished"]]

    @staticmethod
    def rows(asker, which):
        rows = asker.rows(
            "SELECT pawl.id_text(j.id), coalesce(convert_from(j.name, 'UTF8'), ''), s.name,"
            " coalesce(j.attempt, 0), coalesce(convert_from(r.data, 'UTF8'), ''),"
            " coalesce(j.finished, 0), j.owner, coalesce(j.created, 0) FROM pawl.job_any j"
            " JOIN pawl.state s ON s.id = j.state LEFT JOIN pawl.result r ON r.job = j.id "
            + which)
        if rows is None:
            return None
        names = ("id", "name", "state", "attempt", "result", "finished", "owner", "created")
        return [dict(zip(names, row)) for row in rows]

    # --- faults --------------------------------------------------------------------------

    def trouble(self, node):
        luck = random.Random(f"{self.seed}/fault/{node.number}")
        names = [name for name, weight in FAULTS.items() for _ in range(weight)]
        while not self.calm.wait(luck.uniform(0.3, 3)):
            with self.troubled:
                name = luck.choice(names)
                self.made[name] += 1
                self.note(f"{name} {node.number} begins")
                getattr(self, "fault_" + name)(node, luck)
                self.note(f"{name} {node.number} ends")

    def doors_do(self, node, what, *words):
        with self.lock:
            for door in node.doors:
                getattr(self.proxy, what)(door, *words)

    def while_door(self, node, seconds, what, *words):
        self.doors_do(node, what, *words)
        self.calm.wait(seconds)
        self.doors_do(node, "pass_")

    def fault_cut(self, node, _):
        self.doors_do(node, "cut")

    def fault_half(self, node, _):
        self.doors_do(node, "half")

    def fault_refuse(self, node, luck):
        self.doors_do(node, "refuse")
        self.while_door(node, luck.uniform(0.2, LEASE), "cut")

    def fault_delay(self, node, luck):
        self.while_door(node, luck.uniform(1, 3), "delay", luck.uniform(0.01, 0.2))

    def fault_hold(self, node, luck):
        self.while_door(node, luck.uniform(0.2, LEASE / 2), "hold")

    def fault_long_hold(self, node, luck):
        self.while_door(node, luck.uniform(1.2, 1.8) * LEASE, "hold")

    def fault_commits(self, node, luck):
        self.while_door(node, luck.uniform(1, 3), "at_commits", luck.randrange(2, 9),
                        luck.choice(("before", "after")))

    def fault_kill(self, node, luck):
        """The daemon alone; its launcher and jobs go on."""
        self.kill(node)
        self.calm.wait(luck.uniform(0.05, 1))
        self.start_again(node)

    def fault_long_kill(self, node, luck):
        self.kill(node)
        self.calm.wait(luck.uniform(1.2, 1.6) * LEASE)
        self.start_again(node)

    def fault_lose(self, node, luck):
        """As if the machine had gone."""
        self.kill(node)
        node.daemon.kill_launcher()
        node.daemon.kill_jobs()
        self.calm.wait(luck.uniform(0.05, 1.5) * LEASE)
        self.start_again(node)

    def fault_stop(self, node, luck):
        self.stop_for(node, luck.uniform(0.1, LEASE / 2))

    def fault_long_stop(self, node, luck):
        self.stop_for(node, luck.uniform(1.2, 1.8) * LEASE)

    def kill(self, node):
        self.history.kills[node.sysid].append(now())
        node.daemon.kill()

    def start_again(self, node):
        node.daemon.spawn()
        # It may wait for its store, or for a lease: what matters is that it lives.
        wait_for(lambda: self.calm.is_set() or node.daemon.ready(), SETTLE_SECONDS,
                 lambda: node.daemon.story("is not ready after it was started again"), pause=0.1)

    def stop_for(self, node, seconds):
        node.daemon.process.send_signal(signal.SIGSTOP)
        self.calm.wait(seconds)
        self.resume(node)

    @staticmethod
    def resume(node):
        if node.daemon.process and node.daemon.process.poll() is None:
            node.daemon.process.send_signal(signal.SIGCONT)

    def fail_over(self, every, most):
        while self.made["failover"] < most and not self.calm.wait(every):
            self.made["failover"] += 1
            self.note("failover begins")
            self.pair.failover()
            self.note("failover ends")

    # --- the end -------------------------------------------------------------------------

    def settle(self):
        """Mends all faults and lets everything come to its end; returns the judge."""
        self.ended.set()
        self.calm.set()
        self.join("client")
        self.join("fault")
        self.note("calm")
        self.check()
        for node in self.nodes:
            node.daemon.wait_ready(SETTLE_SECONDS)
        self.check()
        self.pause_schedules()
        asker = Asker(self.pair.primary)
        try:
            self.wait_for_ends(asker)
            self.over.set()
            self.join("look")
            self.check()
            self.tell(asker)
        finally:
            asker.cleanup()
        return Judge(self.history).verdict()

    def check(self):
        if self.error:
            raise self.error

    def pause_schedules(self):
        for name in SCHEDULES:
            self.ask("POST", f"/schedules/{name}/pause")

    def wait_for_ends(self, asker):
        """Until nothing that was acknowledged is open or missing, for as long as there is
        movement."""
        finals = ", ".join(f"'{state}'" for state in FINAL)
        last, since = None, time.monotonic()
        while time.monotonic() - since < SETTLE_SECONDS / 4:
            [row] = asker.rows("SELECT (SELECT count(*) FROM pawl.job_live), (SELECT count(*) FROM"
                               f" pawl.job_any j JOIN pawl.state s ON s.id = j.state WHERE s.name"
                               f" IN ({finals})), (SELECT coalesce(max(attempt), 0) FROM"
                               " pawl.job_live)")
            if row != last:
                last, since = row, time.monotonic()
            if row[0] == "0" and int(row[1]) >= len(self.history.acknowledged):
                if time.monotonic() - since > 3: # what nodes have in hand comes in, too
                    return
            time.sleep(0.3)

    def tell(self, asker):
        self.history.jobs = self.rows(asker, "")
        self.history.witness = self.witness.read_text().splitlines()
        # Every day's row counts all: spans are minute, hour and day.
        [[counted]] = asker.rows("SELECT coalesce(sum(ok), 0) FROM pawl.rollup WHERE span ="
                                 " (SELECT max(span) FROM pawl.rollup)")
        self.history.counted = int(counted)
        # A planned time that another has overtaken is missed: so this one is its second.
        self.history.fires = [
            (job["name"], int(job["created"]) // 1000) for job in self.history.jobs
            if job["name"] in SCHEDULES]
        (self.place / "history.json").write_text(json.dumps({
            "acknowledged": self.history.acknowledged, "jobs": self.history.jobs,
            "beats": self.history.beats, "kills": self.history.kills,
            "unknown": sorted(self.history.unknown), "refused": sorted(self.history.refused),
            "unique": self.history.unique}))


# What happens to a node, and how often.
FAULTS = {"cut": 2, "half": 2, "refuse": 1, "delay": 1, "hold": 1, "long_hold": 1, "commits": 2,
          "kill": 2, "long_kill": 1, "lose": 1, "stop": 1, "long_stop": 1}
