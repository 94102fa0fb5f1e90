# SPDX-License-Identifier: Apache-2.0
"""Pipelines of directories, for bench/run: units through a processor against a plain shell
loop that does the same renames and spawns, and whether what waits makes a difference."""
import json
import os
import subprocess
import time

COMMAND = 'cat "$PAWL_INPUT" > "$PAWL_OUTPUT"'
# The same steps by hand: claim, run, output, input; nothing is made durable.
LOOP = """
cd "$1" || exit
for path in input/work/*; do
    unit=${path##*/}
    mv "$path" "input/active/$unit"
    PAWL_INPUT=$1/input/active/$unit PAWL_OUTPUT=$1/output/processing/$unit \\
        /bin/sh -c 'cat "$PAWL_INPUT" > "$PAWL_OUTPUT"'
    mv "output/processing/$unit" "output/finished/$unit"
    mv "input/active/$unit" "input/processed/$unit"
done
"""
BUCKETS = ("input/receive", "input/work", "input/active", "input/processed", "input/failed",
           "output/processing", "output/finished", "output/sent", "output/failed")


def make_units(folder, count, begin=0):
    for i in range(begin, begin + count):
        with open(f"{folder}/u{i:07}", "wb") as file:
            file.write(b"unit\n")


class Processor:
    def __init__(self, daemon, name, **fields):
        self.daemon, self.name = daemon, name
        self.dir = os.path.join(daemon.data, "processors", name)
        body = json.dumps({"command": COMMAND, "slots": 2, **fields}).encode()
        status, answer = daemon.request("PUT", f"/api/v1/processors/{name}", body)
        assert status == 201, answer

    def signal(self, signal):
        status, answer = self.daemon.request("POST", f"/api/v1/processors/{self.name}/{signal}")
        assert status == 200, answer

    def total(self, field):
        return json.loads(self.daemon.request("GET", f"/api/v1/processors/{self.name}")[1])[field]

    def time_to(self, field, count, seconds=600):
        """From now until the total has grown by so many; seconds."""
        begun, before = time.time(), self.total(field)
        while self.total(field) < before + count:
            assert time.time() < begun + seconds, "units do not move"
            time.sleep(0.05)
        return time.time() - begun


def shell_loop(scratch, count):
    """Units a second; two loops side by side, as the processor has two slots."""
    places = [os.path.join(scratch, f"loop{i}") for i in range(2)]
    for place in places:
        for bucket in BUCKETS:
            os.makedirs(f"{place}/{bucket}")
        make_units(f"{place}/input/work", count // 2)
    begun = time.time()
    loops = [subprocess.Popen(["/bin/sh", "-c", LOOP, "loop", place]) for place in places]
    for loop in loops:
        assert loop.wait() == 0
    return count / (time.time() - begun)


def waiting(processor, begin, end):
    """Fills input/work as producers do, cheaply: links of one file are files too."""
    seed = os.path.join(processor.dir, "input/receive/.seed")
    for made in range(begin, end):
        if made == begin or made % 60000 == 0: # what ext4 lets a file have
            if os.path.exists(seed):
                os.unlink(seed)
            with open(seed, "wb") as file:
                file.write(b"unit\n")
        os.link(seed, f"{processor.dir}/input/work/w{made:07}")


def measure(scratch, scale, make_daemon, show):
    count = 400 * scale
    loop = shell_loop(scratch, count)
    daemon = make_daemon(scratch)
    one = Processor(daemon, "one")
    one.signal("stop-monitor")
    make_units(f"{one.dir}/input/work", count)
    one.signal("start-monitor")
    rate = count / one.time_to("completed_total", count)
    show("pipeline: units processed, 2 slots", rate, "units/s", loop, rate / loop,
         "0.80 of a shell loop")
    measure_forward(daemon, one, count, show)
    daemon.close()
    for depth in (10000, 500000 * scale):
        measure_depth(scratch, depth, count // 4, make_daemon, show)


def measure_forward(daemon, one, count, show):
    last = Processor(daemon, "last", command="true")
    last.signal("stop-monitor")
    body = json.dumps({"command": COMMAND, "slots": 2, "forward": [{"to": ["last"]}]}).encode()
    assert daemon.request("PUT", "/api/v1/processors/one", body)[0] == 200
    one.signal("start-forwarder")
    rate = count / one.time_to("forwarded_total", count)
    show("pipeline: units forwarded on this node", rate, "units/s")


ROUNDS = 6


def measure_depth(scratch, depth, count, make_daemon, show):
    """Units a second with 100 and with `depth` waiting, in one daemon, by turns: what else
    the machine does weighs on both."""
    daemon = make_daemon(scratch)
    few, deep = Processor(daemon, "few"), Processor(daemon, "deep")
    seconds, made, memory = {few: 0.0, deep: 0.0}, {few: 0, deep: 0}, {}
    for processor, waits in ((few, 100), (deep, depth)):
        processor.signal("stop-monitor")
        waiting(processor, 0, waits)
        made[processor] = waits
    os.sync()
    for turn in range(ROUNDS + 1):
        for processor in (few, deep) if turn % 2 else (deep, few):
            waiting(processor, made[processor], made[processor] + count)
            made[processor] += count
            processor.signal("start-monitor")
            took = processor.time_to("completed_total", count)
            processor.signal("stop-monitor")
            if turn: # caches are as warm for both
                seconds[processor] += took
        if turn == 0:
            memory = daemon.resident_mib()
    rates = {processor: ROUNDS * count / took for processor, took in seconds.items()}
    show(f"pipeline: units/s with {depth:,} waiting", rates[deep], "units/s", rates[few],
         rates[deep] / rates[few], "within 1.3 x")
    show(f"pipeline: memory with {depth:,} waiting", daemon.resident_mib(), "MiB", memory,
         daemon.resident_mib() / memory, "within 1.3 x")
    daemon.close()
