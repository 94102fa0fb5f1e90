# SPDX-License-Identifier: Apache-2.0
"""Requests as no client sends them, over every door: each answer is whole, says what is
wrong, and comes in its turn; afterwards the daemon serves as before.

PAWL_FUZZ_ROUNDS and PAWL_FUZZ_SEED make more of them, and others."""
import json
import os
import pathlib
import random
import select
import socket
import ssl
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for                  # noqa: E402
from lib.daemon import Place, descriptors     # noqa: E402
from lib.tls import certificate, tls_options  # noqa: E402

ROUNDS = int(os.environ.get("PAWL_FUZZ_ROUNDS", "200"))
SEED = int(os.environ.get("PAWL_FUZZ_SEED", "1"))
PATIENCE = 120
HOST = b"Host: localhost\r\n"
BODY = b'{"type":"t"}'

# What is sent before it is spoilt: requests with one answer each.
GOOD = [
    b"GET /livez HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /api/v1/jobs?limit=1 HTTP/1.1\r\n" + HOST + b"Accept: */*\r\n\r\n",
    b"GET /nowhere HTTP/1.1\r\n" + HOST + b"\r\n",
    b"OPTIONS /api/v1/jobs HTTP/1.1\r\n" + HOST + b"\r\n",
    b"POST /api/v1/jobs HTTP/1.1\r\n" + HOST +
    b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY,
    b"POST /api/v1/jobs HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    b"5;x=y\r\n" + BODY[:5] + b"\r\n7\r\n" + BODY[5:] + b"\r\n0\r\nT: u\r\n\r\n",
    b"POST /nowhere HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\n\r\nabc",
]
PIECES = [b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b",", b";", b"0", b"-1", b"\xff",
          b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n",
          b"Transfer-Encoding: gzip, chunked\r\n", b"Host: other\r\n", b" folded\r\n",
          b"Expect: 100-continue\r\n", b"Connection: close\r\n", b"HTTP/1.0", b"a" * 20000,
          b"%00", b"\x16\x03\x01"]


def spoil(dice, text):
    text = bytearray(text)
    for _ in range(dice.choice((0, 1, 1, 2, 4))):
        at = dice.randrange(len(text) + 1)
        how = dice.randrange(4)
        if how == 0:
            text[at:at] = dice.choice(PIECES)
        elif how == 1:
            del text[at:at + dice.randrange(1, 9)]
        elif how == 2:
            text[at:at + 1] = bytes([dice.randrange(256)])
        else:
            text[at:at] = text[max(0, at - dice.randrange(1, 40)):at]
    return bytes(text)


@pytest.fixture(scope="module")
def nodes():
    """One without TLS, one with it."""
    with Place() as place:
        cert, key = certificate(place.path, "one")
        plain = place.daemon("--set", "scheduling.enabled=off", "--set",
                             "daemon.legacy=on", data=place.path / "a")
        safe = place.daemon("--set", "scheduling.enabled=off", *tls_options(cert, key),
                            data=place.path / "b")
        plain.start()
        safe.start()
        yield {"unix": plain, "tcp": plain, "tls": safe, "cert": cert}


def connect(nodes, door):
    node = nodes[door]
    if door == "unix":
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(PATIENCE)
        link.connect(node.socket())
        return link
    link = socket.create_connection(node.address(), timeout=PATIENCE)
    if door == "tls":
        context = ssl.create_default_context(cafile=str(nodes["cert"]))
        link = context.wrap_socket(link, server_hostname="127.0.0.1")
    return link


class Answers:
    """What comes back, read to its end. Fails on anything that is no HTTP."""

    def __init__(self, data):
        self.rest = data

    def line(self):
        line, found, self.rest = self.rest.partition(b"\r\n")
        assert found, f"a line without an end: {line[:200]}"
        return line

    def next(self):
        """(status, headers, body), or None at the end."""
        if not self.rest:
            return None
        version, status, _ = self.line().split(b" ", 2)
        assert version == b"HTTP/1.1" and status.isdigit() and len(status) == 3
        headers = {}
        while (line := self.line()):
            name, colon, value = line.partition(b": ")
            assert colon and name.lower() not in headers, line
            headers[name.lower()] = value
        if int(status) in (100, 204):
            return int(status), headers, b""
        length = int(headers[b"content-length"])
        assert len(self.rest) >= length, "the answer is cut off"
        body, self.rest = self.rest[:length], self.rest[length:]
        return int(status), headers, body


