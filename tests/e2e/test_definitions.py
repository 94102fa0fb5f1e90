# SPDX-License-Identifier: Apache-2.0
"""What is defined under a name: one way to list, get, put, patch and delete all of it.

A PATCH changes what it names and leaves the rest, for every kind; the command line's `set`
is a PATCH, its `add` refuses a name that is there.
"""
import json

import pytest

API = "/api/v1"

# kind, name, a whole definition, a field to change, and its new value
KINDS = [
    ("queues", "mail", {"slots": 2, "policy": "skip", "rate": "5/s"}, "slots", 7),
    ("resources", "gpu", {"quantity": 2, "consumption": 1}, "scope", "cluster"),
    ("schedules", "nightly", {"cron": "@daily", "tz": "Europe/Paris", "type": "etl", "overlap": "skip",
                              "tags": ["a"], "payload": "x"}, "cron", "@hourly"),
    ("tenants", "acme", {"max_queued": 10, "segregate_types": True}, "max_running", 3),
    ("handlers", "resize", {"body": "cat", "queue": "mail", "max_retries": 4, "env": {"A": "b"}},
     "max_run_time", "PT1M"),
    ("alert-rules", "late", {"when": "oldest(mail) > 5m", "to": ["log"]}, "when", "node lost"),
]
IDS = [kind[0] for kind in KINDS]

# Fields that say how far it has come, not what was set.
MOVING = {"version", "created_at", "id", "next_at", "planned_at", "in_use", "free", "jobs"}


class Desk:
    """A daemon, in the words of the API."""

    def __init__(self, daemon):
        self.daemon = daemon

    def get(self, path):
        return self.daemon.http("GET", path)

    def put(self, path, body, **options):
        return self.daemon.http("PUT", path, body, **options)

    def patch(self, path, body, **options):
        return self.daemon.http("PATCH", path, body, **options)

    def delete(self, path, **options):
        return self.daemon.http("DELETE", path, **options)

    def pawl(self, *words):
        done = self.daemon.cli("--json", *words)
        assert done.code == 0, done.errors
        return json.loads(done.text)


@pytest.fixture
def desk(daemon):
    return Desk(daemon)


def without(thing, *names):
    return {key: value for key, value in thing.items() if key not in MOVING | set(names)}


@pytest.mark.parametrize("things,name,whole,field,value", KINDS, ids=IDS)
def test_a_patch_changes_what_it_names_and_leaves_the_rest(desk, things, name, whole, field, value):
    path = f"{API}/{things}/{name}"
    made = desk.put(path, whole)
    assert made.status == 201
    assert made.headers["Location"] == path
    before = desk.get(path).json
    changed = desk.patch(path, {field: value})
    assert changed.status == 200, changed.body
    after = desk.get(path).json
    assert after[field] == value
    assert without(after, field) == without(before, field)
    # null is the default again; what a new one must have cannot be taken away
    default = desk.patch(path, {field: None})
    if field in ("cron", "when"):
        assert default.status == 422
    else:
        assert default.status == 200
        assert without(desk.get(path).json, field) == without(before, field)


@pytest.mark.parametrize("things,name,whole,field,value", KINDS, ids=IDS)
def test_what_is_not_there_is_found_or_made_the_same_way_everywhere(desk, things, name, whole, field, value):
    path = f"{API}/{things}/other-{name}"
    assert desk.get(path).status == 404
    patched = desk.patch(path, {field: value})
    # A queue and a tenant need no definition: a patch makes one.
    assert patched.status == (201 if things in ("queues", "tenants") else 404)
    put = desk.put(path, whole)
    assert put.status == (200 if things in ("queues", "tenants") else 201)
    removed = desk.delete(path)
    assert removed.status == 200 and removed.json["removed"] is True
    assert desk.get(path).status == 404


