# SPDX-License-Identifier: Apache-2.0
"""install-deps asks dpkg first, installs only what is missing, and says so.

It runs here with a PATH of stand-ins that write down how they were called."""
import os
import pathlib
import shutil
import subprocess

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/install-deps"
TOOLS = ("sed", "tr", "xargs", "wc", "env", "cat", "echo", "dirname")


class Machine:
    def __init__(self, folder, missing=(), user=0, apt=True, sudo=True):
        self.folder = folder
        self.log = folder / "log"
        for tool in TOOLS:
            (folder / tool).symlink_to(shutil.which(tool))
        self.stand_in("id", f"echo {user}")
        if apt:
            words = " ".join(missing)
            self.stand_in("dpkg-query", 'shift 3; for p; do case " ' + words + ' " in '
                          '*" $p "*) ;; *) echo "installed $p";; esac; done')
            self.stand_in("apt-get", f'echo "apt-get $*" >>{self.log}')
        if sudo:
            self.stand_in("sudo", f'echo "sudo $1" >>{self.log}; '
                          'while [ "$1" != env ]; do shift; done; exec "$@"')

    def stand_in(self, name, line):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)

    def run(self, *words, **env):
        done = subprocess.run(["/bin/sh", SCRIPT, *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL,
                              env={"PATH": str(self.folder), **env})
        calls = self.log.read_text().splitlines() if self.log.exists() else []
        return done.returncode, done.stdout + done.stderr, calls


def test_nothing_is_done_when_all_is_there(tmp_path):
    status, said, calls = Machine(tmp_path).run("test")
    assert (status, calls) == (0, [])
    assert said.count("\n") == 1
    assert "packages are there" in said


def test_root_installs_what_is_missing_and_only_that(tmp_path):
    status, said, calls = Machine(tmp_path, missing=("gcc", "libuv1-dev")).run("build")
    assert status == 0, said
    assert "missing: gcc libuv1-dev\n" in said
    assert calls == ["apt-get -q update",
                     "apt-get -q install -y --no-install-recommends gcc libuv1-dev"]


def test_others_go_through_sudo_without_a_prompt(tmp_path):
    status, _, calls = Machine(tmp_path, missing=("gcc",), user=1000).run("build")
    assert status == 0
    assert calls == ["sudo -n", "apt-get -q update", "sudo -n",
                     "apt-get -q install -y --no-install-recommends gcc"]


def test_without_root_and_sudo_it_says_what_is_missing(tmp_path):
    machine = Machine(tmp_path, missing=("gcc",), user=1000, sudo=False)
    status, said, calls = machine.run("build")
    assert (status, calls) == (1, [])
    assert "missing: gcc\n" in said


def test_elsewhere_it_prints_the_list_and_fails(tmp_path):
    machine = Machine(tmp_path, apt=False)
    status, said, _ = machine.run("test")
    assert status == 1
    for package in ("meson", "libgnutls28-dev", "python3-pytest", "clang-tidy"):
        assert f" {package}" in said
    assert machine.run("test", SKIP_DEPS="1")[0] == 0


def test_building_needs_no_test_packages(tmp_path):
    machine = Machine(tmp_path, missing=("clang", "libcmocka-dev"))
    assert machine.run("build")[2] == []
    assert machine.run("test")[2][-1].endswith(" clang libcmocka-dev")


def test_a_failed_install_fails(tmp_path):
    machine = Machine(tmp_path, missing=("gcc",))
    machine.stand_in("apt-get", "exit 100")
    assert machine.run("build")[0] == 100


def test_an_unknown_word_is_refused(tmp_path):
    assert Machine(tmp_path).run("everything")[0] == 2


@pytest.mark.skipif(not shutil.which("dpkg-query"), reason="not a Debian system")
def test_every_package_has_a_debian_name():
    machine = {"PATH": os.environ["PATH"]}
    names = subprocess.run(["sh", "-c", f"sed -n '/^build_packages=/,/\"$/p;"
                            f"/^test_packages=/,/\"$/p' {SCRIPT}"],
                           capture_output=True, text=True, env=machine).stdout
    words = [word.strip('"') for word in names.split() if "=" not in word]
    assert len(words) == len(set(words)) > 20
    done = subprocess.run(["dpkg-query", "-W", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
