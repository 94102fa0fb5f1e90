# SPDX-License-Identifier: Apache-2.0
"""What notices (of control files and of alert rules) may do: a command is a job like any
other to the machine (H2), a webhook reaches no private address (M3), and nobody's slow
targets hold up those of others (M4)."""
import http.server
import json
import os
import pathlib
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for       # noqa: E402
from lib.daemon import Place       # noqa: E402

SECONDS = 120
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="switching accounts needs root")


@pytest.fixture
def place():
    with Place() as place:
        place.path.chmod(0o755)
        yield place


def start(place, **env):
    users = place.path / "users"
    users.write_text("*: nobody @daemon\n")
    users.chmod(0o644)
    return place.daemon("--slots", "4", env={
        "PAWL_USERS_FILE": str(users), "PATH": "/usr/bin:/bin", **env}).start()


def notify(node, *targets, user="", tenant="default"):
    words = "".join(f'<notify event="end" to="{to}"/>' for to in targets)
    text = (f"<batch-job xmlns=\"urn://batch-master\"><module>/true</module><modules-root>/usr/bin</modules-root>"
            f"{user}{words}</batch-job>")
    answer = node.api().request("POST", f"/jobs?tenant={tenant}", text.encode(),
                                {"Content-Type": "application/xml"})
    assert answer.status == 201, answer
    return answer.json()["id"]


def open_folder(place, name):
    folder = place.path / name
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def whole(path):
    return path.exists() and path.read_text().endswith("over\n")


LOOK = ("(id -un; env; echo fds; ls /proc/self/fd; cat /proc/self/cgroup; "
        "setsid sleep 4321 &amp; echo over) &gt; {}.new; mv {}.new {}")


def check_seen(text):
    assert "topsecret" not in text and "db-password" not in text, text
    assert "PAWL_USERS_FILE" not in text
    shown = text.split("fds\n")[1].split("\n")
    assert [fd for fd in shown if fd.isdigit() and int(fd) > 3] == [], shown # 3 is of ls
    assert not any(b"4321" in cmd for cmd in commands()), "its tree lives on"


def commands():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            yield pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            pass


SECRETS = {"PGPASSWORD": "db-password", "SECRETVAR": "topsecret"}


@needs_root
def test_the_command_of_a_notice_gets_nothing_of_the_daemons(place):
    node = start(place, **SECRETS)
    seen = open_folder(place, "out") / "seen"
    notify(node, "command:" + LOOK.format(seen, seen, seen), user="<user>nobody</user>")
    wait_for(lambda: whole(seen), SECONDS)
    wait_for(lambda: not node.api().get("/notices")["items"], SECONDS)
    assert seen.read_text().startswith("nobody\n")
    check_seen(seen.read_text())


def test_the_command_of_an_alert_gets_nothing_of_the_daemons(place):
    node = start(place, **SECRETS)
    seen = open_folder(place, "out") / "seen"
    command = LOOK.format(seen, seen, seen).replace("&amp;", "&").replace("&gt;", ">")
    rule = {"when": "disk free < 4000000G", "to": f"command:{command}"}
    assert node.api().request("PUT", "/alert-rules/full", rule).status == 201
    wait_for(lambda: whole(seen), SECONDS)
    wait_for(lambda: not node.api().get("/notices")["items"], SECONDS)
    check_seen(seen.read_text())


class Count(http.server.BaseHTTPRequestHandler):
    def do_POST(self): # noqa: N802
        self.server.posts.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_webhook_reaches_no_private_address(place):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Count)
    server.posts = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    node = start(place)
    url = f"http://127.0.0.1:{server.server_port}/hook"
    try:
        notify(node, f"webhook:{url}")
        rule = {"when": "disk free < 4000000G", "to": f"webhook:{url}"}
        assert node.api().request("PUT", "/alert-rules/full", rule).status == 201
        def refused():
            items = node.api().get("/notices")["items"]
            return len(items) == 2 and all("private" in json.dumps(item) for item in items)
        wait_for(refused, SECONDS)
    finally:
        server.shutdown()
        server.server_close()
    assert server.posts == []


def test_slow_notices_of_a_tenant_do_not_hold_up_those_of_another(place):
    node = start(place)
    out = open_folder(place, "out")
    for i in range(8):
        notify(node, f"command:touch {out}/slow; exec sleep 1000", tenant="ta")
    wait_for(lambda: (out / "slow").exists(), SECONDS)
    notify(node, f"command:touch {out}/told", tenant="tb")
    wait_for(lambda: (out / "told").exists(), SECONDS)
    waiting = node.api().get("/notices?tenant=ta")["items"]
    # None of the slow ones had come to its end: they were not waited for.
    assert all(item["tries"] == 0 for item in waiting), waiting
    # Each is given its time, and ended with all it started.
    wait_for(lambda: any("longer than" in (item["error"] or "")
                         for item in node.api().get("/notices?tenant=ta")["items"]), SECONDS)
