# SPDX-License-Identifier: Apache-2.0
"""Definitions in the configuration file: applied at the start and at each reload, all or
nothing, shown as declared, gone when they leave the file."""
import os
import pathlib
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402

SECONDS = 120


class Declaring:
    def __init__(self, place):
        self.file = place.path / "pawl.yaml"
        self.write("")
        self.node = place.daemon("--config", str(self.file))

    def write(self, text):
        self.file.write_text(text)

    def reload(self, text, event):
        """SIGHUP, and the log has told one more `event`."""
        before = self.node.log().count(f"event={event} ")
        self.write(text)
        os.kill(self.node.pid, signal.SIGHUP)
        wait_for(lambda: self.node.log().count(f"event={event} ") > before, SECONDS,
                 lambda: f"no {event}:\n{self.node.tail()}")

    def handler(self, type, status=200, tenant="default"):
        return self.node.api().get(f"/handlers/{type}?tenant={tenant}", status)


@pytest.fixture
def declaring():
    with Place() as place:
        yield Declaring(place)


ONE = """
handlers:
  - { name: hello, lang: sh, body: 'echo "R: 200 one"', max_retries: 3, env: [LANG=C] }
  - name: greet
    tenant: acme
    body: |
      read who
      echo "R: 200 hello $who"
"""
TWO = ONE.replace("one", "two")


def test_declared_handlers_are_there_when_the_daemon_is_ready(declaring):
    """S2.79: definitions persist until they leave the file."""
    declaring.write(ONE)
    api = declaring.node.start().api()
    hello = declaring.handler("hello")
    assert hello["declared"] is True and hello["version"] == 1
    assert hello["max_retries"] == 3 and hello["env"] == {"LANG": "C"}
    assert declaring.handler("greet", tenant="acme")["declared"] is True
    declaring.handler("greet", 404)
    done = api.until(api.add(type="greet", payload="you", tenant="acme")["id"],
                     seconds=SECONDS, tenant="acme")
    result = api.request("GET", f"/jobs/{done['id']}/result?tenant=acme")
    assert result.body == b"hello you"
    # A start that finds the same file changes nothing.
    declaring.node.restart()
    assert declaring.handler("hello")["version"] == 1


def test_a_reload_changes_and_removes_them(declaring):
    declaring.write(ONE)
    declaring.node.start()
    declaring.reload(TWO, "config.declared")
    assert wait_for(lambda: declaring.handler("hello")["version"] == 2, SECONDS)
    assert declaring.handler("greet", tenant="acme")["version"] == 1
    declaring.reload("", "config.undeclared")
    wait_for(lambda: declaring.node.api().request("GET", "/handlers/hello").status == 404,
             SECONDS)
    wait_for(lambda: declaring.node.api().request(
        "GET", "/handlers/greet?tenant=acme").status == 404, SECONDS)
    # What has left the file belongs to the API again, and its versions are still there.
    api = declaring.node.api()
    assert api.request("POST", "/handlers/hello/rollback").status == 200
    assert declaring.handler("hello")["declared"] is False


def test_what_left_the_file_between_two_starts_is_gone(declaring):
    declaring.write(ONE)
    declaring.node.start()
    api = declaring.node.api()
    assert api.request("PUT", "/handlers/other", {"body": "true"}).status == 201
    declaring.node.kill()
    declaring.write("")
    declaring.node.start()
    declaring.handler("hello", 404)
    assert declaring.handler("other")["declared"] is False


def test_a_bad_reload_changes_nothing(declaring):
    declaring.write(ONE)
    declaring.node.start()
    declaring.reload(TWO + "  - { name: bad, lang: cobol, body: x }\n", "config.refused")
    assert f"{declaring.file}:9:18: handlers, bad: there is no language 'cobol'" in \
        declaring.node.log()
    assert declaring.handler("hello")["version"] == 1


def test_a_declared_handler_is_changed_in_the_file_only(declaring):
    declaring.write(ONE)
    api = declaring.node.start().api()
    for method, path, body in (("PUT", "", {"body": "false"}), ("DELETE", "", None),
                               ("POST", "/rollback", {"version": 1})):
        answer = api.request(method, f"/handlers/hello{path}", body)
        assert answer.status == 409, answer
        assert answer.json()["code"] == "declared"
    # Its switch may be turned, and stays so over a start.
    assert api.request("POST", "/handlers/hello/disable").status == 200
    declaring.node.restart()
    assert declaring.handler("hello")["enabled"] is False


def test_check_and_show_know_them(declaring):
    declaring.write(ONE)
    env = {**os.environ, "XDG_CONFIG_HOME": str(declaring.file.parent / "x")}
    folder = declaring.file.parent / "x" / "pawl"
    folder.mkdir(parents=True)
    (folder / "pawl.yaml").write_text(ONE)
    shown = subprocess.run([program(), "config", "show", "--origin"], env=env, text=True,
                           capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
    assert f"{folder}/pawl.yaml:3:5" in shown.stdout, shown
    (folder / "pawl.yaml").write_text("handlers:\n  - name: x\n    bodi: y\n")
    checked = subprocess.run([program(), "serve", "--check"], env=env, text=True,
                             capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
    assert checked.returncode == 1
    assert "pawl.yaml:3:5: handlers, x: a handler has no field 'bodi'; did you mean " \
        "'body'?" in checked.stderr
