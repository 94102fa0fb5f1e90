# SPDX-License-Identifier: Apache-2.0
"""pawl doctor: what is dangerous in the store's server, and what is open to others."""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.api import wait_for # noqa: E402
from lib.daemon import Daemon, program # noqa: E402
from lib.pg_node import SECONDS, daemon, things # noqa: E402,F401
from lib.pooler import Pooler # noqa: E402
from lib.postgres import Server # noqa: E402
from lib.tls import certificate, tls_options # noqa: E402

STORE = ("version", "schema", "fsync", "pages", "commit", "standby", "clock", "connections")


def doctor(node, *words):
    """Its exit code, and each check by its name."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PAWL_")}
    done = subprocess.run([program(), "doctor", "--data", str(node.data), "--json", *words],
                          env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
    assert done.stderr == b"", done
    told = json.loads(done.stdout)
    checks = {check["check"]: check for check in told["checks"]}
    assert len(checks) == len(told["checks"]), told
    for check in checks.values():
        assert (check["status"] == "ok") == (check["fix"] is None) == (check["why"] is None)
    counts = [sum(check["status"] == status for check in checks.values())
              for status in ("warning", "bad")]
    assert [told["warnings"], told["bad"]] == counts
    return done.returncode, checks


def not_good(checks):
    """Of the store's checks those that are not well, with their status."""
    return {name: check["status"] for name, check in checks.items()
            if name.startswith("store") and check["status"] != "ok"}


def set_all(database, **settings):
    """For the whole server; back when new sessions have them."""
    for name, value in settings.items():
        database.ask(f"ALTER SYSTEM SET {name} = '{value}'")
    database.ask("SELECT pg_reload_conf()")
    wait_for(lambda: all(database.ask(f"SHOW {name}") == value
                         for name, value in settings.items()), SECONDS, database.tail)


def test_a_server_that_endangers_jobs_is_told(things, place):
    """On a real server: well but for a standby; then each setting that endangers what was
    acknowledged; a pooler; a standby that never comes; no server at all."""
    things.append(Server(durable=True))
    database = things[-1].make().start()
    # The server asks for no password, but everyone sees this one in the list of processes.
    url = database.url().replace("postgresql://", "postgresql://pawl:hush@")
    node = daemon(things, place, url).start()
    code, checks = doctor(node)
    assert checks["password"]["status"] == "warning" and "hush" not in str(checks), checks
    assert code == 0 and not_good(checks) == {"store-standby": "warning"}, checks
    assert {f"store-{name}" for name in STORE} <= set(checks)
    assert "PostgreSQL 15." in checks["store-version"]["text"]

    set_all(database, fsync="off", full_page_writes="off", synchronous_commit="off")
    database.ask("ALTER DATABASE postgres CONNECTION LIMIT 7")
    code, checks = doctor(node)
    assert code == 1 and not_good(checks) == {
        "store-fsync": "bad", "store-pages": "bad", "store-commit": "bad",
        "store-standby": "warning", "store-connections": "warning"}, checks
    assert "fsync = on" in checks["store-fsync"]["fix"]
    assert "store-pooler" not in checks

    set_all(database, fsync="on", full_page_writes="on", synchronous_commit="on")
    things.append(Pooler(database))
    code, checks = doctor(node, "--store", things[-1].start().url())
    assert code == 0 and "pgbouncer" in checks["store-pooler"]["text"], checks

    assert node.stop() == 0
    set_all(database, synchronous_standby_names="nobody")
    code, checks = doctor(node, "--store", database.url())
    assert code == 1 and checks["store-standby"]["status"] == "bad", checks
    database.kill()
    code, checks = doctor(node, "--store", database.url())
    assert code == 1 and not_good(checks) == {"store": "bad"}, checks


def test_what_others_may_reach_and_read_is_told(things, place):
    """Addresses, keys, tokens, passwords on command lines, the directory."""
    cert, key = certificate(place, "one")
    things.append(Daemon(place / "data", *tls_options(cert.name, key.name)))
    node = things[-1]
    node.prefix = ["env", "-C", str(place)] # names of files count from where it was started
    node.start()
    secret = place / "token"
    secret.write_text(node.api().request("POST", "/tokens", {
        "name": "doctor", "scopes": ["admin"]}).json()["token"] + "\n")
    secret.chmod(0o600)
    key.chmod(0o600)
    words = ["--token-file", str(secret)]
    code, checks = doctor(node, *words)
    assert code == 0 and checks["listen"]["status"] == "ok", checks
    assert "127.0.0.1" in checks["listen"]["text"] and "TLS" in checks["listen"]["text"]
    assert checks["key"]["status"] == checks["data"]["status"] == "ok", checks
    assert checks["token"]["status"] == "ok", checks
    assert checks["tls"]["status"] == "warning" # it ends in two days

    key.chmod(0o644)
    secret.chmod(0o640)
    node.data.chmod(0o755)
    code, checks = doctor(node, *words)
    assert code == 0, checks
    for name in ("key", "token", "data"):
        assert checks[name]["status"] == "warning" and "chmod" in checks[name]["fix"], checks
    cert.write_text("no certificate")
    code, checks = doctor(node, *words)
    assert code == 1 and checks["tls"]["status"] == "bad", checks


def test_a_wrong_configuration_is_told(things, place):
    """Of a daemon that does not run: as one would be started here."""
    things.append(Daemon(place / "data"))
    node = things[-1].start()
    assert node.stop() == 0
    folder = place / "pawl"
    folder.mkdir()
    (folder / "pawl.yaml").write_text("daemon: { listen: '0.0.0.0:0' }\n")
    os.environ["XDG_CONFIG_HOME"] = str(place)
    try:
        code, checks = doctor(node)
    finally:
        del os.environ["XDG_CONFIG_HOME"]
    assert code == 1 and "needs TLS" in checks["config"]["text"], checks
