# SPDX-License-Identifier: Apache-2.0
"""prove shares its time out, runs every program, and fails if one does."""
import pathlib
import shutil
import subprocess

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/prove"


def prove(root, seconds, **programs):
    (root / "scripts").mkdir()
    (root / "tests/prove").mkdir(parents=True)
    (root / "tests/prove/README").write_text("not a program\n")
    shutil.copy(SCRIPT, root / "scripts")
    for name, line in programs.items():
        path = root / "tests/prove" / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
    done = subprocess.run([root / "scripts/prove"], capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", "PROVE_SECONDS": str(seconds),
                               "PAWL_BIN": "/bin/true"})
    return done.returncode, done.stdout


def test_each_program_gets_its_share(tmp_path):
    status, said = prove(tmp_path, 100, one='echo "I have $PROVE_SECONDS"', two="$PAWL_BIN")
    assert "I have 50\n" in said
    assert said.endswith("\n2 passed, 0 failed\n")
    assert status == 0


def test_one_failure_fails_all_but_the_rest_still_runs(tmp_path):
    status, said = prove(tmp_path, 10, one="exit 3", two="echo ran")
    assert "\nran\n" in said
    assert said.endswith("\n1 passed, 1 failed\n")
    assert status == 1


def test_nothing_to_prove_is_no_failure(tmp_path):
    assert prove(tmp_path, 10) == (0, "prove: tests/prove is empty\n0 passed, 0 failed\n")