def send(link, text, dice):
    """In pieces of any size; the other side may have had enough before the end."""
    try:
        while text:
            size = dice.choice((1, 7, 100, 5000, 100000))
            link.sendall(text[:size])
            text = text[size:]
        with socket.socket(fileno=os.dup(link.fileno())) as below: # TLS has no such end
            below.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def read_all(link):
    """Everything until the end, however it comes."""
    data = b""
    try:
        while (piece := link.recv(65536)):
            data += piece
    except (ConnectionError, ssl.SSLError):
        pass
    return data


def checked(data, story):
    """The statuses of all answers; each is as answers must be."""
    statuses, answers = [], Answers(data)
    try:
        while (answer := answers.next()):
            status, headers, body = answer
            if status >= 400:
                assert headers[b"content-type"] == b"application/problem+json", answer
                problem = json.loads(body)
                assert problem["status"] == status and problem["code"], problem
            if status != 100:
                statuses.append((status, headers.get(b"connection")))
    except (AssertionError, KeyError, ValueError) as why:
        raise AssertionError(f"{why!r} in {data[:2000]!r} to {story}") from why
    for _, connection in statuses[:-1]: # nothing comes behind the last
        assert connection != b"close", (statuses, story)
    return [status for status, _ in statuses]


def served(nodes, door):
    """A good client, one request behind the other."""
    with connect(nodes, door) as link:
        send(link, b"".join(GOOD), random.Random(door))
        return checked(read_all(link), "good requests")


@pytest.mark.parametrize("door", ["unix", "tcp", "tls"])
def test_spoilt_requests_get_whole_answers(nodes, door):
    dice = random.Random(f"{SEED} {door}")
    expected = [200, 200, 404, 204, 201, 201, 404]
    assert served(nodes, door) == expected
    before = len(descriptors(nodes[door].pid))
    for number in range(ROUNDS // 4 if door == "tls" else ROUNDS): # handshakes take long
        text = b"".join(spoil(dice, dice.choice(GOOD)) for _ in range(dice.randrange(1, 4)))
        with connect(nodes, door) as link:
            send(link, text, dice)
            checked(read_all(link), f"{door} {SEED} {number}: {text!r}")
    assert served(nodes, door) == expected
    wait_for(lambda: len(descriptors(nodes[door].pid)) <= before, PATIENCE,
             lambda: f"{before} and now {descriptors(nodes[door].pid)}")


@pytest.mark.parametrize("door", ["unix", "tcp", "tls"])
def test_answers_come_in_the_order_of_the_requests(nodes, door):
    """Some take a while with the daemon, others are known at once."""
    dice = random.Random(f"{SEED} order {door}")
    wanted, text = [], b""
    for number in range(60):
        if dice.randrange(2):
            body = b'{"type":"t%d"}' % number
            text += (b"POST /api/v1/jobs HTTP/1.1\r\n" + HOST +
                     b"Content-Length: %d\r\n\r\n" % len(body) + body)
            wanted.append(f"t{number}")
        else:
            text += b"GET /nowhere HTTP/1.1\r\n" + HOST + b"\r\n"
            wanted.append(None)
    with connect(nodes, door) as link:
        send(link, text, dice)
        answers = Answers(read_all(link))
    api, got = nodes[door].api(), []
    while (answer := answers.next()):
        got.append(api.job(json.loads(answer[2])["id"])["type"] if answer[0] == 201 else None)
    assert got == wanted


def test_ten_thousand_requests_in_one_go(nodes):
    """Nobody else waits for all of them, and all are answered."""
    with connect(nodes, "unix") as link:
        link.setblocking(False)
        text, got = memoryview(GOOD[0] * 10000), b""
        while got.count(b"HTTP/1.1 200 OK") < 10000:
            ready = select.select([link], [link] if text else [], [], PATIENCE)
            assert ready[0] or ready[1], "it answers no more"
            if ready[1]:
                text = text[link.send(text):]
            if ready[0]:
                piece = link.recv(1 << 20)
                assert piece, "it hung up"
                got += piece
            if len(got) < 1 << 20:
                continue
            assert served(nodes, "unix")[0] == 200
            break


def test_bodies_are_counted_as_they_came(nodes):
    """A handler that rewrites a body leaves the bytes of all bodies as they were: after
    some lines without their ends every body was refused."""
    api = nodes["unix"].api()
    for _ in range(40):
        assert api.request("POST", "//add?client=acme&jobtype=run.it", b"one").status == 200
    assert served(nodes, "unix") == [200, 200, 404, 204, 201, 201, 404]
