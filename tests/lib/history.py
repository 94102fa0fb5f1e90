# SPDX-License-Identifier: Apache-2.0
"""history - what the clients know, what the jobs themselves saw, and whether it agrees.

Clients write down every operation before it is sent (invoke) and how it ended (ok, fail:
it had no effect, unknown: nobody knows). Jobs append to a witness file when they begin
and end; so the judge need not trust the daemon's records. After a quiet phase judge()
compares both with what the daemon shows. Times are seconds of the boot clock, the same
that the jobs read. The judge is linear in the length of the history.

A violation is a sentence that begins with its kind:
  lost       an acknowledged job is gone, or ended without having run
  stuck      after the quiet phase a job is not in a final state
  invented   a run, or a job, that nobody submitted (or that was refused)
  changed    a final state changed without an operator's retry
  untrue     an outcome or result that no run produced
  twice      a run that nothing called for: no crash, no retry
  attempts   attempts and what they charge do not add up
  ignored    an acknowledged cancel or kill did not hold
  torn       of jobs that were added as one, some are there and some are not
"""
import collections
import json
import threading
import time

FINAL = ("done", "failed", "rejected", "cancelled")

# What the jobs of a load do: exit status -> (state after it, exitcode). 75 runs again.
OUTCOMES = {0: ("done", 200), 65: ("failed", 465), 3: ("rejected", 500)}
AGAIN, AGAIN_EXITCODE = 75, 175
LOST_EXITCODE = 502 # of an attempt that died with its launcher: not the job's doing

WAITING_TYPE = "load.line" # jobs of bare lines: no handler, so they wait for ever

SLACK = 0.05 # seconds: the jobs read a clock of 1/100 s


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class History:
    """Append-only, for many threads; kept in a file for whoever looks into a failure."""

    def __init__(self, path=None):
        self.records = []
        self.lock = threading.Lock()
        self.file = open(path, "w", buffering=1) if path else None

    def add(self, op, phase, **fields):
        record = {"op": op, "phase": phase, "at": now(), **fields}
        with self.lock:
            self.records.append(record)
            if self.file:
                self.file.write(json.dumps(record) + "\n")
        return record

    def crash(self, kind, do):
        """kind: `daemon` (kill -9, its launcher goes on), `launcher` or `power`. It
        happens some time while do() runs."""
        began = now()
        do()
        self.add("crash", "ok", kind=kind, since=began)

    def read(self, since, job):
        """A job object that was answered; `since`: when it was asked for."""
        self.add("read", "ok", since=since, id=job["id"], seen=seen(job))


def seen(job):
    return [job["state"], job["attempt"], job["exitcode"], job["result_size"]]


class Run:
    """One attempt, as its own process told it."""

    def __init__(self, id, attempt, marker):
        self.id, self.attempt, self.marker = id, attempt, marker
        self.begins = [] # times; more than one is a fault
        self.end = None  # (exit status, time)


def read_witness(lines):
    """Runs by job id, in order of their attempts; and the lines that make no sense."""
    runs, odd = collections.defaultdict(dict), []
    for line in lines:
        words = line.split()
        try:
            what, id, attempt, marker = words[0], words[1], int(words[2]), words[3]
            run = runs[id].setdefault(attempt, Run(id, attempt, marker))
            if what == "S" and len(words) == 5 and run.marker == marker:
                run.begins.append(float(words[4]))
            elif what == "E" and len(words) == 6 and run.marker == marker:
                run.end = (int(words[4]), float(words[5]))
            else:
                odd.append(line)
        except (IndexError, ValueError):
            odd.append(line)
    return {id: [of[n] for n in sorted(of)] for id, of in runs.items()}, odd


