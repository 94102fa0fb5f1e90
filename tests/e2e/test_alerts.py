# SPDX-License-Identifier: Apache-2.0
"""Alerts of a real daemon: told once when trouble begins, once when it is over, to a real
web server, a command and the log."""
import http.server
import itertools
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place               # noqa: E402

SECONDS = 120


# A webhook of this machine must be allowed, as the URL of a handler must.
LOCAL = ("--set", "http.allow_private=127.0.0.0/8")


class Hook:
    """A web server that keeps what it is told; the first `refusals` get a 503."""

    def __init__(self, refusals=0):
        self.got, self.refused, self.refusals, outer = [], 0, refusals, self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                refuse = outer.refused < outer.refusals
                if refuse:
                    outer.refused += 1
                else:
                    outer.got.append(json.loads(body))
                self.send_response(503 if refuse else 204)
                self.end_headers()

            def log_message(self, *_):
                pass
        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"webhook:http://127.0.0.1:{self.server.server_port}/alert"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def node(home):
    return home.daemon("--slots", "2", *LOCAL).start()


@pytest.fixture
def api(node):
    return node.api()


def put(api, name, status=201, **fields):
    answer = api.request("PUT", f"/alert-rules/{name}", fields)
    assert answer.status == status, answer
    return answer.json()


def delete(api, name):
    assert api.request("DELETE", f"/alert-rules/{name}").status == 200


def notices(api):
    return api.get("/notices")["items"]


def firing(api):
    return {alert["rule"]: alert for alert in api.get("/alerts")["items"]}


def test_a_queue_that_waits_too_long_is_told_once_and_once_when_it_is_over(
        node, api, home):
    """S0.79: trouble is shown and sent: to a webhook, a command and the log."""
    said = home.path / "said"
    with Hook() as hook:
        api.request("PATCH", "/config", {"enabled": False})
        put(api, "old", when="oldest(slow) > 1s",
            to=[hook.url, f"command:cat >> {said}", "log"])
        id = api.add(command=["true"], queue="slow")["id"]
        wait_for(lambda: hook.got, SECONDS)
        alert = firing(api)["old"]
        assert "slow" in alert["detail"] and alert["when"] == "oldest(slow) > 1s"
        first = api.get("/alerts")["items"]
        passes = api.get("/nodes")["items"][0]["passes"]
        wait_for(lambda: api.get("/nodes")["items"][0]["passes"] > passes + 2, SECONDS)
        assert api.get("/alerts")["items"] == first # still the same episode
        api.request("PATCH", "/config", {"enabled": True})
        assert api.until(id, seconds=SECONDS)["state"] == "done"
        wait_for(lambda: len(hook.got) == 2, SECONDS)
        assert [told["status"] for told in hook.got] == ["firing", "cleared"]
        assert {told["alert"] for told in hook.got} == {"old"}
        assert "old" not in firing(api)
        wait_for(lambda: said.exists() and said.read_text().count("\n") == 2, SECONDS)
        for event in ("firing", "cleared"):
            wait_for(lambda event=event: f"event=alert.{event} " in node.log(), SECONDS)
        delete(api, "old")


def test_failures_are_counted_and_a_refusing_webhook_is_tried_again(api):
    with Hook(refusals=2) as hook:
        put(api, "bad", when="failures(flaky) > 2 in 10m", to=hook.url)
        for _ in range(3):
            id = api.add(command=["sh", "-c", "exit 65"], queue="flaky")["id"]
            assert api.until(id, seconds=SECONDS)["state"] == "failed"
        wait_for(lambda: hook.got, SECONDS)
        assert hook.refused == 2 and hook.got[0]["status"] == "firing"
        assert "failed" in firing(api)["bad"]["detail"]
        delete(api, "bad")
        assert "bad" not in firing(api)


def test_a_full_disk_fires_and_a_restart_tells_nothing_twice(home):
    """What was killed between its telling and the note of it tells again (at least once),
    so this one is killed when the notice is gone from the store."""
    with Hook() as hook:
        node = home.daemon(*LOCAL, data=home.path / "again").start()
        put(node.api(), "disk", when="disk free < 4000000G", to=hook.url)
        wait_for(lambda: hook.got and not notices(node.api()), SECONDS)
        since = firing(node.api())["disk"]["since"]
        for leave in (node.kill, node.stop):
            leave()
            node.start()
            assert firing(node.api())["disk"]["since"] == since
            passes = node.api().get("/nodes")["items"][0]["passes"]
            wait_for(lambda: node.api().get("/nodes")["items"][0]["passes"] > passes + 2,
                     SECONDS)
        assert len(hook.got) == 1
        put(node.api(), "disk", 200, when="disk free < 1", to=hook.url)
        wait_for(lambda: len(hook.got) == 2, SECONDS)
        assert hook.got[1]["status"] == "cleared"
        node.stop()


