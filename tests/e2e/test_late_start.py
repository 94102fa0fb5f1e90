# SPDX-License-Identifier: Apache-2.0
"""test_late_start - a job that cannot begin because its node does not get it from the store,
until the lease of the node is over: that attempt is lost, and must not begin afterwards."""
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for # noqa: E402
from lib.daemon import Place # noqa: E402
from lib.fault_proxy import FaultProxy # noqa: E402
from lib.postgres import Server # noqa: E402

PATIENCE = 180
LEASE = 8             # seconds
LARGE = "x" * 2000000 # more than a node keeps of jobs that wait
SCRIPT = "cat > /dev/null; echo $PAWL_JOB_ID $PAWL_ATTEMPT >> {ran}; until [ -e {go} ]; do sleep 0.1; done"


def test_an_attempt_that_was_given_up_does_not_begin_later(place):
    """S1.4: the store answers late, when the attempt is lost: the next one runs, alone."""
    server, proxy, spot = Server(), FaultProxy(), Place(place)
    try:
        server.make().start()
        port = proxy.open("way", server.home / ".s.PGSQL.5432")
        node = spot.daemon("--slots", "1", "--set", f"scheduling.lease={LEASE}s", "--store",
                           f"postgresql://pawl@127.0.0.1:{port}/postgres").start()
        ran, go = place / "ran", place / "go"
        job = {"command": ["sh", "-c", SCRIPT.format(ran=ran, go=go)], "payload": LARGE}
        api = node.api(PATIENCE)
        first, second = (api.add_soon(**job)["id"] for _ in range(2))
        wait_for(lambda: ran.exists() and first in ran.read_text(), PATIENCE, node.tail)
        wait_for(lambda: server.ask("SELECT count(*) FROM pawl.job") == "2", PATIENCE)
        proxy.hold("way")
        go.touch() # the first ends, and the second takes its slot
        # On a machine that is too slow it was not begun before the node stopped beginning any.
        until = time.monotonic() + 4 * LEASE
        wait_for(lambda: given_up(node, second) or time.monotonic() > until, pause=0.1)
        lost = given_up(node, second)
        proxy.pass_("way")
        wait_for(lambda: done(server, second), PATIENCE, node.tail, pause=0.2)
        attempts = [line.split()[1] for line in ran.read_text().splitlines()
                    if line.startswith(second)]
        assert attempts and not set(lost) & set(attempts), (lost, attempts)
    finally:
        for daemon in spot.daemons:
            daemon.cleanup()
        server.cleanup()
        proxy.cleanup()


def given_up(node, id):
    """Numbers of the attempts that were lost."""
    return re.findall(rf"event=job.finished job={id} .*attempt=(\d+) state=ready", node.log())


def done(server, id):
    return server.ask(f"SELECT count(*) FROM pawl.job WHERE id = '{id}' AND state = 'done'") == "1"