class Judge:
    def __init__(self, records, witness, jobs, attempts=None):
        self.faults = []
        self.count = collections.Counter()
        self.runs, odd = read_witness(witness)
        for line in odd:
            self.fault("invented", f"the witness has the line {line!r}")
        self.jobs = {job["id"]: job for job in jobs}
        self.attempts = attempts
        self.adds = {}                              # marker -> phase, id
        self.batches = collections.defaultdict(list) # markers that were added as one
        self.acts = collections.defaultdict(list)   # id -> [action, phase, began, ended]
        self.reads = collections.defaultdict(list)  # id -> [since, at, seen]
        self.crashes = []
        self.marker_of = {}                         # id -> marker, as acknowledged
        for record in records:
            getattr(self, "take_" + record["op"])(record)

    def fault(self, kind, text):
        self.faults.append(f"{kind}: {text}")
        self.count[kind] += 1

    # --- the history ---------------------------------------------------------------

    def take_add(self, record):
        marker, phase = record["marker"], record["phase"]
        if phase == "invoke":
            self.adds.setdefault(marker, ["unknown", None])
            if record.get("batch"):
                self.batches[record["batch"]].append(marker)
            return
        self.adds[marker] = [phase, record.get("id")]
        if phase == "ok":
            if self.marker_of.setdefault(record["id"], marker) != marker:
                self.fault("invented", f"id {record['id']} was given to two jobs")

    def take_act(self, record):
        acts = self.acts[record["id"]]
        if record["phase"] == "invoke":
            acts.append([record["action"], "unknown", record["at"], float("inf")])
            return
        for act in reversed(acts):
            if act[0] == record["action"] and act[1] == "unknown":
                act[1] = record["phase"]
                act[3] = float("inf") if act[1] == "unknown" else record["at"]
                return

    def take_read(self, record):
        self.reads[record["id"]].append((record["since"], record["at"], record["seen"]))

    def take_crash(self, record):
        self.crashes.append((record.get("since", record["at"]), record["at"],
                             record["kind"]))

    def acted(self, id, *actions):
        """What may have had an effect on the job."""
        return [act for act in self.acts.get(id, ())
                if act[0] in actions and act[1] != "fail"]

    # --- the verdicts ----------------------------------------------------------------

    def judge(self):
        self.submissions()
        for id, job in self.jobs.items():
            self.one_job(id, job)
        for id, runs in self.runs.items():
            self.runs_of(id, runs)
        for id, reads in self.reads.items():
            self.finality(id, reads)
        return self

    def submissions(self):
        """Every acknowledged one is there, no refused one is, unknown ones at most once."""
        present = collections.defaultdict(list)
        for id, job in self.jobs.items():
            present[marker_of(job)].append(id)
        for batch, markers in self.batches.items():
            if 0 < sum(marker in present for marker in markers) < len(markers):
                self.fault("torn", f"only a part of {batch} is there")
        for marker, (phase, id) in self.adds.items():
            ids = present.pop(marker, [])
            self.count["adds_" + phase] += 1
            if phase == "unknown":
                self.count["unknown_stored"] += len(ids)
            if len(ids) > 1:
                self.fault("invented", f"{marker} was added once and is there as {ids}")
            if phase == "fail" and ids:
                self.fault("invented", f"{marker} was refused and is there as {ids}")
            if phase == "ok" and id not in ids and not self.acted(id, "remove"):
                self.fault("lost", f"{marker} was acknowledged as {id} and is gone")
        for marker, ids in present.items():
            self.fault("invented", f"nobody submitted {marker}: {ids}")

    def one_job(self, id, job):
        runs = self.runs.get(id, [])
        self.count["state_" + job["state"]] += 1
        if job["type"] == WAITING_TYPE:
            if (job["state"], job["attempt"]) != ("blocked", 0) or runs:
                self.fault("invented", f"{id} should wait and is {job['state']}")
            return
        if job["state"] not in FINAL:
            self.fault("stuck", f"{id} is {job['state']} after the quiet phase")
            return
        if job["state"] == "cancelled":
            if not self.acted(id, "cancel", "kill"):
                self.fault("untrue", f"{id} is cancelled and nobody asked for it")
        else:
            self.outcome(id, job, runs)
        self.cancels(id, job)
        self.adds_up(id, job, runs)

    def outcome(self, id, job, runs):
        """The outcome shown is the one its last attempt told."""
        last = next((run for run in runs if run.attempt == job["attempt"]), None)
        if not last or not last.end:
            kind = "untrue" if any(run.end for run in runs) else "lost"
            self.fault(kind, f"{id} is {job['state']} by attempt {job['attempt']}, which "
                             "never told its end")
            return
        status = last.end[0]
        told = (job["state"], job["exitcode"], job["exit_status"])
        if told != (*OUTCOMES.get(status, (None, None)), status):
            self.fault("untrue", f"{id} ended with {status} and is shown as {told}")
        size = len(result_of(last.marker, last.attempt)) if status == 0 else 0
        if job["result_size"] != size or job.get("result", None) not in (
                None, result_of(last.marker, last.attempt) if size else ""):
            self.fault("untrue", f"{id} has the result {job.get('result')!r} of "
                                 f"{job['result_size']} bytes, its run told {size}")

    def cancels(self, id, job):
        """An acknowledged cancel of a job that nobody ran again afterwards."""
        asked = [act for act in self.acted(id, "cancel", "kill") if act[1] == "ok"]
        if not asked or job["state"] == "cancelled":
            return
        if not any(act[3] >= asked[-1][2] for act in self.acted(id, "retry")):
            self.fault("ignored", f"{id} was cancelled and is {job['state']}")

    def adds_up(self, id, job, runs):
        for run in runs:
            if run.attempt > job["attempt"]:
                self.fault("attempts", f"{id} ran attempt {run.attempt} of "
                                       f"{job['attempt']}")
        if self.attempts is None:
            self.charges(id, job, [run.end[0] for run in runs if run.end], AGAIN)
            return
        rows = sorted(self.attempts.get(id, []), key=lambda row: row["attempt"])
        if [row["attempt"] for row in rows] != list(range(1, job["attempt"] + 1)):
            self.fault("attempts", f"{id} made {job['attempt']} attempts; recorded are "
                                   f"{[row['attempt'] for row in rows]}")
        self.charges(id, job, [row["exitcode"] for row in rows], AGAIN_EXITCODE)
        by_attempt = {run.attempt: run for run in runs}
        for row in rows:
            self.attempt_row(id, row, by_attempt.get(row["attempt"]))

    def charges(self, id, job, codes, again):
        """A retry is charged for each attempt that asked for one, and for no other."""
        if self.acted(id, "retry", "halt", "cancel", "kill"):
            return
        charged = sum(code == again for code in codes)
        if job["retry_number"] != charged:
            self.fault("attempts", f"{id} has retry_number {job['retry_number']}, but "
                                   f"{charged} of its attempts asked for a retry")

    def attempt_row(self, id, row, run):
        """Each attempt has a cause: what its run told, a loss, or somebody's wish."""
        stopped = self.acted(id, "cancel", "kill", "halt")
        end = run.end if run else None
        if end is None:
            if row["exitcode"] != LOST_EXITCODE and not stopped:
                self.fault("untrue", f"{id} attempt {row['attempt']} is recorded with "
                                     f"{row['exitcode']}, but its run told no end")
            return
        code = AGAIN_EXITCODE if end[0] == AGAIN else OUTCOMES.get(end[0], (0, 0))[1]
        began = run.begins[0] if run.begins else end[1]
        lost = row["exitcode"] == LOST_EXITCODE and self.crash_in(began, float("inf"))
        if row["exitcode"] != code and not lost and not stopped:
            self.fault("untrue", f"{id} attempt {row['attempt']} ended with {end[0]} and "
                                 f"is recorded with {row['exitcode']}")

    def crash_in(self, begin, end):
        """Whether something died that takes jobs with it."""
        return any(kind != "daemon" and begin - SLACK <= at and since <= end + SLACK
                   for since, at, kind in self.crashes)

    def runs_of(self, id, runs):
        marker = self.marker_of.get(id)
        for run in runs:
            self.count["runs"] += 1
            add = self.adds.get(run.marker)
            if add is None or add[0] == "fail" or (marker and marker != run.marker):
                self.fault("invented", f"{id} attempt {run.attempt} ran {run.marker}")
            if len(run.begins) != 1:
                self.fault("twice", f"{id} attempt {run.attempt} began "
                                    f"{len(run.begins)} times")
        if id not in self.jobs and not self.acted(id, "remove"):
            self.fault("lost", f"{id} has run and is gone")
        for before, after in zip(runs, runs[1:]):
            self.again(id, before, after)

    def again(self, id, before, after):
        """What called for the second run? And was the first one over?"""
        if not before.begins or not after.begins:
            return
        began, next_began = before.begins[0], after.begins[0]
        if before.end and before.end[1] > next_began + SLACK:
            self.fault("twice", f"{id} attempts {before.attempt} and {after.attempt} ran "
                                "at the same time")
        if before.end and before.end[0] == AGAIN:
            return
        if any(act[2] <= next_began + SLACK for act in self.acted(id, "retry")):
            self.count["runs_asked_for"] += 1
            return
        if self.crash_in(began, next_began):
            self.count["runs_repeated"] += 1
            return
        self.fault("twice", f"{id} ran as attempt {before.attempt} and again as attempt "
                            f"{after.attempt}, and nothing called for it")

    def finality(self, id, reads):
        """After an answer with a final state, later questions get the same answer."""
        reads = sorted(reads, key=lambda read: read[1])
        if id in self.jobs:
            reads.append((float("inf"), float("inf"), seen(self.jobs[id])))
        first = None
        for read in reads:
            since, at, what = read
            if first and since >= first[1] and what != first[2]:
                if any(act[2] <= at and act[3] >= first[0]
                       for act in self.acted(id, "retry")):
                    first = None
                else:
                    self.fault("changed", f"{id} was {first[2]} and then {what}")
            if what[0] in FINAL and (first is None or since >= first[1]):
                first = read

    def ledger(self):
        count = self.count
        acked = count["adds_ok"]
        lines = [
            f"acknowledged {acked}, refused {count['adds_fail']}, unknown "
            f"{count['adds_unknown']} (of which stored {count['unknown_stored']})",
            f"runs {count['runs']}, repeated after a loss {count['runs_repeated']}, "
            f"asked for {count['runs_asked_for']}",
            "crashes " + (", ".join(f"{kind} {number}" for kind, number in
                                    collections.Counter(k for _, _, k in self.crashes)
                                    .items()) or "none"),
            "ended " + ", ".join(f"{state} {count['state_' + state]}" for state in FINAL) +
            f"; waiting for ever {count['state_blocked']}",
            ", ".join(f"{kind} {count[kind]}" for kind in
                      ("lost", "stuck", "invented", "changed", "untrue", "twice",
                       "attempts", "ignored", "torn")),
        ]
        return "\n".join(lines)


def marker_of(job):
    return job["payload"] if job["type"] == WAITING_TYPE else job["name"]


def result_of(marker, attempt):
    """What a job of a load prints as its result."""
    return f"{marker}.{attempt}"


def judge(records, witness, jobs, attempts=None):
    return Judge(records, witness, jobs, attempts).judge()
