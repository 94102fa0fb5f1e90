# SPDX-License-Identifier: Apache-2.0
"""Schedules against a real daemon: planned times against another implementation, jobs by
the clock, policies, and what survives a crash."""
import datetime
import functools
import json
import os
import pathlib
import subprocess
import sys
import uuid
import zoneinfo

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402

SECONDS = 120
UTC = datetime.timezone.utc


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def node(home):
    return home.daemon("--slots", "4", "--set", "daemon.grace=500ms").start()


@pytest.fixture
def api(node):
    return node.api()


def name():
    return "s" + uuid.uuid4().hex[:10]


def put(api, name, status=201, **fields):
    answer = api.request("PUT", f"/schedules/{name}", fields)
    assert answer.status == status, answer
    return answer.json()


def act(api, name, action, status=200):
    answer = api.request("POST", f"/schedules/{name}/{action}")
    assert answer.status == status, answer
    return answer.json()


def jobs_of(api, name):
    return api.get(f"/jobs?schedule={name}&limit=1000")["items"]


def cli(node, *words, code=0):
    env = {key: value for key, value in os.environ.items() if not key.startswith("PAWL_")}
    done = subprocess.run([program(), *words], capture_output=True, timeout=120,
                          stdin=subprocess.DEVNULL,
                          env={**env, "PAWL_SERVER": f"unix:{node.socket()}"})
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode() if code == 0 else done.stderr.decode()


# --- planned times ---------------------------------------------------------------------

def field(text, low, high):
    values = set()
    for item in text.split(","):
        span, _, step = item.partition("/")
        if span == "*":
            first, last = low, high
        elif "-" in span:
            first, last = map(int, span.split("-"))
        else:
            first, last = int(span), high if step else int(span)
        values |= set(range(first, last + 1, int(step or 1)))
    return values


@functools.lru_cache(maxsize=8)
def minutes(tz, start, end):
    """Every minute, and what the clocks of the zone show then."""
    zone = zoneinfo.ZoneInfo(tz)
    return [(at, datetime.datetime.fromtimestamp(at, zone).replace(tzinfo=None))
            for at in range(start, end, 60)]


class Reference:
    """ISC cron, minute by minute: a schedule without a star in minute or hour sees every
    minute of the local clock once, in order; others see what the clock shows."""

    def __init__(self, cron, tz):
        texts = cron.split()
        self.minute, self.hour, self.day, self.month, week = (
            field(text, low, high) for text, low, high
            in zip(texts, (0, 0, 1, 1, 0), (59, 23, 31, 12, 7)))
        self.week = {day % 7 for day in week}
        self.wild = texts[0][0] == "*" or texts[1][0] == "*"
        self.both = texts[2][0] == "*" or texts[4][0] == "*"
        self.tz = tz

    def matches(self, local):
        if local.minute not in self.minute or local.hour not in self.hour \
                or local.month not in self.month:
            return False
        day, week = local.day in self.day, local.isoweekday() % 7 in self.week
        return (day and week) if self.both else (day or week)

    def times(self, start, end):
        found, seen = set(), None
        for at, local in minutes(self.tz, start - 2 * 86400, end):
            if self.wild:
                if self.matches(local):
                    found.add(at)
                continue
            seen = seen or local - datetime.timedelta(minutes=1)
            while seen < local:
                seen += datetime.timedelta(minutes=1)
                if self.matches(seen):
                    found.add(at)
        return sorted(at for at in found if start < at < end)


def around_changes(tz, year):
    """Ten days around each change of the clocks, else the first days of the year: where
    the implementations could differ. Whole years are compared with few schedules."""
    zone = zoneinfo.ZoneInfo(tz)
    first = int(datetime.datetime(year, 1, 1, tzinfo=UTC).timestamp())
    spans, before = [(first, first + 5 * 86400)], None
    for day in range(366):
        offset = datetime.datetime.fromtimestamp(first + day * 86400, zone).utcoffset()
        if before is not None and offset != before:
            spans.append((first + (day - 4) * 86400, first + (day + 3) * 86400))
        before = offset
    return spans


