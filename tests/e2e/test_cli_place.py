# SPDX-License-Identifier: Apache-2.0
"""Which daemon a command means: the one that was named, or an error; never another one.

Port 7420 and /run/pawl are each machine's own, so the tests have a network and a /run of
their own.
"""
import os
import re
import subprocess

import pytest

from conftest import clean_env, program, run_cli, until


def may_unshare():
    return os.geteuid() == 0 and subprocess.run(
        ["unshare", "-n", "-m", "--propagation", "private", "sh", "-c",
         "ip link set lo up && mount -t tmpfs none /run"], capture_output=True).returncode == 0


class World:
    """A machine of its own, as far as ports and /run go; commands run in it by `cli`."""

    def __init__(self, place):
        self.place, self.daemons = place, []
        (place / "home").mkdir()
        self.keeper = subprocess.Popen(
            ["unshare", "-n", "-m", "--propagation", "private", "sh", "-c",
             f"ip link set lo up; mount -t tmpfs none /run; : > {place}/made; exec sleep 3600"])
        until((place / "made").exists, "the namespaces")

    def inside(self, *words):
        return ["nsenter", "-t", str(self.keeper.pid), "-n", "-m", *map(str, words)]

    def serve(self, name, *options):
        """A daemon; its log is NAME.log."""
        data = self.place / name
        with open(self.place / f"{name}.log", "wb") as log:
            process = subprocess.Popen(
                self.inside(program(), "serve", "--data", data, *options), cwd=self.place,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=clean_env(self.place / "home"))
        self.daemons.append(process)
        until(lambda: b"\ntry:" in (self.place / f"{name}.log").read_bytes()
              or process.poll() is not None, f"{name} is ready")
        assert process.poll() is None, (self.place / f"{name}.log").read_text()
        return data

    def cli(self, *words, **env):
        done = subprocess.run(self.inside(program(), *words), capture_output=True, text=True,
                              cwd=self.place, timeout=120, stdin=subprocess.DEVNULL,
                              env={**clean_env(self.place / "home"), **env})
        return done

    def end(self):
        for process in self.daemons:
            process.kill()
            process.wait(60)
        self.keeper.kill()
        self.keeper.wait(60)


@pytest.fixture
def world(place):
    if not may_unshare():
        pytest.skip("needs root, for a network of its own")
    made = World(place)
    yield made
    made.end()


def names(world, *options, **env):
    return world.cli(*options, "ls", **env).stdout


def test_a_named_directory_is_never_another_daemon(world):
    """F1: `--data X rm --match` deleted jobs of the daemon at the default address."""
    world.serve("a", "--listen", "127.0.0.1:7420")
    assert world.cli("run", "--wait", "--name", "precious", "--", "true").returncode == 0
    other = str(world.place / "other")
    for options, env in ((["--data", other], {}), ([], {"PAWL_DATA": other}),
                         (["--server", f"unix:{other}/pawl.sock"], {}),
                         ([], {"PAWL_SERVER": f"unix:{other}/pawl.sock"}),
                         (["--server", "http://127.0.0.1:1"], {}),
                         ([], {"PAWL_SERVER": "http://127.0.0.1:1"})):
        for words in (["ls"], ["rm", "--match", "state:done", "--yes"],
                      ["queue", "clear", "default", "--yes"], ["wait", "last"]):
            done = world.cli(*options, *words, **env)
            assert done.returncode == 6, (options, env, words, done)
            assert "[daemon_unreachable]" in done.stderr and "precious" not in done.stdout
    # The address that a daemon left behind may be another's by now.
    (world.place / "gone").mkdir()
    (world.place / "gone/listen").write_text("127.0.0.1:7420\n")
    assert world.cli("--data", world.place / "gone", "ls").returncode == 6
    assert "precious" in names(world)
    assert not (world.place / "other").exists()
    # A directory that was named gets a private daemon, a server never.
    done = world.cli("--data", other, "run", "--wait", "--name", "mine", "--", "true")
    assert done.returncode == 0 and f"private daemon for you in {other}" in done.stderr
    assert "mine" in names(world, "--data", other) and "mine" not in names(world)
    done = world.cli("run", "--", "true", PAWL_SERVER="http://127.0.0.1:1")
    assert done.returncode == 6 and "start" not in done.stderr.split("[")[0]


