# SPDX-License-Identifier: Apache-2.0
"""Forwarders of document 004 to other machines: over ssh and to a real rsync daemon."""
import getpass
import os
import pathlib
import shutil
import socket
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for                         # noqa: E402
from lib.daemon import kill, pids, _proc             # noqa: E402
from lib.forwarding import COPY, home, make, node # noqa: E402,F401
from lib.processor import HOSTILE, WAIT, Processor, content, hostile_units, problem_of  # noqa: E402


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def serve(arguments, port, log):
    """A daemon of the test's own; None if it does not come up."""
    with open(log, "wb") as out:
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=out, start_new_session=True)
    try:
        wait_for(lambda: process.poll() is not None or listening(port), 120, "no listener")
    except AssertionError:
        pass
    if process.poll() is None and listening(port):
        return process
    process.kill()
    process.wait()
    return None


@pytest.fixture(scope="module")
def rsyncd(home, node):
    """rsync://…/processors is the folder of the node's processors."""
    if not shutil.which("rsync"):
        pytest.skip("rsync is not installed")
    for _ in range(5): # a port may be taken meanwhile
        port = free_port()
        config = home.path / "rsyncd.conf"
        config.write_text(f"port = {port}\naddress = 127.0.0.1\nuse chroot = no\n"
                          f"pid file = {home.path}/rsyncd.pid.{port}\n"
                          f"[processors]\npath = {node.data}/processors\n"
                          "read only = no\n" +
                          (f"uid = {os.getuid()}\ngid = {os.getgid()}\n"
                           if os.getuid() == 0 else ""))
        process = serve(["rsync", "--daemon", "--no-detach", f"--config={config}"], port,
                        home.path / "rsyncd.log")
        if process:
            yield f"rsync://127.0.0.1:{port}/processors"
            process.kill()
            process.wait()
            return
    pytest.skip("no rsync daemon can be started here")


@pytest.fixture(scope="module")
def sshd(home):
    """The command that reaches this machine over ssh, with keys of the test's own."""
    program = shutil.which("sshd") or "/usr/sbin/sshd"
    if not os.path.exists(program) or not shutil.which("rsync"):
        pytest.skip("sshd or rsync is not installed")
    keys = home.path / "keys"
    keys.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / name],
                       check=True, timeout=120, stdin=subprocess.DEVNULL)
    shutil.copy(keys / "user.pub", keys / "authorized")
    if os.getuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    for _ in range(5):
        port = free_port()
        config = home.path / "sshd_config"
        config.write_text(f"Port {port}\nListenAddress 127.0.0.1\nHostKey {keys}/host\n"
                          f"AuthorizedKeysFile {keys}/authorized\nStrictModes no\n"
                          f"PidFile none\nUsePAM no\nPasswordAuthentication no\n"
                          "PermitRootLogin yes\n")
        process = serve([program, "-D", "-e", "-f", str(config)], port,
                        home.path / "sshd.log")
        if not process:
            continue
        command = (f"ssh -p {port} -i {keys}/user -o BatchMode=yes "
                   "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
                   "-o LogLevel=ERROR -o ConnectTimeout=30")
        tried = subprocess.run([*command.split(), f"{getpass.getuser()}@127.0.0.1", "true"],
                               stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                               check=False)
        if tried.returncode == 0:
            yield command
            process.kill()
            process.wait()
            return
        process.kill()
        process.wait()
        pytest.skip(f"ssh does not work here: {tried.stderr!r}")
    pytest.skip("no sshd can be started here")


def test_over_ssh(make, home, sshd):
    """S4.15 S4.16: rsync to receive, renamed into work by the other side's shell."""
    last = make()
    to = f"ssh:{getpass.getuser()}@127.0.0.1:{last.dir}"
    first = make(forward=[{"to": [to], "ssh": sshd, "bandwidth": 100000, "slots": 4}],
                 start_forwarder=True)
    hostile_units(first, last, [HOSTILE[0], *HOSTILE[3:6]])


def test_to_an_rsync_daemon(make, rsyncd):
    last = make()
    first = make(forward=[{"to": [f"{rsyncd}/{last.name}"]}], start_forwarder=True)
    hostile_units(first, last, HOSTILE)
    first.put("file", b"F")
    first.until("output/sent", "file")
    last.until("output/finished", "file")
    assert content(last.dir / "output/finished/file") == b"F"
    assert last.bucket("input/receive") <= {".arrived"}


def rsyncs_of(first):
    """Processes of transfers of this processor."""
    needle = f"{first.dir}/output/finished/".encode()
    return [pid for pid in pids()
            if _proc(pid, "cmdline").startswith(b"rsync\0") and
            needle in _proc(pid, "cmdline")]


def test_a_killed_rsync_shows_no_half_and_is_tried_again(make, rsyncd):
    last = make()
    big = os.urandom(1 << 20)
    first = make(forward=[{"to": [f"{rsyncd}/{last.name}"], "bandwidth": 400}],
                 start_forwarder=True)
    first.put("big", {"data": big})
    killed = wait_for(lambda: rsyncs_of(first), WAIT, first.picture)
    for pid in killed or rsyncs_of(first):
        kill(pid)
    first.until("output/sent", "big")
    last.until("output/finished", "big")
    assert content(last.dir / "output/finished/big") == {"data": big}


def test_a_daemon_that_is_not_there_keeps_the_unit(make):
    with socket.socket() as taken: # nobody else listens there meanwhile
        taken.bind(("127.0.0.1", 0))
        first = make(forward=[{"to": [f"rsync://127.0.0.1:{taken.getsockname()[1]}/x"]}],
                     start_forwarder=True)
        first.put("u")
        wait_for(lambda: first.status()["problems"], WAIT, first.picture)
        assert "/x: the transfer failed (pawl logs " in problem_of(first, "u")
        assert first.where("u") == ["input/processed", "output/finished"]
        first.signal("stop-forwarder")


def test_without_rsync_it_says_so(home):
    node = home.daemon(data=home.path / "bare")
    tools = home.path / "tools"
    tools.mkdir()
    for name in ("sh", "cp", "mv", "rm", "cat", "mkdir", "sync", "find", "env"):
        (tools / name).symlink_to(shutil.which(name))
    node.env["PATH"] = str(tools)
    node.start()
    first = Processor(node, "first")
    first.create(COPY, forward=[{"to": ["rsync://127.0.0.1:1/x"]}], start_forwarder=True)
    first.put("u")
    wait_for(lambda: first.status()["problems"], WAIT, first.picture)
    assert problem_of(first, "u").startswith(
        "to rsync://127.0.0.1:1/x: rsync or ssh is not installed here (pawl logs ")
    assert first.where("u") == ["input/processed", "output/finished"]
    node.cleanup()
