# SPDX-License-Identifier: Apache-2.0
"""cluster_history - whether what happened in a cluster agrees with what it promises.

Told are: what clients got acknowledged, what the jobs themselves wrote down (all into one
file with O_APPEND, so its order is the order of events), when each node was seen to renew
its lease, when nodes were killed, what the store shows at the end, and what it showed of
finished jobs before. The judge trusts no daemon's word. It is linear in what it is told.

A violation is a sentence that begins with its kind:
  lost      an acknowledged job is not there, or is done and never ran to its end
  stuck     after the quiet phase a job is not in a final state
  failed    a job whose every run succeeds ended in another state than done
  invented  a job or a run that nobody submitted, or that was refused
  overlap   two runs of one job at the same time
  twice     a job ran again although the node that ran it lived and renewed its lease
  late      the result is not that of the last run: a late one was taken, or it ran on
  changed   a finished job changed
  fired     a planned time of a schedule gave two jobs
  duty      two nodes had the duties of the cluster at the same time
  counted   the statistics do not count what happened
  merged    two jobs of one unique key ran at the same time
"""
import collections

FINAL = ("done", "failed", "rejected", "cancelled")


class Run:
    """One attempt, as its own process told it. Places are line numbers of the witness."""

    def __init__(self, words, place):
        _, self.id, self.attempt, self.marker, self.node, self.pid, at = words
        self.began = self.last = place
        self.began_at = self.last_at = float(at)
        self.ended = False

    def result(self):
        return f"{self.marker}.{self.attempt}.{self.pid}"

    def __str__(self):
        return f"attempt {self.attempt} on {self.node} (pid {self.pid}, {self.began_at:.2f})"


class History:
    """What is told. Times are seconds of the boot clock."""

    def __init__(self, lease):
        self.lease = lease
        self.acknowledged = {}  # marker -> id
        self.unknown = set()    # markers: nobody knows
        self.refused = set()    # markers: were told that they are not stored
        self.own = set()        # markers that come as often as they like: schedules'
        self.witness = []       # lines
        self.beats = collections.defaultdict(list) # node -> [when a renewal was seen]
        self.kills = collections.defaultdict(list) # node -> [when]
        self.controllers = []   # [nodes that had the duties at one moment]
        self.jobs = []          # at the end: id, name, state, attempt, result, finished
        self.finished = []      # (id, what was shown of it when it was finished)
        self.fires = []         # (schedule, planned time)
        self.counted = None     # done jobs in the statistics; None: not asked
        self.unique = {}        # marker -> unique key


