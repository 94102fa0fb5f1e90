# SPDX-License-Identifier: Apache-2.0
"""test_balancer - Debian's HAProxy in front of three nodes on one PostgreSQL, with the
configuration that the documentation shows: nodes are restarted under load, one after the
other, and no client sees an error."""
import csv
import http.client
import io
import itertools
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for              # noqa: E402
from lib.cluster import Cluster   # noqa: E402
from lib.daemon import Place              # noqa: E402

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "docs/examples/haproxy.cfg"
SECONDS = 180
CLIENTS = 4
SERVERS = ("node1", "node2", "node3")


def certificate(folder):
    """One that signs itself, in one file with its key, as HAProxy wants it."""
    cert, key, both = (folder / name for name in ("cert.pem", "key.pem", "both.pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=pawl", "-keyout", str(key), "-out", str(cert)],
                   check=True, capture_output=True, timeout=60)
    both.write_bytes(cert.read_bytes() + key.read_bytes())
    return cert, key, both


class Balancer:
    """HAProxy with the example, its addresses and files replaced by those of a test."""

    def __init__(self, folder, nodes, cert, both):
        self.folder, self.process = folder, None
        self.admin = folder / "admin.sock"
        text = EXAMPLE.read_text()
        replacements = {"0.0.0.0:7420": f"unix@{folder}/front.sock",
                        "/etc/haproxy/pawl.pem": str(both),
                        "/etc/haproxy/pawl-ca.pem": str(cert),
                        "/run/haproxy/admin.sock": str(self.admin)}
        for number, node in enumerate(nodes, 1):
            replacements[f"10.0.0.1{number}:7420"] = "%s:%d" % node.address()
        for old, new in replacements.items():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        (folder / "haproxy.cfg").write_text(text)

    def start(self):
        with open(self.folder / "haproxy.log", "wb") as log:
            self.process = subprocess.Popen(
                ["/usr/sbin/haproxy", "-db", "-f", self.folder / "haproxy.cfg"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        for number in (1, 2, 3):
            self.until(number, "UP")
        return self

    def table(self):
        """What it says of each server: {"node1": {"status": "UP", ...}, ...}"""
        with socket.socket(socket.AF_UNIX) as admin:
            admin.settimeout(SECONDS)
            admin.connect(str(self.admin))
            admin.sendall(b"show stat\n")
            with admin.makefile("r") as answer:
                rows = csv.DictReader(io.StringIO(answer.read().lstrip("# ")))
                return {row["svname"]: row for row in rows if row["pxname"] == "nodes"}

    def says(self, number, word):
        assert self.process.poll() is None, self.log()
        return self.admin.exists() and self.table()[f"node{number}"]["status"] == word

    def until(self, number, word):
        wait_for(lambda: self.says(number, word), SECONDS, self.log, pause=0.05)

    def log(self):
        return (self.folder / "haproxy.log").read_text()[-4000:]

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()


class FrontConnection(http.client.HTTPSConnection):
    """TLS over the balancer's socket: a port of its own could be another's."""

    def __init__(self, folder, context):
        super().__init__("localhost", timeout=SECONDS, context=context)
        self.folder, self.context = folder, context

    def connect(self):
        plain = socket.socket(socket.AF_UNIX)
        plain.settimeout(SECONDS)
        plain.connect(f"{self.folder}/front.sock")
        self.sock = self.context.wrap_socket(plain, server_hostname="pawl")


class Clients:
    """Add and read all the time, each over one connection that it keeps; the first thing
    that is not as it should be ends them."""

    def __init__(self, folder, cert, secret):
        self.folder, self.secret = folder, secret
        self.context = ssl.create_default_context(cafile=str(cert))
        self.context.check_hostname = False
        self.ids, self.times, self.wrong = [], [], []
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True)
                        for _ in range(CLIENTS)]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def stop(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def ask(self, connection, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.secret}"}
        if body:
            headers["Content-Type"] = "application/json"
        connection.request(method, "/api/v1" + path, body and json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise AssertionError(f"{method} {path}: {answer.status} {text[:300]!r}")
        return json.loads(text)

    def run(self):
        connection = FrontConnection(self.folder, self.context)
        try:
            for turn in itertools.count():
                if self.ended.is_set():
                    return
                wait = "?wait=2" if turn % 7 == 6 else ""
                job = self.ask(connection, "POST", "/jobs" + wait, {"command": ["true"]})["job"]
                self.ids.append(job["id"])
                self.times.append(time.monotonic())
                assert self.ask(connection, "GET", f"/jobs/{job['id']}")["id"] == job["id"]
                if turn % 5 == 0:
                    assert self.ask(connection, "GET", "/jobs?limit=3")["items"]
                self.ended.wait(0.02)
        except Exception as error: # pylint: disable=broad-except
            self.wrong.append(f"{type(error).__name__}: {error}")
            self.ended.set()
        finally:
            connection.close()

    def check(self):
        assert not self.wrong, self.wrong

    def until(self, count):
        """So many more were accepted."""
        goal = len(self.ids) + count
        wait_for(lambda: self.wrong or len(self.ids) >= goal, SECONDS)
        self.check()


@pytest.fixture(name="place")
def fixture_place():
    with Place() as place:
        yield place


def make_nodes(server, folder, cert, key):
    """Three, each on a loopback address that no one else uses, so that it finds its port
    free again after a restart."""
    nodes = Cluster(server.database("balanced"), folder, 3, "--slots", "2", "--set",
                    f"tls.certificate={cert}", "--set", f"tls.key={key}", "--set",
                    "daemon.drain=7s", "--set", "journal.ack=store")
    net = f"127.{64 + os.getpid() % 150}.{os.getpid() // 150 % 250}"
    for number, node in enumerate(nodes.daemons, 1):
        node.options += ["--listen", f"{net}.{number}:0"]
    return nodes


def restart(balancer, number, node, clients):
    """As an upgrade would: SIGTERM, and a new daemon on the same data and address."""
    node.options[-1] = "%s:%d" % node.address()
    node.process.terminate()
    balancer.until(number, "DOWN")
    assert node.process.wait(SECONDS) == 0
    clients.until(5)
    node.start()
    balancer.until(number, "UP")
    clients.until(5)


def test_clients_see_no_error_while_nodes_are_restarted(place, server):
    """S1.1, S1.2, S1.3: several servers accept in turn, more than 100 jobs a minute, and go
    away and come back one by one; every request is answered, every job is done."""
    cert, key, both = certificate(place.path)
    nodes = make_nodes(server, place.path, cert, key)
    balancer = clients = None
    try:
        nodes.start()
        answer = nodes.daemons[0].api().request(
            "POST", "/tokens", {"name": "load", "scopes": ["read", "enqueue"]})
        assert answer.status == 201, answer
        secret = answer.json()["token"]
        balancer = Balancer(place.path, nodes.daemons, cert, both).start()
        clients = Clients(place.path, cert, secret)
        for node in nodes.daemons: # each has heard of the token
            host = "%s:%d" % node.address()
            wait_for(lambda: knows(node, cert, secret), SECONDS, host)
        assert_turns(balancer, clients)
        clients.start()
        clients.until(10)
        for number, node in enumerate(nodes.daemons, 1):
            restart(balancer, number, node, clients)
        while len(clients.times) <= 100:
            clients.until(1)
        clients.stop()
        clients.check()
        # However busy the machine is for the most part: a hundred came within a minute.
        times = sorted(clients.times)
        assert min(end - begin for begin, end in zip(times, times[100:])) < 60
        table = balancer.table()
        assert all(int(table[f"node{number}"]["stot"]) > 0 for number in (1, 2, 3)), table
        api = nodes.daemons[0].api(SECONDS)
        for id in clients.ids:
            assert api.until(id, seconds=SECONDS)["state"] == "done"
        for node in nodes.daemons:
            assert len(re.findall("event=daemon.leaving", node.log())) == 1
    finally:
        if clients:
            clients.stop()
        if balancer:
            balancer.close()
        nodes.close()


def assert_turns(balancer, clients):
    """Nine jobs over one connection: each goes to the next server, in the same order over
    and over, and each server accepts three."""
    def turns():
        connection = FrontConnection(clients.folder, clients.context)
        before, order = balancer.table(), []
        try:
            for _ in range(9):
                old = balancer.table()
                clients.ids.append(clients.ask(connection, "POST", "/jobs",
                                               {"command": ["true"]})["job"]["id"])
                new = balancer.table()
                order.append([name for name in SERVERS if new[name]["lbtot"] !=
                              old[name]["lbtot"]])
        finally:
            connection.close()
        # A check that this machine was too slow for takes a server out for a moment.
        steady = all(before[name]["chkdown"] == new[name]["chkdown"] for name in SERVERS)
        return order if steady else None
    order = wait_for(turns, SECONDS)
    assert all(len(names) == 1 for names in order), order
    assert sorted(order[:3]) == [[name] for name in SERVERS], order
    assert order == order[:3] * 3


def knows(node, cert, secret):
    context = ssl.create_default_context(cafile=str(cert))
    context.check_hostname = False
    connection = http.client.HTTPSConnection(*node.address(), context=context,
                                             timeout=SECONDS)
    try:
        connection.request("GET", "/api/v1/jobs?limit=1",
                           headers={"Authorization": f"Bearer {secret}"})
        return connection.getresponse().status == 200
    finally:
        connection.close()
