# SPDX-License-Identifier: Apache-2.0
"""What the tests of forwarders begin with: one daemon, and processors that copy."""
import uuid

import pytest

from lib.daemon import Place
from lib.processor import Processor

COPY = 'cp -r "$PAWL_INPUT" "$PAWL_OUTPUT"'


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def node(home):
    return home.daemon("--slots", "8", "--set", "daemon.grace=500ms").start()


@pytest.fixture
def make(node):
    def one(command=COPY, **fields):
        processor = Processor(node, "f" + uuid.uuid4().hex[:8])
        processor.create(command, **fields)
        return processor
    return one
