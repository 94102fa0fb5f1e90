# SPDX-License-Identifier: Apache-2.0
"""What happens to jobs, told as it happens: server-sent events and `pawl events`."""
import json
import pathlib
import subprocess
import sys
import threading
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, program      # noqa: E402
from lib.listener import Listener          # noqa: E402


@pytest.fixture(scope="module")
def node():
    with Place() as place:
        yield place.daemon("--slots", "2").start()


def run(node, tenant):
    api = node.api(120)
    id = api.add(command=["true"], tenant=tenant)["id"]
    api.until(id, seconds=60, tenant=tenant)
    return id


def name():
    return "t" + uuid.uuid4().hex[:10]


def test_each_change_is_a_cloudevent(node):
    tenant = name()
    listener = Listener(node, tenant)
    run(node, name()) # of someone else
    id = run(node, tenant)
    listener.until(3)
    assert listener.types() == ["added", "started", "finished"]
    event = json.loads(listener.events[2]["data"])
    assert event["specversion"] == "1.0" and event["subject"] == id
    assert event["id"] == listener.events[2]["id"]
    assert event["source"].startswith("/nodes/")
    assert event["data"]["state"] == "done" and event["data"]["code"] == "ok"


def test_a_listener_goes_on_where_it_was(node):
    tenant = name()
    listener = Listener(node, tenant)
    run(node, tenant)
    last = listener.until(3)[1]["id"]
    again = Listener(node, tenant, last=last)
    assert again.until(1)[0]["id"] == listener.events[2]["id"]
    kept = Listener(node, tenant, follow=0) # what is kept, and then the end
    kept.thread.join(120)
    assert not kept.thread.is_alive() and kept.types() == ["added", "started", "finished"]


def test_after_a_restart_a_listener_is_told_to_begin_anew():
    with Place() as place:
        node = place.daemon().start()
        listener = Listener(node, "default")
        run(node, "default")
        last = listener.until(3)[2]["id"]
        node.restart()
        again = Listener(node, "default", last=last)
        assert again.until(1)[0]["event"] == "reset"
        run(node, "default")
        again.until(4)
        assert again.types() == ["added", "started", "finished"]
        assert node.stop(120) == 0 # a listener does not hold it up


def test_bad_input_is_refused(node):
    api = node.api()
    for path, headers in (("/events?follow=2", {}), ("/events?tenant=a/b", {}),
                          ("/events", {"Last-Event-ID": "yesterday"})):
        answer = api.request("GET", path, headers=headers)
        assert answer.status == 422, answer


def test_the_command_shows_them(node):
    tenant = name()
    id = run(node, tenant)
    words = [program(), "events", "--server", f"unix:{node.socket()}", "--tenant", tenant]
    shown = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           timeout=120, check=True).stdout
    assert [line.split()[1:3] for line in shown.splitlines()] == \
        [["added", id], ["started", id], ["finished", id]]
    lines = subprocess.run([*words, "--json"], stdin=subprocess.DEVNULL, timeout=120,
                           capture_output=True, text=True, check=True).stdout.splitlines()
    assert [json.loads(line)["data"]["id"] for line in lines] == [id] * 3
    follower = subprocess.Popen([*words, "-f"], stdin=subprocess.DEVNULL, text=True,
                                stdout=subprocess.PIPE)
    seen = []
    reader = threading.Thread(target=lambda: seen.extend(iter(follower.stdout.readline, "")),
                              daemon=True)
    reader.start()
    try: # another job until it is seen: the command may begin after the first
        wait_for(lambda: run(node, tenant) and any("finished" in line for line in seen), 120)
    finally:
        follower.terminate()
        follower.wait(120)


def test_a_stream_that_ends_by_itself_is_a_failure():
    """Who follows is told when nothing more will come."""
    with Place() as place:
        node = place.daemon().start()
        follower = subprocess.Popen(
            [program(), "events", "-f", "--server", f"unix:{node.socket()}"], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        seen = []
        reader = threading.Thread(target=lambda: seen.append(follower.stdout.readline()),
                                  daemon=True)
        reader.start()
        wait_for(lambda: run(node, "default") and seen, 120)
        node.stop()
        errors = follower.communicate(timeout=120)[1]
        assert follower.returncode == 1 and "ended the stream" in errors, errors
