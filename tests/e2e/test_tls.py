# SPDX-License-Identifier: Apache-2.0
"""TLS and addresses beyond loopback: real certificates, a real network of its own."""
import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402
from lib.tls import certificate, tls_options # noqa: E402

ADDRESS = "10.99.7.1" # of a network that only the daemon of a test has


def ask(node, cert, path, secret=None, version=None):
    """GET over TLS, trusting `cert` alone."""
    context = ssl.create_default_context(cafile=str(cert))
    if version:
        context.minimum_version = context.maximum_version = version
    connection = http.client.HTTPSConnection(*node.address(), context=context, timeout=120)
    try:
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        connection.request("GET", path, headers=headers)
        shown = connection.sock.getpeercert()["subject"]
        answer = connection.getresponse()
        return answer.status, answer.read(), shown[0][0][1]
    finally:
        connection.close()


def pawl(*words, env=None, before=()):
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith("PAWL_")}
    return subprocess.run([*before, program(), *words], env={**clean, **(env or {})},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120)


@pytest.fixture
def place():
    with Place() as made:
        yield made


def test_the_address_speaks_tls_alone_and_the_command_line_too(place):
    cert, key = certificate(place.path, "one")
    node = place.daemon(*tls_options(cert, key)).start()
    status, body, name = ask(node, cert, "/api/v1/jobs")
    assert status == 200 and name == "one" and json.loads(body)["items"] == []
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        assert ask(node, cert, "/livez", version=version)[0] == 200
    with pytest.raises((ssl.SSLError, OSError)):
        ask(node, cert, "/livez", version=ssl.TLSVersion.TLSv1_1)
    host, port = node.address()
    with socket.create_connection((host, port), timeout=120) as plain:
        plain.sendall(b"GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try:
            assert b"HTTP/" not in plain.recv(4096)
        except ConnectionError: # reset, with what we said unread
            pass
    server = f"https://{host}:{port}"
    assert pawl("ls", "--server", server).returncode == 6 # it is not trusted
    assert pawl("ls", "--server", server, "--ca", str(cert)).returncode == 0
    assert pawl("ls", "--server", server, env={"PAWL_CA": str(cert)}).returncode == 0


def test_a_new_certificate_is_taken_on_sighup_and_a_bad_one_is_not(place):
    cert, key = certificate(place.path, "one")
    node = place.daemon(*tls_options(cert, key)).start()
    assert ask(node, cert, "/livez")[2] == "one"
    cert.write_text("this is no certificate")
    os.kill(node.pid, signal.SIGHUP)
    wait_for(lambda: "tls.refused" in node.log(), message=node.tail)
    new, new_key = certificate(place.path, "two")
    trusted = place.path / "trusted.pem"
    trusted.write_bytes(new.read_bytes())
    new_key.rename(key)
    new.rename(cert)
    os.kill(node.pid, signal.SIGHUP)
    wait_for(lambda: "tls.reloaded" in node.log(), message=node.tail)
    assert ask(node, trusted, "/livez")[2] == "two"


def test_a_new_certificate_is_taken_by_itself_while_old_connections_go_on(place):
    """Nobody sends a signal: between the two files, when they do not fit, the old pair stays."""
    cert, key = certificate(place.path, "one")
    node = place.daemon(*tls_options(cert, key), "--set", "limits.idle=PT1H").start()
    trusted = place.path / "trusted.pem"
    new, new_key = certificate(place.path, "two")
    trusted.write_bytes(cert.read_bytes() + new.read_bytes())
    context = ssl.create_default_context(cafile=str(trusted))
    old = http.client.HTTPSConnection(*node.address(), context=context, timeout=120)

    def old_goes_on():
        old.request("GET", "/livez")
        answer = old.getresponse()
        answer.read()
        return answer.status == 200 and old.sock.getpeercert()["subject"][0][0][1] == "one"

    def shown():
        assert old_goes_on()
        return ask(node, trusted, "/livez")[2]

    assert shown() == "one"
    first = old.sock
    new.rename(cert)
    wait_for(lambda: shown() == "one" and "event=tls.refused" in node.log(), message=node.tail)
    new_key.rename(key)
    wait_for(lambda: shown() == "two", message=node.tail)
    wait_for(lambda: "event=tls.reloaded" in node.log(), message=node.tail)
    assert old_goes_on() and old.sock is first # it was never opened anew
    old.close()


def test_bad_files_are_told_at_the_check_and_at_the_start(place):
    cert, key = certificate(place.path, "one")
    _, other = certificate(place.path, "two")
    empty = place.path / "empty.pem"
    empty.write_text("")
    data = ["--data", str(place.path / "data")]
    cases = [([*tls_options(cert, "/nowhere/key")], "cannot read the key /nowhere/key"),
             ([*tls_options("/nowhere/cert", key)], "cannot read the certificate"),
             ([*tls_options(empty, key)], "holds no certificate"),
             ([*tls_options(cert, empty)], "holds no key"),
             ([*tls_options(cert, other)], "does not belong to"),
             (tls_options(cert, key)[:2], "go together")]
    for words, why in cases:
        checked = pawl("serve", "--check", *data, *words)
        assert checked.returncode == 1 and why in checked.stderr, (words, checked)
    started = pawl("serve", *data, "--listen", "127.0.0.1:0", *tls_options(cert, other))
    assert started.returncode == 1 and "does not belong to" in started.stderr, started
    good = pawl("serve", "--check", *data, *tls_options(cert, key))
    assert good.returncode == 0, good


def test_nothing_listens_beyond_loopback_without_tokens_and_tls(place):
    """In a network namespace with an address of its own: refused, refused, served."""
    cert, key = certificate(place.path, "far", ADDRESS)
    data = place.path / "data"
    listen = ["--data", str(data), "--listen", f"{ADDRESS}:0"]
    refused = pawl("serve", *listen)
    assert refused.returncode == 2 and "needs TLS" in refused.stderr, refused
    refused = pawl("serve", *listen, *tls_options(cert, key))
    assert refused.returncode == 1 and "no token yet" in refused.stderr, refused
    node = place.daemon(data=data).start()
    secret = node.api().request("POST", "/tokens", {"name": "far", "scopes": ["read"]}
                                ).json()["token"]
    node.stop()
    script = f"""
        ip link set lo up && ip addr add {ADDRESS}/32 dev lo &&
        exec "$0" serve --data {data} --listen {ADDRESS}:0 \
            --set tls.certificate={cert} --set tls.key={key}"""
    (data / "listen").unlink(missing_ok=True)
    with open(place.path / "far.log", "wb") as log:
        far = subprocess.Popen(["unshare", "--net", "sh", "-c", script, program()],
                               stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        tail = lambda: (place.path / "far.log").read_text()
        wait_for(lambda: far.poll() is None and (data / "listen").exists() and
                 node.answers_ready(), message=tail)
        host, port = node.address()
        assert host == ADDRESS
        inside = ["nsenter", f"--net=/proc/{far.pid}/ns/net"]
        server = ["--server", f"https://{host}:{port}", "--ca", str(cert)]
        assert pawl("ls", *server, before=inside).returncode == 4
        assert pawl("ls", *server, env={"PAWL_TOKEN": secret},
                    before=inside).returncode == 0
        assert node.api().request("DELETE", "/tokens/far").status == 200
        assert pawl("ls", *server, before=inside).returncode == 4 # never open to all
    finally:
        far.terminate()
        far.wait(120)
