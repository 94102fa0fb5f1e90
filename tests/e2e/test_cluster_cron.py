# SPDX-License-Identifier: Apache-2.0
"""test_cluster_cron - schedules of three nodes on one store, while whoever fires them is killed."""
import datetime
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import Broken, NotSent, wait_for # noqa: E402
from lib.cluster import Cluster # noqa: E402
from lib.daemon import Place     # noqa: E402
from lib.nodes import sysid_of   # noqa: E402

PATIENCE = 180 # seconds; a busy machine, sanitizers
KILLS = 2


def ask(nodes, path, method="GET", body=None, statuses=(200,)):
    """Of whichever node answers: one may be gone, and one may find itself lost and begin anew."""
    def answer():
        for daemon in nodes:
            if daemon.process.poll() is not None:
                continue
            try:
                found = daemon.api(PATIENCE).request(method, path, body)
            except (Broken, NotSent):
                continue
            if found.status in statuses:
                return found.json()
        return None

    return wait_for(answer, PATIENCE)


def fired(nodes):
    """The jobs that the schedule gave, without those that are another's double."""
    jobs = ask(nodes, "/jobs?schedule=tick&limit=1000")["items"]
    return [job for job in jobs if not job.get("merged_into")]


def controller(nodes):
    """The node that has the duties; None: no one that lives, for now."""
    owner = ask(nodes, "/controller")["owner"]
    found = [node for node in nodes if owner == sysid_of(node) and node.process.poll() is None]
    return found[0] if found else None


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def fired_by_plan(nodes):
    """As many jobs as planned times, and no more of either while one looks."""
    before = len(fired(nodes))
    for daemon in nodes: # reads once all that it accepted is in the store
        ask([daemon], "/jobs?limit=1")
    shown = ask(nodes, "/schedules/tick")
    planned = int(seconds(shown["last_at"])) - int(seconds(shown["created_at"]))
    return before == planned == len(fired(nodes))


def test_each_planned_time_fires_once_whoever_is_killed(server):
    """Kill -9 of the node with the duties, again and again: from the first
    planned time to the last each gives one job, none two."""
    with Place() as place, Cluster(server.database("cron"), place.path, 3, "--slots", "2",
                                   lease="5s") as nodes:
        daemons = nodes.start().daemons
        ask(daemons, "/schedules/tick", "PUT",
            {"cron": "@every 1s", "missed": "all", "command": ["true"]}, (200, 201))
        for _ in range(KILLS):
            before = len(fired(daemons))
            wait_for(lambda n=before: len(fired(daemons)) > n + 1, PATIENCE)
            holder = wait_for(lambda: controller(daemons), PATIENCE)
            holder.kill()
            others = [daemon for daemon in daemons if daemon is not holder]
            wait_for(lambda d=others, h=holder: controller(d) not in (None, h), PATIENCE)
            after = len(fired(others))
            wait_for(lambda d=others, n=after: len(fired(d)) > n, PATIENCE)
            holder.start() # and brings in what only its journal had
        ask(daemons, "/schedules/tick/pause", "POST")
        # Who has the duties hears of it a moment later; what it then has fired stays so.
        wait_for(lambda: fired_by_plan(daemons), PATIENCE,
                 lambda: f"{ask(daemons, '/schedules/tick')} {fired(daemons)}", pause=0.5)
