# SPDX-License-Identifier: Apache-2.0
"""cutoff - a node that does not reach its store accepts jobs all the same, and loses none.

Two nodes share a PostgreSQL server; one of them has a black hole on its way to it. It goes
on accepting into its journal while the other takes over what it had; it says what it can and
cannot do; it is killed with kill -9, starts again without its store, and accepts as before; and
when the way is open again, everything that it acknowledged comes into the store and is run.
"""
import json
import time

from lib.api import Broken, NotSent, wait_for
from lib.daemon import Daemon
from lib.fault_proxy import FaultProxy
from lib.postgres import Server

LEASE = 5       # seconds
BULK = 500      # jobs in one request
SECONDS = 300   # a busy machine
TYPE = "cut.off"
ANSWERS = 60    # seconds for any answer: nothing hangs


class CutOff:
    def __init__(self, place):
        self.database = Server("autovacuum=on")
        self.proxy = FaultProxy()
        self.place = place
        self.away, self.near = None, None
        self.ids = []      # acknowledged
        self.unknown = 0   # of jobs whose answer was lost

    def start(self):
        self.database.make().start()
        for name in ("away", "near"):
            port = self.proxy.open(name, self.database.home / ".s.PGSQL.5432")
            node = Daemon(self.place / name, "--slots", "2", "--store",
                          f"postgresql://pawl@127.0.0.1:{port}/postgres",
                          "--set", f"scheduling.lease={LEASE}s")
            setattr(self, name, node)
            node.spawn()
            node.wait_ready(SECONDS)
        handler = {"lang": "python", "body": "return payload"}
        wait_for(lambda: self.says(self.near, (200, 201), "PUT", f"/handlers/{TYPE}", handler),
                 SECONDS, self.near.tail, pause=0.1)
        wait_for(lambda: self.says(self.away, (200,), "GET", f"/handlers/{TYPE}"), SECONDS,
                 self.away.tail, pause=0.1)
        wait_for(self.remembers, SECONDS, self.away.tail, pause=0.1)
        return self

    def remembers(self):
        """Whether it has written down what it needs to start without its store."""
        path = self.away.data / "cutoff"
        return path.exists() and TYPE.encode() in path.read_bytes()

    def says(self, node, statuses, *words):
        """Whether this is the answer; a busy machine may let a lease lapse at any time, and
        the node begin anew."""
        try:
            answer = self.ask(node, *words)
        except (NotSent, Broken):
            return False
        assert answer.status in (*statuses, 404, 503), answer
        return answer.status in statuses

    def cleanup(self):
        for node in (self.away, self.near):
            if node:
                node.cleanup()
        self.database.cleanup()
        self.proxy.cleanup()

    @staticmethod
    def ask(node, method, path, body=None, headers=None):
        api = node.api(ANSWERS)
        try:
            return api.request(method, path, body, headers)
        finally:
            api.close()

    # --- while it is cut off -------------------------------------------------------------

    def cut(self):
        self.proxy.hold("away")

    def add(self, count):
        """In bulk, at the node that is cut off."""
        lines = "".join(json.dumps({"type": TYPE, "payload": str(n)}) + "\n"
                        for n in range(count))
        try:
            answer = self.ask(self.away, "POST", "/jobs", lines.encode(),
                              {"Content-Type": "application/x-ndjson"})
        except (NotSent, Broken):
            self.unknown += count
            return
        if answer.status == 503: # it begins anew: a busy machine let its lease lapse
            time.sleep(0.1)
            return
        assert answer.status == 200, answer
        ids = [line["id"] for line in answer.lines() if "id" in line]
        assert len(ids) == count, answer
        self.ids += ids

    def until_noticed(self):
        """It says that it is ready, because it accepts, and what is wrong."""
        def words():
            try:
                answer = self.ask(self.away, "GET", "/readyz")
            except (NotSent, Broken): # it begins anew
                return False
            return answer.status == 200 and \
                answer.body == b"ready, but degraded: store_failing\n"
        wait_for(words, SECONDS, self.away.tail, pause=0.2)

    def check_answers(self):
        """What needs the store is refused and says why; nothing is kept waiting."""
        for method, path, body in (
                ("GET", "/jobs?limit=5", None), ("GET", f"/jobs/{self.ids[-1]}", None),
                ("GET", "/stats", None), ("POST", f"/jobs/{self.ids[-1]}/cancel", None),
                ("PUT", "/queues/other", {"slots": 1})):
            answer = self.ask(self.away, method, path, body)
            assert answer.status == 503, (path, answer)
            assert answer.json()["code"] == "store_failing", (path, answer)
        assert self.ask(self.away, "GET", "/livez").status == 200
        nodes = self.ask(self.away, "GET", "/nodes").json()
        [own] = nodes["items"] # of others it knows nothing
        assert nodes["others"] == "store_failing", nodes
        assert self.ask(self.away, "GET", f"/nodes/{own['sysid']}").json()["sysid"] == own["sysid"]

    def kill(self):
        """kill -9; what starts again has no store, and accepts all the same."""
        begun = self.away.log().count("event=node.cut_off")
        self.away.kill()
        self.away.spawn()
        self.away.wait_ready(SECONDS)
        assert self.away.log().count("event=node.cut_off") > begun, self.away.tail()
        self.until_noticed()

    def memory(self):
        """MiB of the node that is cut off."""
        with open(f"/proc/{self.away.pid}/status") as status:
            [kib] = [line.split()[1] for line in status if line.startswith("VmRSS")]
        return int(kib) // 1024

    # --- the end -------------------------------------------------------------------------

    def done(self):
        return int(self.database.ask("SELECT count(*) FROM pawl.job WHERE state = 'done'"))

    def states(self):
        """Of all jobs that the store has, and why they are in them."""
        return self.database.ask("SELECT state || ' ' || coalesce(reason, '') FROM pawl.job "
                                 "ORDER BY id").splitlines()

    def settle(self):
        """The way is open again: returns how long the last acknowledged job took."""
        began = time.monotonic()
        self.proxy.pass_("away")
        self.away.wait_ready(SECONDS)
        last, moved = -1, time.monotonic()
        while (done := self.done()) < len(self.ids):
            if done != last:
                last, moved = done, time.monotonic()
            assert time.monotonic() - moved < SECONDS, \
                f"{done} of {len(self.ids)} are done:\n{self.away.tail()}"
            time.sleep(0.3)
        found = set(self.database.ask(
            "SELECT id FROM pawl.job WHERE state = 'done'").split())
        missing = [id for id in self.ids if id not in found]
        assert not missing, f"{len(missing)} were lost: {missing[:5]}"
        assert len(found) <= len(self.ids) + self.unknown, "some were invented"
        return time.monotonic() - began
