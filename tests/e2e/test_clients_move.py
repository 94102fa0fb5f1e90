# SPDX-License-Identifier: Apache-2.0
"""Coming from elsewhere: crontabs as schedules, and what waits in Sidekiq, Celery and BullMQ as
jobs. Sidekiq and Celery add their jobs themselves, where Debian's are installed."""
import datetime
import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from clients.language import ROOT, needs # noqa: E402
from lib.api import wait_for # noqa: E402
from test_docs import REDIS_TESTS, page_name, shell, steps_of, what_is_wrong # noqa: E402,F401

MOVE = ROOT / "clients/move"
APPS = ROOT / "tests/clients/frameworks"
SECONDS = 120


def run(*command, status=0, **options):
    made = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=SECONDS, **options)
    assert made.returncode == status, made.stdout + made.stderr
    return made.stdout


# --- cron ----------------------------------------------------------------------------------

CRONTAB = r"""
# a comment
SHELL=/bin/bash
PATH = "/usr/bin:/bin"
CRON_TZ=Europe/Paris
*/5  *  * * *   cd /tmp && ./sync.sh "$A" 'b c'
0 3 1,15 JAN-MAR MON   cat%first \% line%second
@daily	tidy
@daily  tidy --again
"""


def crontab(text, *options, status=0):
    return run(sys.executable, "-B", MOVE / "pawl-from-crontab", *options, input=text,
               status=status, env={**os.environ, "HOME": "/home/ann"})


def test_a_crontab_becomes_schedules(shell, daemon):
    """The commands are run by a shell, and the daemon has what the crontab said."""
    made = shell.work / "made.sh"
    made.write_text(crontab(CRONTAB))
    run("sh", made, env=shell.env, cwd=shell.work)
    listed = daemon.http("GET", "/api/v1/schedules").json["items"]
    found = {item["name"]: item for item in listed}
    assert set(found) == {"cd", "cat", "tidy", "tidy-2"}
    assert {item["tz"] for item in listed} == {"Europe/Paris"}
    assert {item["cwd"] for item in listed} == {"/home/ann"}
    assert found["cd"]["cron"] == "*/5 * * * *" and found["tidy"]["cron"] == "@daily"
    assert found["cd"]["command"] == ["/bin/bash", "-c", "cd /tmp && ./sync.sh \"$A\" 'b c'"]
    assert found["cd"]["env"] == {"PATH": "/usr/bin:/bin"}
    assert found["cat"]["cron"] == "0 3 1,15 jan-mar mon"
    assert found["cat"]["payload"] == "first % line\nsecond\n"
    assert found["tidy-2"]["command"][2] == "tidy --again"


def test_what_a_crontab_says_and_pawl_cannot(tmp_path):
    """It is told, and the rest is moved."""
    text = "@reboot ./once\n0~30 * * * * ./some\n* * * *\n0 1 * * * ./fine\n"
    said = crontab(text, "--tz", "UTC", status=1).splitlines()
    assert [line[0] for line in said] == ["#", "#", "#", "p"]
    assert "@reboot" in said[0] and "(~)" in said[1] and "five fields" in said[2]
    system = crontab("0 1 * * * daemon ./fine\n", "--system", "--add=--overlap=skip", "--prefix", "old-")
    assert "add old-fine " in system and "--user daemon" in system and "--overlap=skip" in system


# --- Redis ------------------------------------------------------------------------------------

@pytest.fixture
def redis(tmp_path):
    """A server of its own on a Unix socket; gives its path and a function that asks it."""
    server, cli = needs("redis-server", "redis-cli")
    path = str(tmp_path / "redis.sock")
    process = subprocess.Popen([server, "--port", "0", "--unixsocket", path, "--save", "",
                                "--dir", str(tmp_path)], stdout=subprocess.DEVNULL)

    def ask(*words, **more):
        return run(cli, "-s", path, *words, **more)
    try:
        wait_for(lambda: os.path.exists(path) and ask("PING") == "PONG\n", SECONDS)
        yield path, ask
    finally:
        process.kill()
        process.wait()


def moved(path, *words):
    said = run(sys.executable, "-B", MOVE / "pawl-from-redis", *words, "--redis", f"unix:{path}")
    return [json.loads(line) for line in said.splitlines()]