class Judge:
    def __init__(self, history):
        self.h = history
        self.faults = []
        self.count = collections.Counter()
        self.runs = collections.defaultdict(list) # id -> runs in the order of their begin
        self.jobs = {job["id"]: job for job in history.jobs}
        self.gaps = {node: self.gaps_of(node) for node in
                     set(history.beats) | set(history.kills)}
        self.read_witness()

    def fault(self, kind, text):
        self.faults.append(f"{kind}: {text}")
        self.count[kind] += 1

    def verdict(self):
        self.judge_acknowledged()
        for job in self.h.jobs:
            self.judge_job(job)
        for id in self.runs.keys() - self.jobs.keys():
            self.fault("invented", f"job {id} ran and is not in the store")
        self.judge_finished()
        self.judge_duties()
        self.judge_unique()
        self.count["acknowledged"] = len(self.h.acknowledged)
        self.count["jobs"] = len(self.h.jobs)
        self.count["runs"] = sum(map(len, self.runs.values()))
        return self

    # --- reading -------------------------------------------------------------------------

    def read_witness(self):
        open_runs = {}
        for place, line in enumerate(self.h.witness):
            words = line.split()
            if len(words) != 7 or words[0] not in "SBE":
                self.fault("invented", f"the witness has the line {line!r}")
                continue
            key = (words[1], words[4], words[5])
            if words[0] == "S":
                open_runs[key] = Run(words, place)
                self.runs[words[1]].append(open_runs[key])
                continue
            run = open_runs.get(key)
            if not run:
                self.fault("invented", f"no run began before {line!r}")
                continue
            run.last, run.last_at = place, float(words[6])
            run.ended = run.ended or words[0] == "E"

    def gaps_of(self, node):
        """Spans in which a node may have been thought lost: it was killed, or for half a
        lease no renewal was seen. A loss shows up to a lease later."""
        gaps = [(at, at + self.h.lease) for at in self.h.kills[node]]
        beats = sorted(self.h.beats[node])
        for before, after in zip(beats, beats[1:]):
            if after - before >= self.h.lease / 2:
                gaps.append((before, after + self.h.lease))
        if beats:
            gaps.append((float("-inf"), beats[0] + self.h.lease))
            gaps.append((beats[-1], float("inf")))
        return gaps

    def excused(self, run, until):
        gaps = self.gaps.get(run.node, [(float("-inf"), float("inf"))])
        return any(since <= until and upto >= run.began_at for since, upto in gaps)

    # --- judging -------------------------------------------------------------------------

    def judge_acknowledged(self):
        for marker, id in self.h.acknowledged.items():
            job = self.jobs.get(id)
            if not job:
                self.fault("lost", f"{marker} was acknowledged as {id} and is not there")
            elif job["name"] != marker:
                self.fault("invented", f"{marker} was acknowledged as {id}, which is "
                           f"{job['name']}")

    def judge_job(self, job):
        id, marker, runs = job["id"], job["name"], self.runs.get(job["id"], [])
        known = marker in self.h.unknown or marker in self.h.own or \
            self.h.acknowledged.get(marker) == id
        merges = marker in self.h.unique and job["state"] == "cancelled"
        if not known:
            word = "was refused" if marker in self.h.refused else "was not submitted"
            self.fault("invented", f"{marker} {word} and is job {id}")
        if job["state"] not in FINAL:
            self.fault("stuck", f"job {id} ({marker}) is {job['state']}, attempt "
                       f"{job['attempt']}, node {job.get('owner')}")
        elif job["state"] != "done" and not merges:
            self.fault("failed", f"job {id} ({marker}) is {job['state']}")
        elif job["state"] == "done" and not any(run.ended for run in runs):
            self.fault("lost", f"job {id} ({marker}) is done and never ran to its end")
        elif job["state"] == "done" and job["result"] != runs[-1].result():
            self.fault("late", f"job {id} has the result {job['result']} and its last run "
                       f"was {runs[-1]}")
        self.judge_runs(id, marker, runs)

    def judge_runs(self, id, marker, runs):
        for run in runs:
            if run.marker != marker:
                self.fault("invented", f"job {id} ({marker}) ran as {run.marker}")
        for first, second in zip(runs, runs[1:]):
            self.count["repeated"] += 1
            if first.last > second.began:
                self.fault("overlap", f"job {id}: {first} still ran at {first.last_at:.2f} "
                           f"when {second} had begun")
            elif not self.excused(first, second.began_at):
                self.fault("twice", f"job {id}: {second} although {first} "
                           f"{'had ended' if first.ended else 'was lost'} and its node lived")

    def judge_finished(self):
        for id, seen in self.h.finished:
            job = self.jobs.get(id)
            now = job and [job["state"], job["attempt"], job["result"], job["finished"]]
            if now != list(seen):
                self.fault("changed", f"job {id} was {list(seen)} and is {now}")

    def judge_duties(self):
        for key, times in collections.Counter(self.h.fires).items():
            if times > 1:
                self.fault("fired", f"schedule {key[0]} fired {times} times for {key[1]}")
        for nodes in self.h.controllers:
            if len(nodes) > 1:
                self.fault("duty", f"{' and '.join(map(str, nodes))} both had the duties")
        done = sum(job["state"] == "done" for job in self.h.jobs)
        if self.h.counted is not None and self.h.counted != done:
            self.fault("counted", f"{done} jobs are done and {self.h.counted} were counted")

    def judge_unique(self):
        by_key = collections.defaultdict(list)
        for job in self.h.jobs:
            if job["name"] in self.h.unique:
                by_key[self.h.unique[job["name"]]] += self.runs.get(job["id"], [])
        for key, runs in by_key.items():
            runs.sort(key=lambda run: run.began)
            for first, second in zip(runs, runs[1:]):
                if first.id != second.id and first.last > second.began:
                    self.fault("merged", f"{first.id} and {second.id} have the key {key} and "
                               "ran at the same time")
