# SPDX-License-Identifier: Apache-2.0
"""One truth of configuration: what is in force, and where it comes from (F17)."""
import json
import signal

from conftest import run_cli, until


def row(done, key):
    [line] = [line for line in done.text.splitlines() if line.split()[0] == key]
    return line


def test_show_tells_what_is_in_force_and_why(make_daemon, place):
    file = place / "pawl.yaml"
    file.write_text("daemon: { slots: 6, grace: 3s }\n")
    daemon = make_daemon("--config", file)
    shown = daemon.cli("config", "show", "--origin")
    assert "6" in row(shown, "daemon.slots") and "pawl.yaml" in row(shown, "daemon.slots")
    assert "default" in row(shown, "scheduling.keep_done") and "14d" in shown.text
    assert "PT" not in shown.text
    assert "--listen" in row(shown, "daemon.listen")
    # Both names are understood, and there is one value.
    assert daemon.cli("config", "set", "daemon.slots=3").code == 0
    assert daemon.cli("config", "get", "max_concurrent_jobs").text == "3\n"
    assert daemon.cli("config", "get", "daemon.slots").text == "3\n"
    shown = daemon.cli("config", "show", "--origin")
    assert row(shown, "daemon.slots").split()[1] == "3"
    assert "pawl config set max_concurrent_jobs (else 6)" in row(shown, "daemon.slots")
    values = json.loads(daemon.cli("config", "show", "--json").text)
    assert values["daemon.slots"] == {"value": "3", "origin": "pawl config set",
                                      "setting": "max_concurrent_jobs", "configured": "6"}
    # A reload of a value that is hidden says that it changed nothing.
    file.write_text("daemon: { slots: 9, grace: 4s }\n")
    daemon.process.send_signal(signal.SIGHUP)
    until(lambda: "key=daemon.grace" in daemon.log_text(), "the reload")
    [told] = [line for line in daemon.log_text().splitlines()
              if "config.reloaded" in line and "daemon.slots" in line]
    assert "applied=false" in told and "pawl config set max_concurrent_jobs" in told
    [told] = [line for line in daemon.log_text().splitlines() if "key=daemon.grace" in line]
    assert "applied=true" in told
    values = json.loads(daemon.cli("config", "show", "--json").text)
    assert (values["daemon.slots"]["value"], values["daemon.slots"]["configured"]) == ("3", "9")
    assert values["daemon.grace"]["value"] == "PT4S"
    # null gives the file its say again.
    assert daemon.cli("config", "set", "max_concurrent_jobs=null").code == 0
    assert json.loads(daemon.cli("config", "show", "--json").text)["daemon.slots"]["value"] == "9"


def test_without_a_daemon_it_is_what_one_would_have(place):
    done = run_cli(["config", "show", "--data", place / "none"], place)
    assert done.code == 0 and "no daemon answers" in done.errors
    assert row(done, "daemon.slots") and "14d" in row(done, "scheduling.keep_done")