ZONES = ["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "UTC", "Asia/Kolkata"]


def preview(api, name, start, count):
    text = datetime.datetime.fromtimestamp(start, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    items = api.get(f"/schedules/{name}/preview?count={count}&from={text}")["items"]
    return [int(datetime.datetime.fromisoformat(item["at"].replace("Z", "+00:00"))
                .timestamp()) for item in items], items


@pytest.mark.parametrize("tz", ZONES)
def test_planned_times_are_those_of_another_implementation(api, tz):
    """Every time around each change of the clocks, in years of the zone's table and in
    one of its rule; and every day of a whole year."""
    for cron in ["30 2 * * *", "0 * * * *", "*/20 2 * * *", "15 1,2,3 * * *",
                 "45 1 * * 0", "0 0 13 * 5", "5 2-3 */2 * 1"]:
        schedule = name()
        put(api, schedule, cron=cron, tz=tz, type="x", paused=True)
        reference = Reference(cron, tz)
        for year in (2026, 2050):
            for start, end in around_changes(tz, year):
                wanted = reference.times(start, end)
                found, _ = preview(api, schedule, start, len(wanted) + 1)
                assert found[:-1] == wanted, (tz, cron, year)
                assert found[-1] >= end
    schedule = name()
    put(api, schedule, cron="30 2 * * *", tz=tz, type="x", paused=True)
    start = int(datetime.datetime(2027, 1, 1, tzinfo=UTC).timestamp())
    found, items = preview(api, schedule, start, 365)
    zone = zoneinfo.ZoneInfo(tz)
    days = [datetime.datetime.fromtimestamp(at, zone) for at in found]
    assert len({day.date() for day in days}) == 365
    for day, item in zip(days, items):
        assert (day.hour, day.minute) in ((2, 30), (3, 0)), day
        assert item["local"] == day.isoformat(timespec="milliseconds")


# --- the API ---------------------------------------------------------------------------

def test_a_schedule_is_set_shown_listed_changed_and_deleted(api):
    one = name()
    hour = (datetime.datetime.now(zoneinfo.ZoneInfo("Europe/Paris")).hour + 6) % 24
    made = put(api, one, cron=f"30 {hour} * * 1-5", tz="Europe/Paris", type="etl",
               payload="all", queue="night", priority=7, missed="once", overlap="skip")
    assert made == api.get(f"/schedules/{one}")
    assert made["tz"] == "Europe/Paris" and made["queue"] == "night"
    assert made["missed"] == "once" and made["overlap"] == "skip"
    assert made["next_at"] and made["last_at"] is None and not made["declared"]
    assert [item for item in api.get("/schedules?limit=1000")["items"]
            if item["name"] == one] == [made]
    again = put(api, one, 200, cron="@daily", type="etl")
    assert again["tz"] == "UTC" and again["missed"] == "skip"
    assert again["overlap"] == "allow" and again["created_at"] == made["created_at"]
    assert api.request("DELETE", f"/schedules/{one}").status == 200
    answer = api.request("GET", f"/schedules/{one}")
    assert answer.status == 404 and answer.json()["code"] == "schedule_not_found"
    assert api.request("DELETE", f"/schedules/{one}").status == 404


def test_lists_come_in_pages(api):
    names = sorted(name() for _ in range(5))
    for each in names:
        put(api, each, cron="@yearly", type="x")
    found, cursor = [], None
    while True:
        page = api.get("/schedules?limit=2" + (f"&cursor={cursor}" if cursor else ""))
        found += [item["name"] for item in page["items"]]
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert [each for each in found if each in names] == names
    assert found == sorted(found)


@pytest.mark.parametrize("fields, says", [
    ({"cron": "61 * * * *", "type": "x"}, "minute field"),
    ({"cron": "* * * * *"}, "type or a command"),
    ({"type": "x"}, "needs cron"),
    ({"cron": "@daily", "type": "x", "tz": "Europe/Atlantis"}, "no time zone"),
    ({"cron": "@daily", "type": "x", "tz": "../../../etc/passwd"}, "no time zone"),
    ({"cron": "@daily", "type": "x", "missed": "maybe"}, "missed"),
    ({"cron": "@daily", "type": "x", "crn": 1}, "crn"),
    ({"cron": "0 0 31 2 *", "type": "x"}, "never comes"),
])
def test_what_makes_no_sense_is_refused(api, fields, says):
    answer = api.request("PUT", f"/schedules/{name()}", fields)
    assert answer.status == 422 and says in answer.json()["detail"], answer


# --- jobs by the clock -----------------------------------------------------------------

def test_jobs_come_by_the_clock_once_for_each_planned_time(node, api):
    """An interval of a second; the count of jobs is that of planned times."""
    one = name()
    put(api, one, cron="@every 1s", command=["true"], missed="all", tags=["tick"])
    wait_for(lambda: len(jobs_of(api, one)) >= 3, SECONDS)
    act(api, one, "pause")
    shown = api.get(f"/schedules/{one}")
    jobs = jobs_of(api, one)
    assert shown["paused"] and shown["next_at"] is None
    assert len(jobs) == shown["fired_count"]
    assert {job["schedule"] for job in jobs} == {one}
    assert all(job["tags"] == ["tick"] for job in jobs)
    assert shown["last_job"] == max(job["id"] for job in jobs)
    assert len(cli(node, "ls", f"schedule:{one}", "--json").split(one)) > 3


def test_kill_9_neither_loses_nor_doubles_a_planned_time(home):
    """Oracle 10 for one node: one job per planned time, whatever crashes."""
    node = home.daemon(data=home.path / "crash").start()
    api = node.api()
    put(api, "tick", cron="@every 1s", command=["true"], missed="all")
    for _ in range(3):
        before = api.get("/schedules/tick")["fired_count"]
        wait_for(lambda: api.get("/schedules/tick")["fired_count"] > before, SECONDS)
        node.kill()
        node.start()
        api = node.api()
    act(api, "tick", "pause")
    shown = api.get("/schedules/tick")
    jobs = jobs_of(api, "tick")
    assert len(jobs) == shown["fired_count"]
    first = datetime.datetime.fromisoformat(shown["created_at"].replace("Z", "+00:00"))
    last = datetime.datetime.fromisoformat(shown["last_at"].replace("Z", "+00:00"))
    planned = int(last.timestamp()) - int(first.timestamp())
    assert len(jobs) == planned, shown
    node.stop()


def test_trigger_adds_the_job_now(api):
    one = name()
    put(api, one, cron="@yearly", command=["sh", "-c", "cat"], payload="hello")
    answer = act(api, one, "trigger", 201)
    assert answer["job"]["schedule"] == one
    assert api.until(answer["id"], seconds=SECONDS)["state"] == "done"
    assert api.get(f"/schedules/{one}")["last_job"] == answer["id"]
    assert act(api, "no-such", "trigger", 404)["code"] == "schedule_not_found"


def test_overlap_skip_and_queue_wait_for_the_job_before(api):
    skip, queue = name(), name()
    for one, overlap in ((skip, "skip"), (queue, "queue")):
        put(api, one, cron="@every 1s", command=["sleep", "1000"], overlap=overlap)
    wait_for(lambda: api.get(f"/schedules/{skip}")["skipped_count"] >= 2, SECONDS)
    wait_for(lambda: api.get(f"/schedules/{queue}")["waiting"], SECONDS)
    for one in (skip, queue):
        act(api, one, "pause")
        jobs = jobs_of(api, one)
        assert len(jobs) == 1, jobs
        api.act(jobs[0]["id"], "kill")


def test_overlap_replace_cancels_the_job_before(api):
    one = name()
    put(api, one, cron="@every 1s", command=["sleep", "1000"], overlap="replace")
    wait_for(lambda: [job for job in jobs_of(api, one) if job["state"] == "cancelled"],
             SECONDS)
    act(api, one, "pause")
    cancelled = [job for job in jobs_of(api, one) if job["state"] == "cancelled"]
    assert "replaced" in cancelled[-1]["reason"]
    for job in jobs_of(api, one):
        if job["state"] not in ("cancelled", "done", "failed", "rejected"):
            api.request("POST", f"/jobs/{job['id']}/kill")


# --- the command line and the file -----------------------------------------------------

def test_the_command_line_does_it_all(node, api):
    one = name()
    said = cli(node, "schedule", "add", one, "--cron", "30 2 * * 1-5", "--tz",
               "Europe/Paris", "-q", "night", "-p", "7", "--", "sh", "-c", "exit 0")
    assert said.startswith(f"{one} next 2")
    shown = api.get(f"/schedules/{one}")
    assert shown["command"] == ["sh", "-c", "exit 0"] and shown["priority"] == 7
    assert one in cli(node, "schedule", "ls")
    lines = cli(node, "schedule", "preview", one, "-n", "3").splitlines()
    assert len(lines) == 3 and lines[0].endswith(("+01:00", "+02:00"))
    assert "paused" in cli(node, "schedule", "pause", one)
    assert "next" in cli(node, "schedule", "resume", one)
    id = cli(node, "schedule", "trigger", one).strip()
    assert api.until(id, seconds=SECONDS)["state"] == "done"
    listed = json.loads(cli(node, "schedule", "ls", "--json"))
    assert one in [item["name"] for item in listed["items"]]
    assert "removed" in cli(node, "schedule", "rm", one)
    assert "schedule_not_found" in cli(node, "schedule", "preview", one, code=3)
    assert "[usage]" in cli(node, "schedule", "add", one, "--type", "x", code=2)
    assert "minute field" in cli(node, "schedule", "add", one, "--cron", "x * * * *",
                                 "--type", "x", code=2)


def test_schedules_can_stand_in_the_configuration_file(home):
    file = home.path / "schedules.yaml"
    file.write_text('schedules:\n  - { name: nightly, cron: "30 2 * * 1-5", '
                    'tz: Europe/Paris, type: etl }\n')
    node = home.daemon("--config", str(file), data=home.path / "declared").start()
    api = node.api()
    shown = api.get("/schedules/nightly")
    assert shown["declared"] and shown["type"] == "etl"
    answer = api.request("PUT", "/schedules/nightly", {"cron": "@daily", "type": "x"})
    assert answer.status == 409 and answer.json()["code"] == "declared"
    assert act(api, "nightly", "pause")["paused"]
    node.stop()
    file.write_text('schedules:\n  - { name: nightly, cron: "99 * * * *", type: etl }\n')
    done = subprocess.run([program(), "serve", "--check", "--config", str(file)],
                          capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
    assert done.returncode != 0
    assert b"schedules.yaml:2:" in done.stderr and b"minute field" in done.stderr