@pytest.mark.parametrize("things,name,whole,field,value", KINDS, ids=IDS)
def test_lists_come_in_pages(desk, things, name, whole, field, value):
    names = [f"{name}-{number}" for number in range(5)]
    for one in names:
        assert desk.put(f"{API}/{things}/{one}", whole).status == 201
    seen, cursor = [], None
    while True:
        query = "?limit=2" + (f"&cursor={cursor}" if cursor else "")
        page = desk.get(f"{API}/{things}{query}").json
        assert len(page["items"]) <= 2
        seen += [item.get("name") or item.get("key") or item["type"] for item in page["items"]]
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert [one for one in seen if one.startswith(name)] == names
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("things,name,whole,field,value", KINDS, ids=IDS)
def test_an_etag_names_what_was_read(desk, things, name, whole, field, value):
    path = f"{API}/{things}/{name}"
    desk.put(path, whole)
    etag = desk.get(path).headers["ETag"]
    assert desk.patch(path, {field: value}, headers={"If-Match": etag}).status == 200
    late = desk.patch(path, {field: value}, headers={"If-Match": etag})
    assert late.status == 412 and late.json["code"] == "changed_meanwhile"
    again = desk.put(path, whole, headers={"If-None-Match": "*"})
    assert again.status == 412 and again.json["code"] == "already_there"
    now = desk.get(path).headers["ETag"]
    assert desk.delete(path, headers={"If-Match": etag}).status == 412
    assert desk.delete(path, headers={"If-Match": now}).status == 200


@pytest.mark.parametrize("things,name,whole,field,value", KINDS, ids=IDS)
def test_what_is_shown_can_be_sent_back_and_near_misses_are_named(desk, things, name, whole, field, value):
    path = f"{API}/{things}/{name}"
    desk.put(path, whole)
    shown = desk.get(path).json
    assert desk.put(path, shown).status == 200
    assert without(desk.get(path).json) == without(shown)
    wrong = desk.patch(path, {field + "x": value})
    assert wrong.status == 422
    problem = wrong.json
    assert problem["code"] == "unknown_field"
    assert problem["pointer"] == f"/{field}x"
    assert field in problem["hint"]


def test_set_on_the_command_line_keeps_what_it_does_not_name(desk):
    pawl = desk.pawl
    pawl("resource", "set", "gpu", "--quantity", "2")
    assert pawl("resource", "set", "gpu", "--scope", "cluster")["quantity"] == 2
    pawl("queue", "set", "mail", "--slots", "2", "--nice")
    queue = pawl("queue", "set", "mail", "--policy", "skip")
    assert (queue["slots"], queue["nice"], queue["policy"]) == (2, True, "skip")
    queue = pawl("queue", "set", "mail", "--slots", "none", "--no-nice")
    assert (queue["slots"], queue["nice"], queue["policy"]) == (None, False, "skip")
    pawl("tenant", "set", "acme", "--max-queued", "5")
    tenant = pawl("tenant", "set", "acme", "--segregate-types")
    assert (tenant["max_queued"], tenant["segregate_types"]) == (5, True)
    assert pawl("tenant", "set", "acme", "--together")["segregate_types"] is False
    pawl("handler", "set", "resize", "cat", "--retries", "3", "--queue", "mail", "--files")
    handler = pawl("handler", "set", "resize", "--priority", "9", "--no-files")
    assert (handler["max_retries"], handler["queue"], handler["priority"]) == (3, "mail", 9)
    assert (handler["body"], handler["files"], handler["version"]) == ("cat", False, 2)


def test_add_refuses_a_name_that_is_there_and_set_changes_it(desk):
    desk.pawl("schedule", "add", "nightly", "--cron", "@daily", "--tz", "Europe/Paris", "--overlap", "skip",
              "--type", "etl")
    refused = desk.daemon.cli("schedule", "add", "nightly", "--cron", "@hourly", "--type", "other")
    assert refused.code != 0
    assert "already_there" in refused.errors
    schedule = desk.pawl("schedule", "set", "nightly", "--cron", "@hourly")
    assert (schedule["cron"], schedule["tz"], schedule["overlap"], schedule["type"]) == (
        "@hourly", "Europe/Paris", "skip", "etl")
    schedule = desk.pawl("schedule", "set", "nightly", "--", "true")
    assert (schedule["type"], schedule["command"]) == ("run", ["true"])


def test_groups_and_processors_say_where_they_are(desk):
    assert desk.put(f"{API}/groups/g", {"then": "done"}).headers["Location"] == f"{API}/groups/g"
    made = desk.put(f"{API}/processors/p", {"command": "true"})
    assert made.status == 201 and made.headers["Location"] == f"{API}/processors/p"
