# SPDX-License-Identifier: Apache-2.0
"""configure calls meson only when something has changed. Meson is a stand-in here."""
import pathlib
import shutil
import subprocess

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/configure"
MESON = """#!/bin/sh
[ ! -e ../broken ] || { echo the reason; exit 1; }
echo "$CC $*" >>../log
for directory; do :; done
mkdir -p "$directory/meson-private" && touch "$directory/build.ninja"
"""


@pytest.fixture
def configure(tmp_path):
    tree = tmp_path / "tree"
    (tree / "scripts").mkdir(parents=True)
    (tree / "src").mkdir()
    shutil.copy(SCRIPT, tree / "scripts")
    meson = tmp_path / "meson"
    meson.write_text(MESON)
    meson.chmod(0o755)

    def run(*words):
        """Returns (exit status, what meson was called with, what was said)."""
        log = tmp_path / "log"
        log.write_text("")
        done = subprocess.run([tree / "scripts/configure", *words], text=True,
                              capture_output=True,
                              env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
        return done.returncode, log.read_text().splitlines(), done.stdout + done.stderr

    run.tree = tree
    run.broken = tmp_path / "broken"
    return run


def test_once_is_enough(configure):
    assert configure("release")[1] == ["gcc setup -Dtests=false build/release"]
    assert configure("release") == (0, [], "")


def test_a_new_file_is_noticed(configure):
    configure("release")
    (configure.tree / "src/new.c").touch()
    assert configure("release")[1] == ["gcc setup --reconfigure -Dtests=false build/release"]
    assert configure("release")[1] == []


def test_new_options_start_afresh(configure):
    configure("asan", "build/mine")
    left = configure.tree / "build/mine/meson-private/options"
    left.touch()
    assert configure("release", "build/mine")[1] == ["gcc setup -Dtests=false build/mine"]
    assert not left.exists()


def test_the_thread_sanitizer_is_a_profile(configure):
    [called] = configure("tsan")[1]
    assert "-Db_sanitize=thread" in called and called.endswith(" build/tsan")


def test_a_failure_is_shown_and_tried_again(configure):
    configure.broken.touch()
    status, _, said = configure("clang")
    assert status == 1
    assert "the reason" in said
    configure.broken.unlink()
    assert len(configure("clang")[1]) == 1


def test_an_unknown_profile_is_refused(configure):
    assert configure("fast")[0] == 2
