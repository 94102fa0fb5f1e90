# SPDX-License-Identifier: Apache-2.0
"""Pipelines on disks that lose their power or fill up, between two machines, and where the
daemon may not write. tests/prove/pipeline-power cuts the power many more times."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib import hosts                                     # noqa: E402
from lib.api import wait_for                              # noqa: E402
from lib.daemon import Place, kill, program               # noqa: E402
from lib.disk import Small, why_not                       # noqa: E402
from lib.pipeline_power import PipelinePower              # noqa: E402
from lib.processor import WAIT, Processor, until_status   # noqa: E402

COPY = 'cp -r "$PAWL_INPUT" "$PAWL_OUTPUT"'
CUTS = 4

needs_power = pytest.mark.skipif(bool(why_not()), reason=f"no power cuts: {why_not()}")
needs_small = pytest.mark.skipif(bool(why_not(False)), reason=f"no tmpfs: {why_not(False)}")
needs_hosts = pytest.mark.skipif(bool(hosts.why_not()),
                                 reason=f"no namespaces: {hosts.why_not()}")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be someone else")
needs_rsync = pytest.mark.skipif(not shutil.which("rsync"), reason="rsync is not installed")


@pytest.fixture
def place():
    with Place() as place:
        yield place


def problems(processor):
    return " ".join(row["problem"] for row in processor.status()["problems"])


@needs_power
def test_power_cuts_of_a_pipeline(place):
    """S4.1 S4.12 S4.16 S4.33: what a producer had synced comes out at the end, once, whole."""
    seed = 7
    cuts = PipelinePower(place, seed)
    try:
        cuts.start()
        for _ in range(CUTS):
            cuts.cycle()
        judged = cuts.verdict()
        assert not judged.faults, "\n".join(
            [f"seed {seed}", *judged.faults[:30], cuts.node.tail(40)])
        assert judged.count["units"] > CUTS
    finally:
        cuts.close()


# --- full disks -------------------------------------------------------------------------

@needs_small
def test_a_full_destination_keeps_the_unit_until_there_is_room(place):
    """The unit stays in finished, nothing half made takes room, and it goes on by itself."""
    with Small(place.path / "small", 4) as disk:
        node = place.daemon().start()
        try:
            first, last = Processor(node, "first"), Processor(node, "last", disk.path / "p")
            last.create(COPY, dir=str(last.dir))
            last.signal("stop-monitor")
            first.create(COPY, forward=[{"to": ["last"]}], start_forwarder=True)
            disk.fill()
            data = os.urandom(1 << 20)
            first.put("big", {"data": data})
            why = "to last: cannot copy the unit: No space left on device"
            wait_for(lambda: first.status()["problems"] ==
                     [{"unit": "big", "problem": why}], WAIT, first.picture)
            assert first.where("big") == ["input/processed", "output/finished"]
            assert last.where("big") == []
            disk.free()
            first.until("output/sent", "big")
            assert (last.dir / "input/work/big/data").read_bytes() == data
            wait_for(lambda: not first.status()["problems"], WAIT, first.picture)
        finally:
            node.cleanup()


@needs_small
def test_a_full_journal_leaves_units_in_work(place):
    """Nothing can be queued: the unit is back in work, told, and taken when there is room."""
    with Small(place.path / "small", 48) as disk:
        node = place.daemon("--set", "journal.segment=1M", "--set", "limits.body=1M",
                            "--set", "journal.keep=0s", data=disk.path / "data")
        try:
            node.log_path = place.path / "small.log"
            node.start()
            processor = Processor(node, "p", place.path / "p")
            processor.create(COPY, dir=str(processor.dir))
            disk.fill()
            wait_for(lambda: node.api().request("POST", "/jobs", {
                "command": ["/bin/true"], "delay": 3600}).status == 503, WAIT,
                "adds are not refused")
            processor.put("u")
            why = "units cannot be queued: there is no room for new jobs; free disk space"
            wait_for(lambda: problems(processor) == why, WAIT, processor.picture)
            wait_for(lambda: processor.where("u") == ["input/work"], WAIT,
                     processor.picture)
            disk.free()
            processor.until("input/processed", "u")
            assert processor.where("u") == ["input/processed", "output/finished"]
        finally:
            node.cleanup()


@needs_small
def test_a_broker_divides_over_file_systems(place):
    """S4.86: a rename where it can, a copy where it must; each unit goes to one, and a name
    that its processor has already stays in the source and is told."""
    source = place.path / "incoming"
    source.mkdir()
    with Small(place.path / "small", 8) as disk:
        config = place.path / "broker.yaml"
        config.write_text(
            "processors:\n"
            f"  - {{name: near, command: '{COPY}'}}\n"
            f"  - {{name: far, command: '{COPY}', dir: {disk.path}/far}}\n"
            "brokers:\n"
            f"  - {{name: split, from: {source}, to: [near, far], mode: round-robin}}\n")
        node = place.daemon("--config", str(config)).start()
        try:
            ends = [Processor(node, "near"), Processor(node, "far", disk.path / "far")]
            names = {f"u{i}" for i in range(8)}
            for name in names:
                (source / f".{name}").mkdir()
                (source / f".{name}" / "data").write_text(name)
                os.rename(source / f".{name}", source / name)
            wait_for(lambda: not os.listdir(source), WAIT, node.tail)
            wait_for(lambda: sum(len(end.bucket("input/processed")) for end in ends) == 8,
                     WAIT, lambda: ends[0].picture() + ends[1].picture())
            shares = [end.bucket("input/processed") for end in ends]
            assert shares[0] | shares[1] == names and len(shares[0]) == len(shares[1]) == 4
            for end, share in zip(ends, shares):
                assert all((end.dir / "output/finished" / name / "data").read_text() == name
                           for name in share)
            for end in ends: # whoever's turn it is, this one is in the way
                (end.dir / "input/failed/clash").write_text("in the way")
            (source / "clash").write_text("new")
            wait_for(lambda: any("already" in row["problem"] for row in
                                 node.api().get("/processors")["brokers"][0]["problems"]),
                     WAIT, node.tail)
            assert (source / "clash").read_text() == "new"
            assert [end.where("clash") for end in ends] == [["input/failed"]] * 2
        finally:
            node.cleanup()


# --- no permission ----------------------------------------------------------------------

NOBODY = 65534


@needs_root
def test_where_the_daemon_may_not_write(place):
    """Not root: a directory that is not ours is refused by name; a bucket that is locked
    later closes the processor, keeps its units, and opens it again by itself."""
    prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    if subprocess.run([*prefix, program(), "version"], capture_output=True, timeout=120,
                      stdin=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("another user cannot run the program where it lies")
    home = place.path / "nobody"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    os.chmod(place.path, 0o755)
    node = place.daemon(data=home / "data")
    node.prefix = prefix
    node.env.update(HOME=str(home), XDG_CONFIG_HOME=str(home / "config"))
    node.log_path = place.path / "nobody.log"
    node.start()
    locked = place.path / "locked"
    locked.mkdir(mode=0o700)
    answer = Processor(node, "bad").create("true", status=422, dir=str(locked / "p"))
    assert answer["detail"] == f"cannot make the directory {locked}/p: Permission denied"
    processor = Processor(node, "p")
    processor.create(COPY)
    work = processor.dir / "input/work"
    node.stop()
    os.chmod(work, 0o555)
    (work / "u").write_text("x") # by root
    node.start()
    until_status(processor, up=False)
    why = f"the bucket {work} cannot be written: Permission denied"
    wait_for(lambda: problems(processor) == why, WAIT, lambda: problems(processor))
    assert processor.signal("process", "u", status=503)["detail"] == why
    assert processor.where("u") == ["input/work"]
    os.chmod(work, 0o755)
    processor.until("input/processed", "u")
    until_status(processor, up=True)
    node.cleanup()


# --- two machines -----------------------------------------------------------------------

RSYNCD = """port = 873
address = {address}
use chroot = no
pid file = {path}/rsyncd.pid
[ocr]
path = {directory}
read only = no
uid = 0
gid = 0
"""


@needs_hosts
@needs_rsync
def test_between_two_machines(place):
    """S4.15 S4.16 S4.17: a daemon on each of two hosts, rsync between them; a cable that is
    pulled keeps units where they were."""
    with hosts.TwoHosts() as two:
        near = place.daemon(data=place.path / "near")
        far = place.daemon(data=place.path / "far")
        near.prefix, far.prefix = two.prefix(0), two.prefix(1)
        near.start()
        far.start()
        last = Processor(far, "ocr")
        last.create(COPY)
        config = place.path / "rsyncd.conf"
        config.write_text(RSYNCD.format(address=two.addresses[1], path=place.path,
                                        directory=last.dir))
        with open(place.path / "rsyncd.log", "wb") as log:
            rsyncd = subprocess.Popen(
                [*two.prefix(1), "rsync", "--daemon", "--no-detach", f"--config={config}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            first = Processor(near, "scan")
            first.create(COPY, start_forwarder=True,
                         forward=[{"to": [f"rsync://{two.addresses[1]}/ocr"]}])
            first.put("a", {"page": b"1"})
            first.until("output/sent", "a")
            last.until("output/finished", "a")
            two.cable("down")
            first.put("b", {"page": b"2"})
            wait_for(lambda: first.status()["problems"], WAIT, first.picture)
            assert first.where("b") == ["input/processed", "output/finished"]
            assert last.where("b") == []
            two.cable("up")
            first.until("output/sent", "b")
            last.until("output/finished", "b")
            assert (last.dir / "output/finished/b/page").read_bytes() == b"2"
        finally:
            kill(rsyncd.pid)
            rsyncd.wait()
            near.cleanup()
            far.cleanup()
