# SPDX-License-Identifier: Apache-2.0
"""language - where a driver's interpreter or compiler is, or why its tests are skipped."""
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def needs(*programs):
    """Paths of programs; skips the tests if one is not there."""
    found = [shutil.which(name) for name in programs]
    for name, path in zip(programs, found):
        if not path:
            pytest.skip(f"{name} is not installed here (scripts/install-deps test)")
    return found


def driver(name):
    return str(ROOT / "tests/clients" / name)


def build(command, cwd=None, **env):
    """Compiles something; what the compiler said is in the failure."""
    made = subprocess.run(command, cwd=cwd or ROOT, capture_output=True, text=True, timeout=900,
                          env={**os.environ, **env})
    assert made.returncode == 0, made.stdout + made.stderr


def go_env():
    """Nothing is fetched: the client needs nothing but Go. What Go compiles of its own
    library stays below build/, so that the next run is quick."""
    return {"GOCACHE": str(ROOT / "build/go-cache"), "GOFLAGS": "-mod=mod", "GOPROXY": "off",
            "CGO_ENABLED": "0", "GOPATH": str(ROOT / "build/go")}
