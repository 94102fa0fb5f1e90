# SPDX-License-Identifier: Apache-2.0
"""nodes - three daemons on one PostgreSQL store, for processors of document 004."""
import subprocess

from lib.api import Api, Broken, NotSent, wait_for
from lib.cluster import Cluster
from lib.daemon import Place, program

PATIENCE = 180 # seconds; a lease, a busy machine, sanitizers
LEASE = "10s" # a node that only waits for its turn on a busy machine keeps it
COPY = 'cp -r "$PAWL_INPUT" "$PAWL_OUTPUT"'


class Nodes:
    """Three daemons on one store; a test may start them one by one."""

    def __init__(self, server, name):
        self.place = Place()
        self.cluster = Cluster(server.database(name), self.place.path, 3, "--slots", "4",
                               "--set", "daemon.grace=500ms", "--set",
                               f"scheduling.lease={LEASE}")
        self.daemons = self.cluster.daemons

    def start(self):
        self.cluster.start()
        for daemon in self.daemons:
            for sysid in self.sysids:
                wait_for(lambda d=daemon, s=sysid: knows(d, s), PATIENCE)
        return self

    @property
    def sysids(self):
        return [sysid_of(daemon) for daemon in self.daemons]

    def close(self):
        self.cluster.close()
        self.place.__exit__(None, None, None)


class PatientApi(Api):
    """Asks again while a node does not answer: it may wait for its turn, or begin anew."""

    def request(self, *words, **more):
        answers = []

        def answered():
            try:
                answers.append(Api.request(self, *words, **more))
            except (Broken, NotSent) as why:
                answers.append(why)
                return False
            return answers[-1].status != 503

        wait_for(answered, PATIENCE, lambda: f"{words}: {answers[-1]}", 0.2)
        return answers[-1]


class Patient:
    """A daemon, for those who ask it about processors of others."""

    def __init__(self, daemon):
        self.daemon, self.data = daemon, daemon.data

    def api(self, timeout=60):
        return PatientApi(self.daemon.socket(), timeout)

    def tail(self, lines=25):
        return self.daemon.tail(lines)


def knows(daemon, sysid):
    """Whether it can write to the node."""
    answer = Patient(daemon).api().request("GET", f"/processors/none@{sysid}")
    return answer.json()["code"] == "processor_not_found"


def pawl(node, *words):
    """The command line; repeated while a node does not answer."""
    tries = []

    def once():
        tries.append(subprocess.run([program(), *words, "--server", "unix:" + node.socket()],
                                    capture_output=True, timeout=120, check=False,
                                    stdin=subprocess.DEVNULL))
        return tries[-1].returncode == 0

    wait_for(once, PATIENCE, lambda: f"{tries[-1]}", 0.2)
    return tries[-1].stdout.decode()


def held(worker):
    """What a processor has taken and not ended."""
    return worker.bucket("input/work") | worker.bucket("input/active")


def sysid_of(daemon):
    text = (daemon.data / "identity").read_text()
    return dict(line.split("=", 1) for line in text.splitlines())["sysid"]


def fenced(url, daemon):
    """Whether the store says that what it had is another's."""
    done = subprocess.run(
        ["psql", "-AtXqc", f"SELECT fenced FROM pawl.node WHERE sysid = '{sysid_of(daemon)}'",
         url], capture_output=True, text=True, timeout=PATIENCE, check=True)
    return done.stdout == "t\n"