def test_an_option_is_closer_than_the_environment(world):
    world.serve("a", "--listen", "127.0.0.1:7420")
    data = world.serve("b", "--listen", "127.0.0.1:0")
    assert world.cli("run", "--wait", "--name", "at-b", "--", "true",
                     PAWL_DATA=str(data)).returncode == 0
    far = {"PAWL_SERVER": "http://127.0.0.1:7420"}
    assert "at-b" in names(world, "--data", data, **far)
    assert "at-b" in names(world, "--server", f"unix:{data}/pawl.sock", **far)
    assert "at-b" not in names(world, PAWL_DATA=str(data), **far)


def test_the_default_address_is_tried_last(world):
    """Default directory, then the service's socket, then 127.0.0.1:7420."""
    world.serve("a", "--listen", "127.0.0.1:7420")
    assert world.cli("run", "--wait", "--name", "at-a", "--", "true").returncode == 0
    service = world.serve("service", "--listen", "127.0.0.1:0")
    subprocess.run(world.inside("sh", "-c",
                                f"mkdir /run/pawl && ln -s {service}/pawl.sock /run/pawl/"),
                   check=True)
    assert "at-a" not in names(world)
    assert world.cli("run", "--wait", "--name", "at-service", "--", "true").returncode == 0
    assert "at-service" in names(world, "--data", service)
    home = world.place / "home/.local/state/pawl"
    assert world.cli("--data", home, "run", "--wait", "--name", "at-home", "--",
                     "true").returncode == 0
    shown = world.cli("ls")
    assert "at-home" in shown.stdout and "at-service" not in shown.stdout


def test_a_private_daemon_beside_one_at_the_default_address_is_told(world):
    """`make run` after a private daemon: nobody is left to guess where a command went, and
    what the daemon printed goes to that daemon."""
    assert world.cli("run", "--wait", "--name", "private", "--", "true").returncode == 0
    assert world.cli("ls").stderr == ""
    world.serve("b c'd", "--listen", "127.0.0.1:7420")
    done = world.cli("ls")
    assert "private" in done.stdout and "127.0.0.1:7420" in done.stderr
    hint = re.search(r"^try:\s+(.*)$", (world.place / "b c'd.log").read_text(), re.M)[1]
    done = subprocess.run(world.inside("sh", "-c", hint), capture_output=True, text=True,
                          cwd="/", env=clean_env(world.place / "home"), timeout=120)
    assert (done.returncode, done.stdout) == (3, "hello\n"), done
    shown = world.cli("--data", world.place / "b c'd", "ls")
    assert "hello" in shown.stdout and shown.stderr == ""


def test_what_cannot_be_undone_names_its_daemon(daemon):
    job = daemon.add("true")
    daemon.until_final(job)
    done = daemon.cli("rm", "--match", "state:done")
    assert done.code == 2 and f"rm 1 job at unix:{daemon.socket}" in done.errors
    done = daemon.cli("rm", "--match", "state:done", "--yes")
    assert done.code == 0 and f"1 of 1 job at unix:{daemon.socket}" in done.errors


def test_the_hint_fits_who_named_the_daemon(place):
    done = run_cli(["ls"], place, env={"PAWL_SERVER": "http://127.0.0.1:1"})
    assert done.code == 6 and "$PAWL_SERVER" in done.errors and "pawl run" not in done.errors
    done = run_cli(["--data", "none", "ls"], place)
    assert done.code == 6 and f"pawl serve --data {place}/none" in done.errors
