# SPDX-License-Identifier: Apache-2.0
"""Clients of every kind at once: the threads of the daemon meet wherever they can, and it
ends in good order in the middle of it. `make test` runs this file once more with a daemon
that the thread sanitizer watches.

PAWL_CROWD_ROUNDS makes more of it, PAWL_CROWD_SEED something else."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.cluster import Cluster # noqa: E402
from lib.crowd import OPTIONS, Crowd    # noqa: E402
from lib.daemon import Place            # noqa: E402

ROUNDS = int(os.environ.get("PAWL_CROWD_ROUNDS", "10"))
SEED = int(os.environ.get("PAWL_CROWD_SEED", "1"))


@pytest.fixture(name="place")
def fixture_place():
    with Place() as place:
        yield place


def config(place):
    """SIGHUP reads it again: so there is something to read."""
    file = place.path / "pawl.yaml"
    file.write_text("handlers:\n  - { name: declared, lang: sh, body: cat }\n")
    return ("--config", str(file))


def test_everybody_at_once(place):
    node = place.daemon(*OPTIONS, *config(place)).start()
    crowd = Crowd([node], ROUNDS, SEED).prepare()
    crowd.run()
    assert crowd.stop() == [0], node.tail()


def test_everybody_at_once_on_two_nodes(place, server):
    with Cluster(server.database("crowd"), place.path, 2, *OPTIONS, *config(place)) as nodes:
        crowd = Crowd(list(nodes.start().daemons), ROUNDS, SEED).prepare()
        crowd.run()
        assert crowd.stop() == [0, 0], "\n".join(node.tail() for node in nodes.daemons)
