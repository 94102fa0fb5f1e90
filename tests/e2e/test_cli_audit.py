# SPDX-License-Identifier: Apache-2.0
"""The audit tells a delete as a delete, and does not take a slip for silence (F16)."""


def test_a_deleted_handler_is_a_delete(daemon):
    assert daemon.cli("handler", "set", "hx", "--lang", "sh", "true").code == 0
    assert daemon.cli("handler", "rm", "hx").code == 0
    [row] = daemon.http("GET", "/api/v1/audit?kind=handler&action=delete").json["items"]
    assert row["target"] == "hx" and row["after"] is None and row["before"]["lang"] == "sh"
    assert daemon.cli("handler", "rollback", "hx").code == 0
    newest = daemon.http("GET", "/api/v1/audit?kind=handler").json["items"][0]
    assert newest["action"] == "put" and newest["after"]["lang"] == "sh"
    shown = daemon.cli("audit", "--action", "delete", "--kind", "handler")
    assert shown.code == 0 and "hx" in shown.text


def test_a_word_that_no_row_has_is_refused(daemon):
    for filters, nearest in ((("--kind", "handlr"), "handler"), (("--action", "canel"), "cancel"),
                             (("--action", "dlete"), "delete")):
        done = daemon.cli("audit", *filters)
        assert done.code == 2 and f"did you mean '{nearest}'?" in done.errors, done.errors
    for filters in (("--kind", "queue"), ("--kind", "job"), ("--action", "re-process-all"),
                    ("--action", "patch"), ("--who", "uid:4711")):
        assert daemon.cli("audit", *filters).code == 0


def test_a_row_fits_a_line(daemon):
    """25: the last column held whole JSON objects."""
    body = "echo " + "x" * 900
    assert daemon.cli("handler", "set", "long", "--lang", "sh", body).code == 0
    assert all(len(line) < 200 for line in daemon.cli("audit").text.splitlines())
    assert body in daemon.cli("audit", "--json").text
