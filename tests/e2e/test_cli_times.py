# SPDX-License-Identifier: Apache-2.0
"""Times as people type and read them (F19)."""
import json


def test_a_schedule_says_in_words_when_it_will_run(daemon):
    done = daemon.cli("schedule", "add", "nightly", "--cron", "30 2 * * 1-5", "--tz",
                      "Europe/Paris", "--type", "etl", env={"TZ": "America/New_York"})
    assert done.code == 0 and done.text.startswith("nightly next 2"), done
    words, *times = done.errors.splitlines()
    assert words == "pawl: Monday to Friday at 02:30 (Europe/Paris)"
    assert len(times) == 3 and all(" 20:30:00 E" in line or " 21:30:00 E" in line
                                   for line in times), times
    done = daemon.cli("schedule", "add", "odd", "--cron", "0 9 1 * mon", "--type", "etl")
    assert "on day 1 of the month or on Monday at 09:00 (UTC)" in done.errors
    assert "is enough" in done.errors
    assert daemon.cli("schedule", "add", "x", "--cron", "@daily", "--type", "t",
                      "--json").errors == ""


def test_two_cron_lines_are_not_one_of_them(daemon):
    done = daemon.cli("schedule", "add", "two", "--cron", "0 2 * * *", "--cron", "0 14 * * *",
                      "--type", "t")
    assert done.code == 2 and "one --cron" in done.errors
    assert daemon.cli("schedule", "show", "two").code == 3


def test_deferred_jobs_are_listed_with_their_time(daemon):
    """The replacement of atq."""
    job = daemon.cli("run", "--at", "2035-01-31T08:00", "--", "true").text.strip()
    shown = daemon.cli("ls", "state:deferred").text
    assert "DUE" in shown and "2035-01-31 08:00:00" in shown and job in shown
    assert "DUE" not in daemon.cli("ls").text


def test_hours_and_weekdays_are_understood(daemon):
    for words in ("9am", "mon 08:00", "next friday", "tomorrow 6:30pm"):
        done = daemon.cli("run", "--at", words, "--", "true")
        assert done.code == 0, done.errors
        assert json.loads(daemon.cli("show", done.text.strip(), "--json").text)["state"] == \
            "deferred"
    done = daemon.cli("run", "--in", "1month", "--", "true")
    assert done.code == 2 and "no fixed length" in done.errors
