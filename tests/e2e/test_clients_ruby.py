# SPDX-License-Identifier: Apache-2.0
"""clients/ruby does what every client must."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from clients.language import driver, needs # noqa: E402
from clients.scenarios import * # noqa: E402,F401,F403


@pytest.fixture(scope="session")
def command():
    return [*needs("ruby"), driver("driver.rb")]
