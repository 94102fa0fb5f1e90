# SPDX-License-Identifier: Apache-2.0
"""Forwarders and brokers of document 004 on this node; test_forwarder_far has the others."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for             # noqa: E402
from lib.forwarding import COPY, home, make, node # noqa: E402,F401
from lib.processor import (HOSTILE, WAIT, Processor, content, hostile_units,  # noqa: E402
                           problem_of, until_status)


def test_the_forwarder_is_off_until_it_is_started(make):
    """S4.11 S4.12 S4.18 S4.40 S4.47 S4.48: started, it moves what arrived to sent."""
    last = make()
    first = make(forward=[{"to": [last.name]}])
    first.put("a", b"one")
    first.put("b", {"x": b"X", "y": b"Y"})
    first.until("output/finished", "a", "b")
    until_status(first, forwarding=False, finished=2)
    assert last.bucket("input/work") == set()
    first.signal("start-forwarder")
    first.until("output/sent", "a", "b")
    last.until("output/finished", "a", "b")
    last.until("input/processed", "a", "b")
    assert content(last.dir / "output/finished/b") == {"x": b"X", "y": b"Y"}
    status = until_status(first, sent=2, finished=0, forwarded_total=2)
    assert status["rate_forwarding"] > 0
    assert last.bucket("input/receive") == set()


def test_stopped_it_sends_nothing_new_and_quick_switches_lose_nothing(make):
    """S4.19"""
    last = make()
    first = make(forward=[{"to": [last.name]}])
    first.signal("start-forwarder")
    names = [f"u{i}" for i in range(12)]
    for name in names:
        first.put(name)
        first.signal("stop-forwarder")
        first.signal("start-forwarder")
    first.until("output/sent", *names)
    last.until("input/processed", *names)
    first.signal("stop-forwarder")
    first.put("later")
    first.until("output/finished", "later")
    wait_for(lambda: first.status()["transfers"] == 0, WAIT, first.picture)
    assert last.where("later") == []


def under_way(first):
    """A machine that is too busy may see it sent already; then less is proven."""
    wait_for(lambda: first.status()["transfers"] == 1 or first.bucket("output/sent"), WAIT,
             first.picture)


def test_a_stopped_forwarder_finishes_what_is_under_way(make):
    """S4.19: the transfer and its renames end; nothing new begins."""
    last = make()
    first = make(forward=[{"to": [last.name], "slots": 1, "bandwidth": 150}])
    big = os.urandom(400 << 10)
    first.put("big", big)
    first.until("output/finished", "big")
    first.signal("start-forwarder")
    under_way(first)
    assert first.signal("stop-forwarder")["forwarding"] is False
    first.put("later")
    first.until("output/finished", "later")
    first.until("output/sent", "big")
    last.until("input/processed", "big")
    assert content(last.dir / "output/finished/big") == big
    until_status(first, transfers=0, forwarding=False)
    assert first.where("later") == ["input/processed", "output/finished"]
    assert last.where("later") == []
    first.signal("start-forwarder")
    first.until("output/sent", "later")


def test_reset_processed_stops_the_forwarder_for_its_time(make):
    """S4.27: it waits for a transfer that is under way, and nothing is sent of what it
    deletes; afterwards the forwarder is on again if it was, and off if it was not."""
    last = make()
    last.signal("stop-monitor")
    first = make(forward=[{"to": [last.name], "slots": 1, "bandwidth": 150}])
    first.put("u", os.urandom(300 << 10))
    first.put("v", b"v")
    first.until("output/finished", "u", "v")
    first.signal("stop-monitor")
    assert first.signal("reset-processed", "v")["forwarding"] is False
    assert first.where("v") == ["input/work"]
    first.signal("start-forwarder")
    under_way(first)
    first.signal("reset-processed") # answers when the transfer of u has ended
    until_status(first, transfers=0, forwarding=True)
    assert first.where("u") == first.where("v") == ["input/work"]
    assert last.where("u") == ["input/work"] and last.where("v") == []
    first.signal("start-monitor")
    first.until("output/sent", "u", "v")
    assert last.where("v") == ["input/work"]


def test_hostile_names_on_this_node(make):
    last = make()
    hostile_units(make(forward=[{"to": [last.name]}], start_forwarder=True), last, HOSTILE)


def test_links_in_a_unit_stay_links(make, home):
    """Nothing outside the tree is read, here or there; a pipe does not stop a transfer."""
    secret = home.path / "secret"
    secret.write_text("secret")
    last = make('cp -a "$PAWL_INPUT" "$PAWL_OUTPUT"')
    first = make(f'mkdir "$PAWL_OUTPUT"; ln -s {secret} "$PAWL_OUTPUT/out"; '
                 'ln -s ../../.. "$PAWL_OUTPUT/up"; mkfifo "$PAWL_OUTPUT/pipe"',
                 forward=[{"to": [last.name]}], start_forwarder=True)
    first.put("u")
    last.until("output/finished", "u")
    found = last.dir / "output/finished/u"
    assert os.readlink(found / "out") == str(secret) and os.readlink(found / "up") == "../../.."
    assert not os.path.lexists(found / "pipe")


def test_every_destination_of_every_forwarder(make):
    """S4.17: one unit to three processors of two forwarders; sent when all have it."""
    ends = [make() for _ in range(3)]
    ends[2].signal("stop-monitor")
    first = make(forward=[{"to": [ends[0].name, ends[1].name]}, {"to": [ends[2].name]}],
                 start_forwarder=True)
    first.put("u", b"1")
    first.until("output/sent", "u")
    for end in ends[:2]:
        end.until("input/processed", "u")
    assert ends[2].where("u") == ["input/work"]


def test_a_unit_that_waits_is_sent_again_as_a_difference(make):
    """S4.14: back from work to receive, then renamed into work again; never two."""
    last = make()
    last.signal("stop-monitor")
    first = make(forward=[{"to": [last.name]}], start_forwarder=True)
    first.put("u", b"old")
    first.until("output/sent", "u")
    first.signal("stop-monitor")
    first.signal("reset-processed", "u")
    (first.dir / "input/work/u").write_bytes(b"new and longer")
    first.signal("start-monitor")
    first.until("output/sent", "u")
    assert last.where("u") == ["input/work"]
    assert content(last.dir / "input/work/u") == b"new and longer"
    # The same name of someone else is a clash: it stays, at both ends.
    other = make(forward=[{"to": [last.name]}], start_forwarder=True)
    other.put("u", b"other")
    wait_for(lambda: other.status()["problems"], WAIT, other.picture)
    assert problem_of(other, "u") == (
        f"to {last.name}: it has a unit of this name already, in input/work")
    assert other.where("u") == ["input/processed", "output/finished"]
    assert content(last.dir / "input/work/u") == b"new and longer"


def test_an_unknown_destination_keeps_the_unit(make):
    first = make(forward=[{"to": ["nobody"]}], start_forwarder=True)
    first.put("u")
    wait_for(lambda: first.status()["problems"], WAIT, first.picture)
    assert problem_of(first, "u") == "to nobody: there is no such processor on this node"
    assert first.where("u") == ["input/processed", "output/finished"]


@pytest.mark.parametrize("mode", ["round-robin", "hash", "least-loaded"])
def test_modes_give_each_unit_to_one(make, mode):
    ends = [make() for _ in range(2)]
    for end in ends:
        end.signal("stop-monitor")
    first = make(forward=[{"to": [end.name for end in ends], "mode": mode}],
                 start_forwarder=True)
    names = {f"u{i}" for i in range(8)}
    for name in names:
        first.put(name)
    first.until("output/sent", *names)
    shares = [end.bucket("input/work") for end in ends]
    assert shares[0] | shares[1] == names and not shares[0] & shares[1]
    assert all(shares)
    if mode == "round-robin":
        assert len(shares[0]) == len(shares[1]) == 4


def test_a_delivery_that_was_not_marked_is_not_repeated(home):
    """As after a crash between the delivery and its mark: the destination knows it."""
    node = home.daemon(data=home.path / "unmarked").start()
    last, first = Processor(node, "last"), Processor(node, "first")
    last.create(COPY)
    first.create(COPY, forward=[{"to": ["last"]}], start_forwarder=True)
    first.put("u", b"1")
    last.until("input/processed", "u")
    first.until("output/sent", "u")
    node.stop()
    # The rename keeps inode and ctime differ: so the record is made to fit, as the
    # destination would have it had the sender died before its own mark.
    os.rename(first.dir / "output/sent/u", first.dir / "output/finished/u")
    found = os.stat(first.dir / "output/finished/u")
    record = last.dir / ".pawl/arrived/u"
    sender = os.readlink(record).split(" ")[0]
    seconds, nanos = divmod(found.st_ctime_ns, 10**9)
    record.unlink()
    record.symlink_to(f"{sender} {found.st_ino}-{seconds}.{nanos:09}")
    node.start()
    first.until("output/sent", "u")
    assert last.where("u") == ["input/processed", "output/finished"]
    node.cleanup()


def test_records_of_deliveries_do_not_pile_up(home):
    """After a week nobody repeats a delivery; one whose unit still waits is kept."""
    node = home.daemon(data=home.path / "week").start()
    last, first = Processor(node, "last"), Processor(node, "first")
    last.create(COPY)
    first.create(COPY, forward=[{"to": ["last"]}], start_forwarder=True)
    first.put("old")
    first.put("new")
    last.until("input/processed", "old", "new")
    first.until("output/sent", "old", "new")
    last.signal("stop-monitor")
    first.put("waits")
    first.until("output/sent", "waits")
    records = last.dir / ".pawl/arrived"
    for name in ("old", "waits"):
        week = os.lstat(records / name).st_mtime - 8 * 86400
        os.utime(records / name, (week, week), follow_symlinks=False)
    node.restart() # it looks at the start, and every hour
    wait_for(lambda: not os.path.lexists(records / "old"), WAIT, last.picture)
    assert os.path.lexists(records / "new") and os.path.lexists(records / "waits")
    node.cleanup()


def test_a_processor_of_another_node_is_told(make, node):
    """NAME@NODE: this node's own is reached, another's is named in the problem."""
    last = make()
    here = last.status()["node"]
    first = make(forward=[{"to": [f"{last.name}@{here}"]}], start_forwarder=True)
    first.put("u")
    first.until("output/sent", "u")
    last.until("input/processed", "u")
    lost = make(forward=[{"to": [f"{last.name}@elsewhere"]}], start_forwarder=True)
    lost.put("v")
    wait_for(lambda: any("elsewhere" in row["problem"] and here in row["problem"]
                         for row in lost.status()["problems"]), WAIT, lost.picture)
    assert lost.where("v") == ["input/processed", "output/finished"]
    for bad in ("a@", "@b", "a@b@c", "a@../x"):
        Processor(node, "bad").create("true", status=422, forward=[{"to": [bad]}])


def test_a_broker_divides_a_directory(home):
    """S4.84 S4.86: started from the configuration; every unit goes to exactly one."""
    source = home.path / "incoming"
    source.mkdir()
    config = home.path / "broker.yaml"
    config.write_text(
        "processors:\n"
        f"  - {{name: a, command: '{COPY}'}}\n"
        f"  - {{name: b, command: '{COPY}'}}\n"
        "brokers:\n"
        f"  - {{name: split, from: {source}, to: [a, b], mode: least-loaded}}\n")
    node = home.daemon("--config", str(config), data=home.path / "brokered").start()
    ends = [Processor(node, "a"), Processor(node, "b")]
    for end in ends:
        end.signal("stop-monitor")
    names = {f"u{i}" for i in range(10)}
    for name in names:
        (source / f".{name}").write_text(name)
        os.rename(source / f".{name}", source / name)
    wait_for(lambda: not os.listdir(source) and
             ends[0].bucket("input/work") | ends[1].bucket("input/work") >= names, WAIT,
             lambda: node.tail())
    shares = [end.bucket("input/work") for end in ends]
    assert shares[0] | shares[1] == names and not shares[0] & shares[1]
    assert len(shares[0]) == len(shares[1]) == 5
    for end in ends:
        end.signal("start-monitor")
    for end, share in zip(ends, shares):
        end.until("input/processed", *share)
    wait_for(lambda: node.api().get("/processors")["brokers"][0]["divided_total"] == 10, WAIT)
    node.cleanup()
