# SPDX-License-Identifier: Apache-2.0
"""The audit against a real daemon: every change has its row, and rows outlive crashes."""
import contextlib
import json
import os
import pathlib
import sqlite3
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402

OLD_ROWS = 1300 # more than two steps of purging take


@pytest.fixture(scope="module")
def node():
    with Place() as place:
        yield place.daemon("--slots", "1").start()


def rows(api, **query):
    """All rows, newest first, over as many pages as it takes."""
    found, cursor = [], ""
    while True:
        text = "&".join(f"{name}={value}" for name, value in query.items())
        page = api.get(f"/audit?limit=3&{text}{cursor}")
        found += page["items"]
        if not page["next_cursor"]:
            return found
        cursor = "&cursor=" + page["next_cursor"]


def change(api, method, path, body=None, status=(200, 201, 202), token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer = api.request(method, path, body, headers)
    assert answer.status in status, answer
    return answer.json()


def test_every_change_has_a_row_with_before_and_after(node):
    """Who, from where, what, before, after; refusals and reads have none."""
    api = node.api()
    me = f"uid:{os.geteuid()}"
    change(api, "PUT", "/queues/mail?tenant=t", {"slots": 2})
    change(api, "PUT", "/queues/mail?tenant=t", {"slots": 3})
    change(api, "POST", "/queues/mail/pause?tenant=t", {"reason": "night"})
    change(api, "DELETE", "/queues/mail?tenant=t")
    change(api, "DELETE", "/queues/mail?tenant=t", status=(404,))
    api.get("/queues?tenant=t")
    found = rows(api, kind="queue")
    assert [row["action"] for row in found] == ["delete", "put", "put", "put"], found
    for row in found:
        assert (row["who"], row["from"], row["tenant"], row["target"]) == \
            (me, "unix", "t", "mail")
    deleted, paused, again, first = found
    assert first["before"] is None and first["after"]["slots"] == 2
    assert again["before"]["slots"] == 2 and again["after"]["slots"] == 3
    assert paused["after"]["paused"] is True and paused["before"]["paused"] is False
    assert deleted["before"]["slots"] == 3 and deleted["after"] is None

    change(api, "PUT", "/handlers/mail", {"lang": "sh", "body": "true",
                                          "env": ["KEY=hunter2"]})
    change(api, "PUT", "/schedules/nightly", {"cron": "0 2 * * *", "type": "mail"})
    change(api, "PUT", "/resources/disk", {"kind": "quantity", "quantity": 3})
    change(api, "PATCH", "/config", {"job_stale_interval": "PT40S"})
    change(api, "PUT", "/alert-rules/old", {"when": "oldest(default) > 5m"})
    change(api, "PUT", "/tenants/t", {"segregate_types": True})
    change(api, "POST", "/schedules/nightly/trigger")
    kinds = {(row["kind"], row["action"]): row for row in rows(api)}
    for kind in ("handler", "schedule", "resource", "setting", "alert_rule", "tenant"):
        assert (kind, "put") in kinds, kind
    assert ("schedule", "trigger") in kinds
    assert kinds["setting", "put"]["after"] == {"value": "PT40S"}
    assert "hunter2" not in json.dumps(list(kinds.values()))


def test_who_only_looks_at_processors_leaves_no_row(node, tmp_path):
    api = node.api()
    change(api, "PUT", "/processors/seen", {"command": ["/bin/true"], "dir": str(tmp_path / "seen")})
    change(api, "POST", "/processors/seen/stop-monitor")
    for path in ("/processors", "/processors/seen", "/processors/seen/units/none"):
        assert api.request("GET", path).status in (200, 404)
    for signal in ("status", "identify"):
        assert api.request("POST", f"/processors/seen/{signal}").status == 200
    wait_for(lambda: len(rows(api, kind="processor")) >= 2)
    assert [row["action"] for row in rows(api, kind="processor")] == ["stop-monitor", "put"]



def test_what_is_done_to_jobs_is_told_with_their_states(node):
    api = node.api()
    id = api.add(command=["true"], held=True)["id"]
    change(api, "PATCH", f"/jobs/{id}", {"priority": 9, "payload": "secret words"})
    change(api, "POST", f"/jobs/{id}/cancel")
    change(api, "POST", f"/jobs/{id}/cancel", status=(200, 409))
    found = [row for row in rows(api, target=id)]
    cancelled, patched = found[-2], found[-1]
    assert patched["action"] == "patch" and cancelled["action"] == "cancel"
    assert patched["after"] == {"state": "held", "changed": ["priority", "payload"],
                                "priority": 9}
    assert cancelled["before"] == {"state": "held"}
    assert cancelled["after"] == {"state": "cancelled"}
    assert "secret words" not in json.dumps(found)
    change(api, "POST", "/operations", {"action": "hold", "q": "tag:none"})
    assert rows(api, kind="operation")[0]["after"]["q"] == "tag:none"


def test_tokens_are_named_and_never_their_secrets(node):
    """A token's own changes, jobs that it adds, and its making."""
    api = node.api()
    secret = change(api, "POST", "/tokens", {"name": "ops", "scopes": ["admin"]})["token"]
    tcp = node.tcp()
    change(tcp, "PUT", "/queues/q?tenant=t2", {"slots": 1}, token=secret)
    added = tcp.request("POST", "/jobs", b'{"type":"x"}\n{"type":"x"}\n', {
        "Authorization": f"Bearer {secret}", "Content-Type": "application/x-ndjson"})
    first = added.lines()[0]["id"]
    mine = rows(api, who="token:ops")
    assert [(row["action"], row["kind"]) for row in mine] == [("add", "job"),
                                                              ("put", "queue")]
    assert mine[0]["target"] == first and mine[0]["count"] == 2
    assert all(row["from"].startswith("127.0.0.1:") for row in mine)
    made = rows(api, kind="token")[0]
    assert made["after"]["scopes"] == ["admin"] and secret not in json.dumps(rows(api))
    change(api, "DELETE", "/tokens/ops")
    gone = rows(api, kind="token", action="delete")[0]
    assert gone["before"]["name"] == "ops" and gone["after"] is None


def test_rows_are_durable_with_their_change_and_the_command_line_shows_them():
    """kill -9 right behind the answer."""
    with Place() as place:
        node = place.daemon().start()
        change(node.api(), "PUT", "/queues/q", {"slots": 1})
        node.restart()
        change(node.api(), "PUT", "/queues/q", {"slots": 2})
        found = rows(node.api())
        assert [row["after"]["slots"] for row in found] == [2, 1]
        assert found[0]["before"]["slots"] == 1 # known over the restart
        shown = subprocess.run([program(), "audit", "--kind", "queue", "--server",
                                "unix:" + node.socket()], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, timeout=120)
        assert shown.returncode == 0 and shown.stdout.count(" put ") == 2, shown


def test_old_rows_are_purged_and_newer_ones_stay():
    """Rows of a year ago, more than one step of purging takes: hours that are too old go as
    a whole, and nothing of them is left in the store."""
    with Place() as place:
        store = place.path / "jobs.db"
        node = place.daemon("--set", "audit.keep=PT1H", "--store", f"sqlite:{store}").start()
        change(node.api(), "PUT", "/queues/old", {"slots": 1})
        assert node.stop() == 0
        with contextlib.closing(sqlite3.connect(store)) as file, file:
            (table, value), = file.execute(
                "SELECT kind, value FROM definition WHERE kind LIKE 'audit_hour:%'").fetchall()
            hour = int(table.partition(":")[2]) - 365 * 24
            file.execute("DELETE FROM definition WHERE kind LIKE 'audit%'")
            file.executemany("INSERT INTO definition VALUES(?, '', ?, ?)", [
                ("audit", f"{hour:010}", b"1"),
                *((f"audit_hour:{hour:010}", f"k{n:05}", value) for n in range(OLD_ROWS))])
        node.start()
        change(node.api(), "PUT", "/queues/new", {"slots": 1})

        def kept():
            with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as file:
                return [file.execute(f"SELECT count(*) FROM {name} WHERE kind LIKE 'audit%'"
                                     ).fetchone()[0]
                        for name in ("definition", "definition_change")]

        # The hour and the row of the new one; and no word on what has gone.
        wait_for(lambda: kept() == [2, 0], 120, lambda: str(kept()), pause=0.3)
        assert [row["target"] for row in rows(node.api())] == ["new"]
