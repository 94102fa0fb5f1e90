# SPDX-License-Identifier: Apache-2.0
"""test_log_follow - a followed log that cannot be read to its end does not look as if it were."""
import http.client
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for                      # noqa: E402
from lib.daemon import Place, files_below, program # noqa: E402

PATIENCE = 120 # seconds; a busy machine, sanitizers


@pytest.fixture(name="node", scope="module")
def fixture_node():
    with Place() as place:
        yield place.daemon("--slots", "2").start()


def printing(node, door):
    """A job that has printed `one`, and goes on when the door is there."""
    api = node.api()
    id = api.add(command=["sh", "-c", f"echo one; until [ -e {door} ]; do sleep 0.1; done"])["id"]
    wait_for(lambda: api.log(id), PATIENCE)
    return id


def spoil(node, id):
    """Its file becomes something that is not opened: a link."""
    path = files_below(node.data / "logs", f"{id}.1.out")[0]
    path.unlink()
    path.symlink_to("/dev/null")


def test_who_follows_sees_that_it_is_not_whole(node, tmp_path):
    door = tmp_path / "door"
    id = printing(node, door)
    conn = http.client.HTTPConnection(*node.address(), timeout=PATIENCE)
    conn.request("GET", f"/api/v1/jobs/{id}/log?follow=1")
    answer = conn.getresponse()
    assert answer.status == 200 and answer.readline() == b"one\n"
    spoil(node, id)
    with pytest.raises(http.client.IncompleteRead) as broken:
        answer.read()
    assert b"the rest cannot be read" in broken.value.partial
    assert "event=log.unreadable" in node.tail(100)
    for path in (f"/jobs/{id}/log", f"/jobs/{id}/log?follow=1"):
        assert node.api().request("GET", path).status == 500, path
    door.touch()
    node.api().until(id, seconds=PATIENCE)


def test_the_command_says_so(node, tmp_path):
    door = tmp_path / "door"
    id = printing(node, door)
    follower = subprocess.Popen([program(), "logs", "-f", id, "--server",
                                 f"unix:{node.socket()}"], stdin=subprocess.DEVNULL, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert follower.stdout.readline() == "one\n"
        spoil(node, id)
        assert follower.stdout.readline() == "\n"
        assert "the rest cannot be read" in follower.stdout.readline()
        door.touch() # what the job says on the other stream is followed to its end
        out, err = follower.communicate(timeout=PATIENCE)
        assert follower.returncode == 1 and "[internal_error]" in err, (out, err)
    finally:
        follower.kill()
        door.touch()
    node.api().until(id, seconds=PATIENCE)
