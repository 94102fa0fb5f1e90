# SPDX-License-Identifier: Apache-2.0
"""The error-handler job of 000, and on_error=delete, against a real daemon."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for       # noqa: E402
from lib.daemon import Place, files_below # noqa: E402

SECONDS = 120


class Home:
    def __init__(self, place):
        self.path = place.path
        self.node = place.daemon("--slots", "4").start()
        self.api = self.node.api()

    def config(self, **settings):
        answer = self.api.request("PATCH", "/config", settings)
        assert answer.status == 200, answer
        return answer.json()

    def handler(self, type, body, **fields):
        answer = self.api.request("PUT", f"/handlers/{type}",
                                  {"lang": "sh", "body": body, "max_retries": 0, **fields})
        assert answer.status in (200, 201), answer

    def of_type(self, type):
        return self.api.all(type=type)


@pytest.fixture
def home():
    with Place() as place:
        yield Home(place)


def test_each_failed_job_is_reported_once_with_job_and_error(home):
    """S0.17, S0.36: payload {"job", "error"}, for failed and rejected, not for done ones
    and not for those that will be tried again."""
    home.handler("trouble", 'cat >> "$HOME_DIR/reports"', env=[f"HOME_DIR={home.path}"])
    assert home.config(error_handler_job="trouble")["error_handler_job"] == "trouble"
    failed = home.api.add(command=["sh", "-c", "exit 65"], payload="some text", name="One")
    rejected = home.api.add(command=["sh", "-c", "exit 1"], max_retries=1,
                            retry_delay="PT0.1S")
    done = home.api.add(command=["true"])
    for job in (failed, rejected, done):
        home.api.until(job["id"], seconds=SECONDS)
    reports = wait_for(lambda: len(home.of_type("trouble")) == 2 and home.of_type("trouble"),
                       SECONDS)
    by_parent = {report["parent"]: json.loads(report["payload"]) for report in reports}
    assert set(by_parent) == {failed["id"], rejected["id"]}
    told = by_parent[failed["id"]]
    assert told["job"]["id"] == failed["id"] and told["job"]["state"] == "failed"
    assert told["job"]["payload"] == "some text" and told["job"]["name"] == "One"
    assert told["job"]["exitcode"] == 465 and told["error"] == "exit status 65"
    assert by_parent[rejected["id"]]["job"]["state"] == "rejected"
    assert by_parent[rejected["id"]]["job"]["attempt"] == 2
    for report in reports:
        assert home.api.until(report["id"], seconds=SECONDS)["state"] == "done"
    lines = (home.path / "reports").read_text().splitlines()
    assert sorted(json.loads(line)["job"]["id"] for line in lines) == sorted(by_parent)


def test_a_failing_error_handler_is_called_no_more(home):
    """S0.17: not for its own failure, nor for that of a job it added or that follows it."""
    home.handler("child", "exit 65")
    home.handler("trouble", 'echo "J: child|x"; echo "J!: child|y"; exit 65',
                 on_error="child")
    home.config(error_handler_job="trouble")
    home.api.add(command=["sh", "-c", "exit 65"])
    wait_for(lambda: len(home.of_type("child")) == 3, SECONDS)
    for job in home.of_type("child"):
        assert home.api.until(job["id"], seconds=SECONDS)["state"] == "failed"
    # A failure of another job is reported still: so the ones before would have been by now.
    last = home.api.add(command=["sh", "-c", "exit 65"])
    wait_for(lambda: any(report["parent"] == last["id"]
                         for report in home.of_type("trouble")), SECONDS)
    assert len(home.of_type("trouble")) == 2


def test_delete_leaves_no_trace_but_the_report(home):
    """S0.36: 000's literal behaviour; jobs that end well stay."""
    home.handler("trouble", "true")
    home.config(error_handler_job="trouble", on_error="delete")
    failed = home.api.add(command=["sh", "-c", "echo gone; exit 65"])
    done = home.api.add(command=["true"])
    wait_for(lambda: home.api.request("GET", f"/jobs/{failed['id']}").status == 404, SECONDS)
    [report] = wait_for(lambda: home.of_type("trouble"), SECONDS)
    assert json.loads(report["payload"])["job"]["id"] == failed["id"]
    assert home.api.until(done["id"], seconds=SECONDS)["state"] == "done"
    wait_for(lambda: not files_below(home.node.data / "logs", failed["id"]), SECONDS)
    assert home.config(on_error="keep")["on_error"] == "keep"
    kept = home.api.add(command=["sh", "-c", "exit 65"])
    assert home.api.until(kept["id"], seconds=SECONDS)["state"] == "failed"


def test_two_types_that_fail_for_each_other_come_to_an_end(home):
    """on_error chains are at most eight long."""
    home.handler("ping", "exit 65", on_error="pong")
    home.handler("pong", "exit 65", on_error="ping")
    home.api.add(type="ping")
    wait_for(lambda: len(home.of_type("ping") + home.of_type("pong")) == 9, SECONDS)
    for job in home.of_type("ping") + home.of_type("pong"):
        assert home.api.until(job["id"], seconds=SECONDS)["state"] == "failed"
    assert len(home.of_type("ping") + home.of_type("pong")) == 9


def test_settings_that_make_no_sense_are_refused(home):
    for settings in ({"on_error": "burn"}, {"error_handler_job": "no good name"},
                     {"on_error": 1}):
        assert home.api.request("PATCH", "/config", settings).status == 422