def in_an_hour(text):
    due = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    away = (due - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
    return 3600 - 2 * SECONDS < away <= 3600


def add_by_sidekiq(path):
    ruby, = needs("ruby")
    if subprocess.run([ruby, "-e", "require 'sidekiq'"], capture_output=True).returncode:
        pytest.skip("ruby has no Sidekiq here (scripts/install-deps test)")
    run(ruby, APPS / "sidekiq_app.rb", env={**os.environ, "REDIS_SOCKET": path})


def add_by_celery(path):
    python = sys.executable
    if subprocess.run([python, "-c", "import celery, redis"], capture_output=True).returncode:
        pytest.skip("python has no Celery here (scripts/install-deps test)")
    run(python, "-B", APPS / "celery_app.py", env={**os.environ, "REDIS_SOCKET": path})


def add_as_bullmq(ask):
    """As BullMQ 4 and 5 write them: ids in a list or a sorted set, a hash for each job."""
    for id, options, where in (("1", {"attempts": 3}, ("LPUSH", "bull:letters:wait", "1")),
                               ("2", {}, ("LPUSH", "bull:letters:wait", "2")),
                               ("3", {"priority": 7}, ("ZADD", "bull:letters:prioritized", "7", "3")),
                               ("4", {"delay": 3600000}, ("ZADD", "bull:letters:delayed", "9e15", "4"))):
        now = int(datetime.datetime.now().timestamp() * 1000)
        ask("HSET", f"bull:letters:{id}", "name", "letter", "data", json.dumps({"to": f"no {id}"}),
            "opts", json.dumps(options), "timestamp", str(now), "delay", str(options.get("delay", 0)),
            "priority", str(options.get("priority", 0)))
        ask(*where)
    ask("LPUSH", "bull:letters:wait", "0:0") # a marker that some versions leave there


def test_what_waits_in_sidekiq(redis):
    path, _ = redis
    add_by_sidekiq(path)
    ann, bob, cid = moved(path, "sidekiq")
    assert (ann["type"], ann["queue"], ann["max_retries"]) == ("Letter", "mail", 5)
    assert json.loads(ann["payload"]) == ["ann", {"n": 9007199254740993}]
    assert json.loads(bob["payload"]) == ["bob"] and "run_at" not in bob
    assert json.loads(cid["payload"]) == ["cid"] and in_an_hour(cid["run_at"])
    assert moved(path, "sidekiq", "--queue", "other") == []


def test_what_waits_in_celery(redis):
    path, _ = redis
    add_by_celery(path)
    ann, bob = moved(path, "celery", "--queue", "celery", "--queue", "mail")
    assert (ann["type"], ann["queue"], bob["queue"]) == ("letters.letter", "celery", "mail")
    assert json.loads(ann["payload"]) == {"args": ["ann"], "kwargs": {"greeting": "Grüß"}}
    assert "run_at" not in ann and in_an_hour(bob["run_at"])


def test_what_waits_in_bullmq(redis):
    path, ask = redis
    add_as_bullmq(ask)
    found = moved(path, "bullmq", "--queue", "letters")
    assert [json.loads(job["payload"])["to"] for job in found] == ["no 1", "no 2", "no 3", "no 4"]
    assert found[0]["max_retries"] == 2 and "max_retries" not in found[1]
    assert found[2]["priority"] == -7 and in_an_hour(found[3]["run_at"])


def test_a_server_that_is_not_there_is_told(tmp_path):
    said = subprocess.run([sys.executable, "-B", MOVE / "pawl-from-redis", "sidekiq", "--redis",
                           f"unix:{tmp_path}/none"], capture_output=True, text=True, timeout=SECONDS)
    assert said.returncode == 1 and "pawl-from-redis:" in said.stderr


@pytest.mark.parametrize("page", REDIS_TESTS, ids=page_name)
def test_the_page_about_moving(page, shell, daemon, redis):
    """Its commands as they stand, with a Redis that has jobs of all three."""
    path, ask = redis
    add_by_sidekiq(path)
    add_by_celery(path)
    add_as_bullmq(ask)
    for name in ("pawl-from-redis",): # the page asks the usual address
        script = shell.work.parent / "bin" / name
        script.unlink()
        script.write_text(f'#!/bin/sh\nexec {sys.executable} -B {MOVE / name} "$@" --redis unix:{path}\n')
        script.chmod(0o755)
    steps = steps_of(page)
    wrong = what_is_wrong(page, steps, *shell.run(steps))
    assert not wrong, wrong
    jobs = daemon.http("GET", "/api/v1/jobs?limit=100").json["items"]
    living = [job for job in jobs if job["state"] != "cancelled"]
    assert len(living) == 9 # three, two and four, none of them twice
    assert {job["state"] for job in living} == {"ready", "deferred"}