def test_a_missed_schedule_fires_until_one_of_its_times_gives_a_job(home):
    """The daemon was away for some of its times, and since then its job has been in the
    way."""
    gate = home.path / "gate"
    with Hook() as hook:
        node = home.daemon(*LOCAL, data=home.path / "missed").start()
        api = node.api()
        put(api, "late", when="schedule missed", to=hook.url)
        body = f"while [ ! -e {gate} ]; do sleep 0.05; done"
        answer = api.request("PUT", "/schedules/tick",
                             {"cron": "@every 1s", "overlap": "skip", "missed": "skip",
                              "command": ["sh", "-c", body]})
        assert answer.status == 201, answer
        first = wait_for(lambda: api.get("/schedules/tick").get("last_job"), SECONDS)
        api.until(first, {"running"}, seconds=SECONDS)
        node.kill()
        away = time.time()
        wait_for(lambda: time.time() - away > 3, SECONDS) # that is what is to be missed
        node.start()
        alert = wait_for(lambda: firing(node.api()).get("late"), SECONDS)
        assert alert["detail"] == "schedule tick missed a planned time", alert
        wait_for(lambda: hook.got, SECONDS)
        gate.touch()
        wait_for(lambda: not firing(node.api()), SECONDS)
        wait_for(lambda: hook.got[-1]["status"] == "cleared", SECONDS)
        # Told again, at most, is what was not noted yet when the daemon was killed.
        told = [status for status, _ in itertools.groupby(one["status"] for one in hook.got)]
        assert told[:2] == ["firing", "cleared"], hook.got
        node.stop()


def test_what_was_not_told_is_told_after_kill_9(home):
    """S0.79: the notice is in the store from the moment the alert fires; tries are
    counted over the restart, and it goes when it has arrived."""
    with Hook(refusals=10**9) as hook:
        node = home.daemon(*LOCAL, data=home.path / "owed").start()
        put(node.api(), "disk", when="disk free < 4000000G", to=[hook.url, "log"])
        [notice] = wait_for(lambda: [one for one in notices(node.api()) if one["tries"]],
                            SECONDS)
        assert notice["to"] == hook.url and notice["state"] == "waiting"
        assert notice["body"]["alert"] == "disk" and "503" in notice["error"]
        assert notice["next_try_at"] > notice["created_at"]
        node.restart()
        [again] = notices(node.api())
        assert again["id"] == notice["id"] and again["tries"] >= notice["tries"]
        hook.refusals = 0
        wait_for(lambda: hook.got, 2 * SECONDS)
        assert hook.got[0]["status"] == "firing"
        wait_for(lambda: not notices(node.api()), SECONDS)
        assert len(hook.got) == 1
        assert "event=announce.failed " in node.log()
        node.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_disk_that_fills_fires_and_clears(home):
    """On a small file system of its own."""
    path = home.path / "small"
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m", "tmpfs", path],
                             check=False)
    if mounted.returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        node = home.daemon(*LOCAL, data=path / "d").start()
        put(node.api(), "full", when="disk free < 32M")
        with open(path / "ballast", "wb") as file:
            disk = os.statvfs(path)
            os.posix_fallocate(file.fileno(), 0, disk.f_bavail * disk.f_frsize - (16 << 20))
        alert = wait_for(lambda: firing(node.api()).get("full"), SECONDS)
        assert "MiB are free in" in alert["detail"]
        os.unlink(path / "ballast")
        wait_for(lambda: not firing(node.api()), SECONDS)
        wait_for(lambda: "event=alert.cleared " in node.log(), SECONDS)
        node.cleanup()
    finally:
        wait_for(lambda: subprocess.run(["umount", path], check=False,
                                        capture_output=True).returncode == 0, SECONDS)


def test_rules_are_shown_refused_and_declared(api, home):
    put(api, "lost", when="node lost")
    shown = api.get("/alert-rules/lost")
    assert shown["to"] == ["log"] and not shown["declared"]
    assert "lost" in [rule["name"] for rule in api.get("/alert-rules")["items"]]
    delete(api, "lost")
    assert api.request("DELETE", "/alert-rules/lost").status == 404
    assert api.request("GET", "/alert-rules/lost").json()["code"] == "alert_rule_not_found"
    for bad in ({"when": "moon full"}, {"when": "node lost", "to": "mail:me"},
                {"when": "node lost", "tto": "log"}, {}):
        assert api.request("PUT", "/alert-rules/bad", bad).status == 422
    file = home.path / "alerts.yaml"
    file.write_text('alerts:\n  - { name: old, when: "oldest(default) > 5m", to: log }\n')
    node = home.daemon("--config", str(file), data=home.path / "declared").start()
    assert node.api().get("/alert-rules/old")["declared"]
    answer = node.api().request("PUT", "/alert-rules/old", {"when": "node lost"})
    assert answer.status == 409 and answer.json()["code"] == "declared"
    node.stop()
