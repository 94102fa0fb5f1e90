# SPDX-License-Identifier: Apache-2.0
"""test_web - the dashboard in a real browser (S0.72, S0.75 to S0.78, S0.80, S0.81).

The scenarios are JavaScript, in tests/web; here are the daemons, and what is in them.
Skipped where Node, its packages or Chromium are not there: scripts/install-deps test and
scripts/web-deps test bring them.
"""
import json
import pathlib
import shutil
import subprocess

import pytest

from conftest import SECONDS, until

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CHROMIUM = shutil.which("chromium")
NODE = shutil.which("node") or shutil.which("nodejs")
PACKAGES = ROOT / "web/node_modules/playwright-core"

pytestmark = pytest.mark.skipif(not (CHROMIUM and NODE and PACKAGES.exists()),
                                reason="no Chromium, Node or packages")

RUN_SECONDS = 600


def scenario(daemon, name, told=None, **given):
    """Runs a scenario; `told` does what it asks for."""
    given = {"url": f"{daemon.url}/ui/", "chromium": CHROMIUM, **given}
    process = subprocess.Popen([NODE, ROOT / f"tests/web/{name}.mjs", json.dumps(given)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            if line.startswith("tell "):
                told[line.split()[1]]()
                process.stdin.write("done\n")
                process.stdin.flush()
        _, errors = process.communicate(timeout=RUN_SECONDS)
    finally:
        process.kill()
        process.wait(SECONDS)
    assert process.returncode == 0, errors


def add(daemon, **job):
    answer = daemon.http("POST", "/api/v1/jobs", job)
    assert answer.status == 201, answer
    return answer.json["id"]


def until_state(daemon, job, state):
    until(lambda: daemon.http("GET", f"/api/v1/jobs/{job}").json["state"] == state,
          f"{job} is {state}")


def handler(daemon, name, **fields):
    answer = daemon.http("PUT", f"/api/v1/handlers/{name}", {"lang": "sh", **fields})
    assert answer.status in (200, 201), answer


@pytest.fixture
def shop(make_daemon):
    """A daemon with something of everything, and what a browser needs to find it."""
    daemon = make_daemon("--slots", "6")
    handler(daemon, "echo", body="cat")
    handler(daemon, "again", body="echo 'R: 400 broken on purpose'")
    handler(daemon, "parent", body="echo 'J: echo|of the parent'")
    failed = [add(daemon, type="again", name=f"again {i}", tags=["a"]) for i in range(3)]
    for job in failed:
        until_state(daemon, job, "failed")
    parent = add(daemon, type="parent", name="a parent")
    until_state(daemon, parent, "done")
    children = until(lambda: daemon.http(
        "GET", f"/api/v1/jobs?parent={parent}").json["items"], "the child")
    running = add(daemon, command=["sleep", "600"], name="sleeps", queue="slow")
    until_state(daemon, running, "running")
    add(daemon, type="echo", payload='{"a":[1,2,{"b":null}]}', name="later", delay="1h")
    add(daemon, type="echo", held=True, name="held", queue="steady", priority=2)
    add(daemon, type="echo", held=True, name="held too", queue="steady")
    add(daemon, type="none.such", name="blocked")
    daemon.http("PUT", "/api/v1/queues/odd%2Fname", {"slots": 2, "rate": "5/s"})
    daemon.http("POST", "/api/v1/queues/odd%2Fname/pause", {"reason": "for the test"})
    add(daemon, type="echo", group="family", name="of a family")
    for path, body in {"schedules/nightly": {"cron": "30 2 * * 1-5", "type": "echo"},
                       "resources/gpu": {"quantity": 2},
                       "resources/seats": {"kind": "discrete", "list": ["a", "b"]},
                       "alert-rules/old": {"when": "oldest(default) > 5m"},
                       "tenants/acme": {"max_running": 2}}.items():
        answer = daemon.http("PUT", f"/api/v1/{path}", body)
        assert answer.status in (200, 201), answer
    daemon.given = {"failed": failed[0], "group": "family", "running": running, "child": children[0]["id"],
                    "queue": "steady", "paused": "odd/name"}
    return daemon


def test_every_text_is_there_in_every_language():
    done = subprocess.run([NODE, ROOT / "tests/web/texts.mjs"], capture_output=True, text=True,
                          timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr


def test_every_page_opens_without_errors_and_can_be_used_by_all(shop):
    """S0.72, S0.76, S0.77, S0.80, S0.81"""
    scenario(shop, "pages", **shop.given)


def test_each_action_does_what_it_says(shop, place):
    """S0.75, S0.78"""
    talk = place / "talk"
    talks = add(shop, command=["sh", "-c", f"echo line 1; until test -e {talk}; do sleep 0.1; done;"
                               " printf '\\033[31min red\\033[0m\\nsaid later\\n'; sleep 600"])
    until_state(shop, talks, "running")

    def mend():
        handler(shop, "again", body="true")
    scenario(shop, "actions", {"say": talk.touch, "mend": mend}, talks=talks, **shop.given)


HOSTILE = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\"><svg onload=alert(1)>",
           "javascript:alert(1)", "{{7*7}} ${7*7}", "‮gnp.exe", "⁦⁧mixed⁩",
           "a​b﻿c", "\u0001\u0008\u001b[31m", "</textarea><iframe src=//x>", "&lt;b&gt;", "'; DROP TABLE jobs; --",
           "%00%0a%3Cscript%3E", "\U0001f4a9" * 40, "x" * 250]


def test_text_of_strangers_stays_text(daemon):
    handler(daemon, "says", body="cat; echo '<b>out</b>' >&2; echo 'R: 400 <i>wrong</i>'")
    jobs = []
    for text in HOSTILE:
        printable = "".join(c for c in text if c >= " ") # others are refused in names and tags
        jobs.append(add(daemon, type="says", name=printable[:60], payload=text * 3,
                        tags=["hostile", printable[:20].replace(",", "")], queue="hostile"))
    printed = "printf '<script>alert(1)</script>\\n<img src=x onerror=alert(1)>\\n\\033]0;title\\007'; exit 1"
    jobs.append(add(daemon, command=["sh", "-c", printed], name=HOSTILE[1], tags=["hostile"],
                    env={"A": HOSTILE[0]}, cwd="/tmp"))
    long = add(daemon, command=["sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x"],
               payload="y" * 1000000, name="long")
    for job in [*jobs, long]:
        until(lambda job=job: daemon.http("GET", f"/api/v1/jobs/{job}").json["finished_at"],
              f"{job} has ended")
    scenario(daemon, "hostile", jobs=jobs, long=long)


def test_a_token_that_reads_changes_nothing(daemon):
    job = add(daemon, command=["sleep", "600"], name="a job to look at")
    until_state(daemon, job, "running")
    made = daemon.http("POST", "/api/v1/tokens", {"name": "look", "scopes": ["read"]}, over="unix")
    assert made.status == 201, made
    scenario(daemon, "access", job=job, shown="a job to look at", token=made.json["token"])
    assert daemon.http("GET", f"/api/v1/jobs/{job}", over="unix").json["state"] == "running"


def test_a_restart_is_survived_calmly(daemon):
    add(daemon, command=["true"], name="before the restart")
    port = daemon.address.rsplit(":", 1)[1]

    def start():
        daemon.options += ["--listen", f"127.0.0.1:{port}"]
        daemon.start()
    scenario(daemon, "restart", {
        "kill": daemon.kill9, "start": start,
        "add": lambda: add(daemon, command=["true"], name="after the restart")},
        shown="before the restart")
