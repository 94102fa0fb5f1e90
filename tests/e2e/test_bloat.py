# SPDX-License-Identifier: Apache-2.0
"""The table of live jobs on PostgreSQL stays as small as what is under way; the long form is
tests/prove/bloat."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.bloat import MIB, Waves # noqa: E402
from lib.pg_node import server, things # noqa: E402,F401


def test_what_has_ended_leaves_its_room_to_others(things, place):
    """20,000 jobs go through; nothing holds on to rows that are no more."""
    database = server(things)
    waves = Waves(database, place, 5000)
    things.append(waves)
    waves.start()
    for _ in range(4):
        waves.wave()
        database.ask("VACUUM pawl.job_live") # as the server does by itself, in its time
    assert database.ask("SELECT count(*) FROM pawl.job_live") == "0"
    assert database.ask("SELECT count(*) FROM pawl.job_done") == "20000"
    assert waves.sizes[3] <= 1.5 * max(waves.sizes[:2]) + MIB, waves.sizes
    assert "autovacuum_vacuum_scale_factor=0.05" in database.ask(
        "SELECT reloptions FROM pg_class WHERE oid = 'pawl.job_live'::regclass")
