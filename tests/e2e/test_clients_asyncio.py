# SPDX-License-Identifier: Apache-2.0
"""clients/python does what every client must, with asyncio."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from clients.scenarios import * # noqa: E402,F401,F403


@pytest.fixture(scope="session")
def command():
    return [sys.executable, "-B", str(ROOT / "tests/clients/driver.py"), "asyncio"]
