# SPDX-License-Identifier: Apache-2.0
"""002's analytics live on the log: one line when a job enters, runs and completes. And the
first program's own paths, where they are asked for."""
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402

SECONDS = 120
ROOT = pathlib.Path(__file__).resolve().parents[2]


def lines_of(node, event, job):
    return [line for line in node.log().splitlines()
            if f"event={event} " in line and f"job={job}" in line]


def fields_of(line):
    return dict(word.partition("=")[::2] for word in shlex.split(line) if "=" in word)


def test_entering_running_and_completing_are_one_line_each():
    """S2.11, S2.12, S2.10: and the version that is part of a type's name is in them."""
    with Place() as place:
        node = place.daemon("--slots", "2").start()
        api = node.api()
        for type, body in (("mail.v1", "true"), ("mail.v2", "exit 65")):
            assert api.request("PUT", f"/handlers/{type}?tenant=acme",
                               {"lang": "sh", "body": body}).status == 201
        ids = [api.add(type=type, tenant="acme", payload="secret words")["id"]
               for type in ("mail.v1", "mail.v2")]
        for id in ids:
            api.until(id, seconds=SECONDS, tenant="acme")
        for id, type, code in zip(ids, ("mail.v1", "mail.v2"), ("ok", "failed")):
            for event in ("job.added", "job.started", "job.finished"):
                found = wait_for(lambda: lines_of(node, event, id), SECONDS, node.tail)
                assert len(found) == 1, found
                fields = fields_of(found[0])
                assert fields["type"] == type and fields["tenant"] == "acme"
                assert fields["queue"] == "default"
                if event == "job.finished":
                    assert fields["code"] == code and int(fields["dur_ms"]) >= 0
        assert "secret words" not in node.log()
        report = analytics(node)
        assert re.search(r"mail\.v1 +1 +0 +0 +0 ", report), report
        assert re.search(r"mail\.v2 +0 +1 +0 +0 ", report), report


def analytics(node):
    """What the page's own example makes of the log."""
    page = (ROOT / "docs/howto/analytics.md").read_text()
    script, = re.findall(r"```awk\n(.*?)```", page, re.S)
    done = subprocess.run(["awk", script, str(node.log_path)], capture_output=True,
                          text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


@pytest.fixture
def legacy():
    with Place() as place:
        yield place.daemon("--set", "daemon.legacy=on", "--slots", "1")


def test_the_first_programs_paths(legacy):
    """B2.2: POST /add, /start, /stop, /quit; comments and empty lines are no payloads."""
    node = legacy.start()
    api = node.api()
    assert api.request("GET", "//stop").body == b"OK\n"
    assert api.get("/config")["enabled"] is False
    added = api.request("POST", "//add?client=acme&jobtype=run.it",
                        b"one\n#no\n\ntwo\n").json()
    assert added["ok"] is True and added["count"] == 2
    jobs = [api.job(id, tenant="acme") for id in added["ids"]]
    assert [(job["tenant"], job["type"], job["payload"]) for job in jobs] == [
        ("acme", "run.it", "one"), ("acme", "run.it", "two")]
    for query in ("", "client=acme", "jobtype=x", "client=ui&jobtype=x"):
        assert api.request("POST", f"//add?{query}", b"x\n").status == 422
    assert api.request("GET", "//start").body == b"OK\n"
    assert api.get("/config")["enabled"] is True
    assert api.request("GET", "//quit").body == b"OK\n"
    assert node.process.wait(SECONDS) == 0


def test_they_are_off_otherwise():
    with Place() as place:
        api = place.daemon().start().api()
        for path in ("start", "stop", "quit"):
            assert api.request("GET", f"//{path}").status == 404
        assert api.request("POST", "//add?client=a&jobtype=b", b"x\n").status == 404
        assert api.request("GET", "/readyz").status == 200
