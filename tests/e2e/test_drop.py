# SPDX-License-Identifier: Apache-2.0
"""The drop folder: control files that are put into it become jobs, each one exactly once
(founding document 000)."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for       # noqa: E402
from lib.daemon import Place       # noqa: E402

SECONDS = 120
SPACE = 'xmlns="urn://batch-master"'


class Box:
    def __init__(self, place):
        self.place = place
        self.modules = place.path / "modules"
        self.modules.mkdir()
        (self.modules / "count").write_text('#!/bin/sh\necho "$BATCH_NAME" >> "$0.ran"\n')
        (self.modules / "count").chmod(0o755)
        self.node = place.daemon("--slots", "4", "--set",
                                 f"daemon.modules_root={self.modules}")
        self.folder = self.node.data / "drop"

    def start(self):
        self.node.start()
        self.api = self.node.api()
        return self

    def document(self, name, module="count"):
        return f"<batch-job {SPACE}><name>{name}</name><module>{module}</module></batch-job>"

    def put(self, file, text):
        """As it should be done: written elsewhere, then renamed."""
        aside = self.place.path / (pathlib.Path(file).name + ".part")
        aside.write_text(text)
        aside.rename(self.folder / file)

    def names(self):
        return sorted(job["name"] for job in self.api.all())

    def ran(self):
        path = self.modules / "count.ran"
        return sorted(path.read_text().split()) if path.exists() else []

    def left(self):
        """Files that are neither jobs nor refused yet."""
        return [file for file in [*self.folder.iterdir(), *(self.folder / "taken").iterdir()]
                if file.is_file()]


@pytest.fixture
def box():
    with Place() as place:
        yield Box(place)


def test_a_file_renamed_into_the_folder_is_a_job(box):
    """S0.10, S0.38, S0.60, S0.61: at once, and only there; the file is gone then."""
    box.start()
    (box.node.data / "elsewhere.xml").write_text(box.document("elsewhere"))
    (box.folder / "deeper").mkdir()
    (box.folder / "deeper" / "a.xml").write_text(box.document("deeper"))
    (box.folder / "a.txt").write_text(box.document("text"))
    box.put("a.xml", box.document("one"))
    wait_for(lambda: box.ran() == ["one"], SECONDS)
    wait_for(lambda: not (box.folder / "a.xml").exists(), SECONDS)
    box.put("a.xml", box.document("two")) # the same name again is another job
    wait_for(lambda: box.ran() == ["one", "two"], SECONDS)
    wait_for(lambda: [file.name for file in box.left()] == ["a.txt"], SECONDS)
    assert box.names() == ["one", "two"]


def test_files_written_in_place_are_taken_when_they_are_closed(box):
    """A writer that is not finished is waited for."""
    box.start()
    text = box.document("slow")
    with open(box.folder / "slow.xml", "w") as file:
        file.write(text[:30])
        file.flush()
        # Another file comes and goes meanwhile: so the folder has been looked at.
        box.put("quick.xml", box.document("quick"))
        wait_for(lambda: box.ran() == ["quick"], SECONDS)
        file.write(text[30:])
    wait_for(lambda: box.ran() == ["quick", "slow"], SECONDS)
    assert not list((box.folder / "failed").iterdir())


def test_a_bad_file_is_set_aside_with_line_and_reason(box):
    """drop/b.xml becomes drop/failed/b.xml, with b.xml.error beside it."""
    box.start()
    bad = f"<batch-job {SPACE}>\n  <module>count</module>\n  <prio>1</prio>\n</batch-job>"
    box.put("b.xml", bad)
    box.put("bomb.xml", '<!DOCTYPE x [<!ENTITY a "b">]>' + box.document("&a;"))
    box.put("huge.xml", " " * (2 << 20))
    box.put("half.xml", box.document("half")[:-5])
    (box.folder / "link.xml").symlink_to("/etc/passwd")
    box.put("good.xml", box.document("good"))
    failed = box.folder / "failed"
    for name in ("b.xml", "bomb.xml", "huge.xml", "half.xml"):
        wait_for((failed / name).exists, SECONDS)
    wait_for((failed / "link.xml").is_symlink, SECONDS)
    assert "ends before" in (failed / "half.xml.error").read_text()
    assert "plain file" in (failed / "link.xml.error").read_text()
    assert (failed / "b.xml").read_text() == bad
    assert "line 3, column 3" in (failed / "b.xml.error").read_text()
    assert "<prio>" in (failed / "b.xml.error").read_text()
    assert "DTD" in (failed / "bomb.xml.error").read_text()
    assert "limit" in (failed / "huge.xml.error").read_text()
    wait_for(lambda: box.ran() == ["good"], SECONDS)
    assert box.names() == ["good"]
    # What was mended can be put there again.
    box.put("b.xml", box.document("mended"))
    wait_for(lambda: box.ran() == ["good", "mended"], SECONDS)


def test_what_was_put_there_while_no_daemon_ran_is_found(box):
    """S0.60: the folder is the truth, not the note of a change."""
    box.start()
    assert box.node.stop() == 0
    for i in range(5):
        box.put(f"{i}.xml", box.document(f"n{i}"))
    box.start()
    wait_for(lambda: box.ran() == [f"n{i}" for i in range(5)], SECONDS)


def test_a_file_that_was_already_added_is_not_added_again(box):
    """A daemon that died between adding a job and removing its file finds it again."""
    box.start()
    box.put("a.xml", box.document("once"))
    wait_for(lambda: box.ran() == ["once"], SECONDS)
    wait_for(lambda: not box.left(), SECONDS)
    [line] = [line for line in box.node.log().splitlines() if "event=drop.taken" in line]
    assert 'file="a.xml"' in line
    # The stamp of a taken file is its key: the same file under the same stamp is no news.
    taken = box.folder / "taken" / "00112233aabbccdd-again.xml"
    for _ in range(2):
        box.put("taken/" + taken.name, box.document("again"))
        wait_for(lambda: not taken.exists(), SECONDS)
    box.node.restart()
    box.api = box.node.api()
    box.put("taken/" + taken.name, box.document("again"))
    wait_for(lambda: not taken.exists(), SECONDS)
    wait_for(lambda: box.ran() == ["again", "once"], SECONDS)
    assert box.names() == ["again", "once"]


def test_each_file_is_one_job_whatever_crashes(box):
    """Kill -9 at any moment: no file is lost, none becomes two jobs."""
    box.start()
    put = 0
    for _ in range(6):
        for _ in range(20):
            box.put(f"{put}.xml", box.document(f"n{put:03}"))
            put += 1
        box.node.kill()
        box.node.start()
    box.api = box.node.api()
    wait_for(lambda: not box.left(), SECONDS, lambda: f"left over: {box.left()}")
    expected = [f"n{i:03}" for i in range(put)]
    wait_for(lambda: all(job["state"] == "done" for job in box.api.all()), SECONDS)
    assert box.names() == expected
    assert not os.listdir(box.folder / "failed")
