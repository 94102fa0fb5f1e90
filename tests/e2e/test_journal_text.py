# SPDX-License-Identifier: Apache-2.0
"""002's journal as text: pawl import and pawl export, there and back."""
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.daemon import Place, program      # noqa: E402

SECONDS = 120


@pytest.fixture
def place():
    with Place() as place:
        yield place


def pawl(node, *words, data=None):
    return subprocess.run([program(), *words, "--server", f"unix:{node.socket()}"],
                          input=data, capture_output=True, timeout=SECONDS * 2)


def entries(api, tenant="*"):
    jobs = sorted(api.all(tenant=tenant), key=lambda job: job["id"])
    return [(job["tenant"], job["type"], job.get("payload_base64") or job["payload"])
            for job in jobs]


JOURNAL = (b"#:Batch date=2020-06-30T01:17:17.123Z,bytes=14,jobtype=acme-mail.v1\n"
           b"one\ntwo|bars\n\n"
           b"#:EndBatch\n"
           b"#erased|acme-x|gone\n"
           b"2020-06-30T01:17:17.123Z|acme-job-type|three\n"
           b"A7f3x|mail|four\n")
JOBS = [("acme", "mail.v1", "one"), ("acme", "mail.v1", "two|bars"),
        ("acme", "job-type", "three"), ("default", "mail", "four")]


def test_a_journal_is_imported_once(place):
    """S2.37, S2.65, S2.71, S2.72, S2.73, S2.74: batches and single lines become jobs; a
    second run of the same file adds nothing."""
    node = place.daemon().start()
    file = place.path / "old.journal"
    file.write_bytes(JOURNAL)
    for _ in range(2):
        done = pawl(node, "import", "--journal", str(file))
        assert done.returncode == 0 and done.stdout == b"4 of 4 jobs are in\n", done
        assert entries(node.api()) == JOBS
    named, = [job for job in node.api().all() if job["type"] == "mail"]
    assert named["name"] == "A7f3x"  # the id it had
    done = pawl(node, "import", "--journal", "-", "--json", data=b"1|x|y\n")
    assert done.stdout == b'{"read":1,"accepted":1,"rejected":0}\n'


def test_an_import_that_was_cut_goes_on(place):
    """Parts that are in are not added again after a crash in the middle."""
    node = place.daemon().start()
    lines = [b"%d|bulk|payload %d\n" % (i, i) for i in range(2500)]
    file = place.path / "long.journal"
    file.write_bytes(b"".join(lines[:1000]))
    assert pawl(node, "import", "--journal", str(file)).returncode == 0
    node.restart()
    file.write_bytes(b"".join(lines))  # the same beginning, and the rest
    done = pawl(node, "import", "--journal", str(file))
    assert done.stdout == b"2500 of 2500 jobs are in\n", done
    assert [payload for _, _, payload in entries(node.api())] == [
        f"payload {i}" for i in range(2500)]


@pytest.mark.parametrize("text, line", [
    (b"1|a|x\nnonsense\n", 2), (b"#:Batch bytes=99,jobtype=a\nx\n#:EndBatch\n", 2),
    (b"1|bad/name|x\n", 1), (b"#:Batch jobtype=a\nx\n#:EndBatch\n", 1)])
def test_a_bad_journal_is_refused_whole(place, text, line):
    node = place.daemon().start()
    done = pawl(node, "import", "--journal", "-", data=text)
    assert done.returncode == 1 and b"line %d: " % line in done.stderr, done
    assert b"[bad_journal]" in done.stderr
    assert entries(node.api()) == []


def test_there_and_back(place):
    """S2.40, S2.76: what is exported is imported equal, whatever its bytes."""
    first = place.daemon(data=place.path / "one").start()
    api = first.api()
    payloads = ["plain", "with|bars", "two\nlines", "ends\n", "#:EndBatch", "", "naïve"]
    for tenant in ("acme", "with-dash"):
        for payload in payloads:
            api.add(type="job-x", tenant=tenant, payload=payload)
    api.add(type="binary", tenant="acme", payload_base64="/wAK")
    done = pawl(first, "export", "--journal", "--tenant", "*")
    assert done.returncode == 0 and b"15 jobs" in done.stderr, done
    assert re.match(rb"\d{4}-\d\d-\d\dT[\d:.]+Z\|acme-job-x\|plain\n", done.stdout)
    second = place.daemon(data=place.path / "two").start()
    done = pawl(second, "import", "--journal", "-", data=done.stdout)
    assert done.returncode == 0, done
    assert entries(second.api()) == entries(api)
    # A query chooses; ended jobs are left out without one.
    id = api.all(tenant="acme")[0]["id"]
    api.act(id, "cancel", tenant="acme")
    few = pawl(first, "export", "--journal", "state:cancelled", "--tenant", "acme")
    assert few.stdout.count(b"#:Batch") + few.stdout.count(b"|acme-") == 1, few
    assert b"14 jobs" in pawl(first, "export", "--journal", "--tenant", "*").stderr
