# SPDX-License-Identifier: Apache-2.0
"""test_howto_cluster - docs/howto/cluster.md from its first command to its last: two PostgreSQL
servers, three nodes, HAProxy, tokens and TLS. The other pages are run by test_docs."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from conftest import clean_env                             # noqa: E402
from lib.daemon import Place, kill, processes_with         # noqa: E402
from test_docs import OWN_TESTS, Shell, page_name, steps_of, what_is_wrong # noqa: E402


@pytest.fixture(name="place")
def fixture_place():
    """Everything that the page starts has the place in its environment, and ends with it."""
    with Place() as place:
        yield place.path
        for pid in processes_with(f"={place.path}/"):
            kill(pid)


@pytest.mark.parametrize("page", OWN_TESTS, ids=page_name)
def test_a_cluster_from_nothing(page, place):
    """S1.1, S1.2: nodes on one store, behind one address; a node and a server are lost."""
    steps = steps_of(page)
    shell = Shell(place, {**clean_env(place), "PAWL_DATA": f"{place}/none",
                          "PGCTLTIMEOUT": "180"})
    wrong = what_is_wrong(page, steps, *shell.run(steps))
    logs = "".join(f"\n--- {log.name}\n{log.read_text(errors='replace')[-1500:]}"
                   for log in sorted((place / "work").glob("*.log")))
    assert not wrong, wrong + logs
