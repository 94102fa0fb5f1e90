# SPDX-License-Identifier: Apache-2.0
"""load - clients that keep a daemon busy and write down what they did.

Adders add single jobs, some with an Idempotency-Key, which they ask again with after an
answer was lost; one adds in bulk with bad lines among the good, another posts bare lines
by the founding path (S2.59); an actor cancels, kills, holds, releases, pauses, resumes
and retries; a reader looks at jobs again and again. All of them live
through crashes of the daemon. stop() ends them; settle() brings everything to its end.
"""
import json
import random
import threading
import time

from lib.api import FINAL, Broken, NotSent, wait_for
from lib.history import WAITING_TYPE, now
from lib.witness import KINDS

ACTIONS = ("cancel", "kill", "hold", "hold", "retry", "retry", "release", "pause", "resume")
BACKLOG = 400       # adders rest while so many jobs wait, so that the end comes in time
BULK_LINES = 25
SETTLE_SECONDS = 120


class Load:
    """acts: whether somebody meddles with the jobs."""

    def __init__(self, daemon, history, witness, seed, acts=True, adders=8):
        self.daemon, self.history, self.witness = daemon, history, witness
        self.seed, self.serial = seed, 0
        self.lock = threading.Lock()
        self.ids = []          # acknowledged, in order
        self.held = set()
        self.paused = []
        self.acked = 0
        self.finished = 0      # as far as the reader saw
        self.crashes = 0       # counted when one begins and when it is over: odd meanwhile
        self.ended = threading.Event()
        self.error = None
        roles = [(self.add_singles, n) for n in range(adders)] 
        roles += [(self.add_bulk, 0), (self.add_lines, 0)]
        roles += [(self.meddle, 0)] if acts else []
        roles += [(self.look, 0)]
        self.threads = [threading.Thread(target=self.guard, args=role, daemon=True)
                        for role in roles]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def stop(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()
        if self.error:
            raise self.error

    def guard(self, role, number):
        """Runs one client; its own mistake fails the test, not only its thread."""
        luck = random.Random(f"{self.seed}/{role.__name__}/{number}")
        api = self.daemon.api()
        try:
            while not self.ended.is_set():
                try:
                    role(api, luck)
                except (NotSent, Broken):
                    self.ended.wait(0.03) # the daemon is away
        except Exception as error: # pylint: disable=broad-except
            self.error = self.error or error
            self.ended.set()
        finally:
            api.close()

    # --- adding ------------------------------------------------------------------------

    def marker(self):
        with self.lock:
            self.serial += 1
            return f"m{self.seed}-{self.serial}"

    def took(self, marker, id):
        self.history.add("add", "ok", marker=marker, id=id)
        with self.lock:
            self.ids.append(id)
            self.acked += 1

    def rest(self):
        """True when there is enough to do already."""
        if self.acked - self.finished < BACKLOG:
            return False
        self.ended.wait(0.02)
        return True

    def plan(self, luck):
        marker = self.marker()
        seconds = luck.choice((0, 0, 0, 0, 0, 0.03))
        return marker, self.witness.job(marker, luck.choice(KINDS), seconds,
                                        priority=luck.randrange(1, 11))

    def add_singles(self, api, luck):
        if self.rest():
            return
        marker, job = self.plan(luck)
        headers = {"Idempotency-Key": marker} if luck.random() < 0.5 else {}
        self.history.add("add", "invoke", marker=marker)
        while True:
            try:
                answer = api.request("POST", "/jobs", job, headers)
                break
            except NotSent:
                if not headers: # nothing was ever sent
                    self.history.add("add", "fail", marker=marker)
                    raise
            except Broken:
                if not headers:
                    self.history.add("add", "unknown", marker=marker)
                    raise
            if self.ended.wait(0.005):
                self.history.add("add", "unknown", marker=marker)
                return
        if answer.status in (200, 201):
            self.took(marker, answer.json()["id"])
        else:
            self.refused(marker, answer)

    def refused(self, marker, answer):
        """503 promises that nothing was stored."""
        self.history.add("add", "fail", marker=marker, status=answer.status)
        assert answer.status == 503, answer
        self.ended.wait(0.02)

    def add_bulk(self, api, luck):
        if self.rest():
            return
        lines, markers = [], []
        for _ in range(BULK_LINES):
            marker, job = self.plan(luck)
            if luck.random() < 0.1:
                job["no_such_field"] = 1
            lines.append(json.dumps(job).encode())
            markers.append(marker)
            self.history.add("add", "invoke", marker=marker)
        body, headers = b"\n".join(lines) + b"\n", {"Content-Type": "application/x-ndjson"}
        try:
            answer = api.request("POST", "/jobs", body, headers)
        except NotSent:
            for marker in markers:
                self.history.add("add", "fail", marker=marker)
            raise
        except Broken as broken:
            self.bulk_answer(markers, broken.got.split(b"\n")[:-1])
            raise
        if answer.status == 200:
            self.bulk_answer(markers, answer.body.splitlines())
        else:
            for marker in markers:
                self.refused(marker, answer)
        self.ended.wait(luck.random() * 0.05)

    def add_lines(self, api, luck):
        markers = [self.marker() for _ in range(luck.randrange(1, BULK_LINES))]
        for marker in markers:
            self.history.add("add", "invoke", marker=marker, batch=markers[0])
        body = "".join(f"{marker}\n" for marker in markers).encode()
        phase, ids, answer = "fail", [None] * len(markers), None
        try:
            answer = api.request("POST", f"//default/job/{WAITING_TYPE}/add", body)
            if answer.status == 200:
                phase, ids = "ok", answer.json()["ids"]
            assert answer.status in (200, 503), answer
            assert len(ids) == len(markers), answer
        except Broken:
            phase = "unknown"
            raise
        finally:
            for marker, id in zip(markers, ids):
                self.history.add("add", phase, marker=marker, id=id)
        self.ended.wait(luck.random() * 0.1)

    def bulk_answer(self, markers, lines):
        told = set()
        for line in map(json.loads, lines):
            if "line" not in line:
                continue
            marker = markers[line["line"] - 1]
            told.add(marker)
            if "id" in line:
                self.took(marker, line["id"])
            else:
                self.history.add("add", "fail", marker=marker)
        for marker in markers:
            if marker not in told:
                self.history.add("add", "unknown", marker=marker)

    # --- meddling and looking ----------------------------------------------------------

    def act(self, api, id, action):
        since, before = now(), self.crashes
        self.history.add("act", "invoke", id=id, action=action)
        try:
            answer = api.request("POST", f"/jobs/{id}/{action}")
            if answer.status not in (200, 409):
                self.excuse(before, answer, (503,))
        except NotSent:
            self.history.add("act", "fail", id=id, action=action)
            raise
        except Broken:
            self.history.add("act", "unknown", id=id, action=action)
            raise
        phase = "ok" if answer.status == 200 else "fail"
        self.history.add("act", phase, id=id, action=action, status=answer.status)
        if phase == "ok":
            self.history.read(since, answer.json())
            if action == "hold":
                self.held.add(id)
            if action == "pause":
                self.paused.append(id)

    def excuse(self, before, answer, allowed=()):
        """An answer that is no good is excused while the daemon dies."""
        dying = before % 2 or self.crashes != before
        assert answer.status in allowed or dying, answer
        raise Broken(f"answered {answer.status}")

    def meddle(self, api, luck):
        with self.lock:
            recent = self.ids[-60:]
        if not recent:
            self.ended.wait(0.01)
            return
        action = luck.choice(ACTIONS)
        id = luck.choice(recent)
        if action == "release" and self.held:
            id = luck.choice(sorted(self.held))
        if action == "resume" and self.paused:
            id = self.paused[-1]
        self.act(api, id, action)
        self.ended.wait(luck.random() * 0.02)

    def look(self, api, luck):
        with self.lock:
            sample = luck.sample(self.ids, min(len(self.ids), 5))
        for id in sample:
            self.read(api, f"/jobs/{id}", lambda job: [job])
        self.read(api, "/jobs?limit=200&state=" + ",".join(FINAL),
                  lambda page: page["items"])
        self.finished = self.finished_runs()
        self.ended.wait(0.03)

    def read(self, api, path, jobs_of):
        since, before = now(), self.crashes
        answer = api.request("GET", path)
        if answer.status != 200:
            self.excuse(before, answer)
        for job in jobs_of(answer.json()):
            self.history.read(since, job)

    def finished_runs(self):
        """About how many jobs are over: those that told their end."""
        with open(self.witness.path, "rb") as file:
            return sum(line.startswith(b"E") for line in file)

    # --- the end -----------------------------------------------------------------------

    def settle(self):
        """With nobody adding any more: releases what is held and waits for the last end.
        Returns all jobs as the daemon shows them."""
        api = self.daemon.api()
        while stopped := api.all(state="held,paused"):
            for job in stopped:
                self.act(api, job["id"], "release" if job["state"] == "held" else "resume")
        open_states = "deferred,ready,running,paused,halted,retrying,held"
        deadline = time.monotonic() + SETTLE_SECONDS
        wait_for(lambda: not api.all(limit=200, state=open_states)
                 or time.monotonic() > deadline, SETTLE_SECONDS + 5, pause=0.05)
        jobs = api.all()
        api.close()
        return jobs
