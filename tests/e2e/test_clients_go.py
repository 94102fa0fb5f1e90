# SPDX-License-Identifier: Apache-2.0
"""clients/go does what every client must."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from clients.language import ROOT, build, driver, go_env, needs # noqa: E402
from clients.scenarios import * # noqa: E402,F401,F403


@pytest.fixture(scope="session")
def command(tmp_path_factory):
    go, = needs("go")
    made = tmp_path_factory.mktemp("go") / "driver"
    build([go, "vet", "./..."], ROOT / "clients/go", **go_env())
    build([go, "build", "-o", str(made), "."], driver("go"), **go_env())
    return [str(made)]
