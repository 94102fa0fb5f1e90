# SPDX-License-Identifier: Apache-2.0
"""The database's primary dies under load and a standby takes over, on real servers."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.api import wait_for # noqa: E402
from lib.pg_node import SECONDS, add, count_done, daemon, server, things, until_done # noqa: E402,F401
from lib.postgres import Server # noqa: E402


def test_a_synchronous_standby_loses_nothing(things, place):
    """S1.4: no data is lost on failover: everything acknowledged is there once, on the promoted
    server."""
    primary = server(things)
    things.append(Server())
    standby = things[-1].copy_of(primary, "second").start()
    primary.ask("ALTER SYSTEM SET synchronous_standby_names = 'second'")
    primary.ask("SELECT pg_reload_conf()")
    wait_for(lambda: primary.ask("SELECT count(*) FROM pg_stat_replication"
                                 " WHERE sync_state = 'sync'") == "1", SECONDS, primary.tail,
             pause=0.2)
    node = daemon(things, place, primary.url(standby)).start()
    add(node, 50)
    until_done(primary, 50)
    add(node, 50, ("sleep", "0.1"))
    primary.kill()
    add(node, 50)
    standby.promote()
    until_done(standby, 150)
    assert standby.ask("SELECT count(*) FROM pawl.job") == "150"
    assert standby.ask("SELECT max(attempt) FROM pawl.job") == "1"
    assert "store.went_back" not in node.log_path.read_text()


def test_a_standby_that_was_behind_is_told_again(things, place):
    """Ingestion goes on from the read point of the promoted server."""
    primary = server(things)
    things.append(Server())
    standby = things[-1].copy_of(primary, "second").start()
    node = daemon(things, place, primary.url(standby)).start()
    add(node, 20)
    until_done(primary, 20)
    wait_for(lambda: count_done(standby) == 20, SECONDS, standby.tail, pause=0.2)
    standby.kill() # the rest never reaches it
    add(node, 30)
    until_done(primary, 50)
    primary.kill()
    add(node, 30)
    standby.start().promote()
    until_done(standby, 80)
    assert standby.ask("SELECT count(*) FROM pawl.job") == "80"
    assert "store.went_back" in node.log_path.read_text()
    assert standby.ask("SELECT max(attempt) FROM pawl.job") == "1" # none ran twice
