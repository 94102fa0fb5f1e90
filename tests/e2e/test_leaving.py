# SPDX-License-Identifier: Apache-2.0
"""test_leaving - a daemon that ends or begins anew in the middle of requests: it does so, who
was told yes has a job, and who was told no has none."""
import collections
import pathlib
import signal
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import Broken, NotSent, wait_for # noqa: E402
from lib.cluster import LEASE, Cluster # noqa: E402
from lib.daemon import Place # noqa: E402
from lib.nodes import fenced # noqa: E402

CLIENTS = 8
PATIENCE = 300 # seconds; a short lease on a busy machine, sanitizers


class Clients:
    """Add jobs all the time, each with a name of its own."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.over = threading.Event()
        self.told = collections.defaultdict(list) # status: names
        self.error = None
        self.threads = [threading.Thread(target=self.run, args=(n,), daemon=True)
                        for n in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        serial = 0
        while not self.over.is_set():
            api = self.daemon.api(60)
            try:
                while not self.over.is_set():
                    serial += 1
                    name = f"c{number}-{serial}"
                    job = {"type": "nobody-runs-it", "name": name}
                    answer = api.request("POST", "/jobs", job)
                    self.told[answer.status].append(name)
                    if answer.status != 201:
                        self.over.wait(0.01)
            except (NotSent, Broken):
                self.over.wait(0.01)
            except Exception as error: # pylint: disable=broad-except
                self.error = error
                return
            finally:
                api.close()

    def added(self):
        return len(self.told[201])

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join()
        if self.error:
            raise self.error
        assert set(self.told) <= {201, 503}, self.told.keys()


def names_of(api):
    """None: the node begins anew once more, on a busy machine."""
    try:
        return {job["name"] for job in api.all()}
    except (AssertionError, NotSent, Broken):
        return None


def judge(clients, api):
    names = wait_for(lambda: names_of(api), PATIENCE, "the jobs cannot be read", pause=0.5)
    assert not set(clients.told[201]) - names
    assert not set(clients.told[503]) & names


def test_a_stop_comes_to_its_end_whoever_asks_meanwhile(place):
    """Requests that come in while the daemon ends are answered, and do not keep it."""
    daemon = Place(place).daemon().start()
    clients = Clients(daemon)
    for _ in range(4):
        before = clients.added()
        wait_for(lambda before=before: clients.added() > before + 30, PATIENCE)
        daemon.stop(PATIENCE)
        daemon.start()
    clients.end()
    judge(clients, daemon.api(60))
    daemon.cleanup()


def test_a_node_that_begins_anew_has_told_the_truth(place, server):
    """S2.29: its lease is over while it sleeps; what stands in its journal is accepted."""
    url = server.database("leaving")
    with Cluster(url, place, 2, lease=LEASE) as cluster:
        sleeper = cluster.start().daemons[0]
        clients = Clients(sleeper)
        for turn in (1, 2, 3):
            before = clients.added()
            wait_for(lambda before=before: clients.added() > before + 30, PATIENCE)
            sleeper.process.send_signal(signal.SIGSTOP)
            wait_for(lambda: fenced(url, sleeper), PATIENCE, cluster.daemons[1].tail)
            sleeper.process.send_signal(signal.SIGCONT)
            wait_for(lambda turn=turn: sleeper.log().count("event=node.joined") > turn, PATIENCE,
                     sleeper.tail)
            sleeper.wait_ready(PATIENCE)
        clients.end()
        judge(clients, sleeper.api(60))
