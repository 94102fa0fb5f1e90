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


def waiting(processor, count):
    """Fills input/work as producers do, cheaply: links of one file are files too."""
    seed = os.path.join(processor.dir, "input/receive/.seed")
    with open(seed, "wb") as file:
        file.write(b"unit\n")
    made = 0
    while made < count:
        if made % 60000 == 0: # what ext4 lets a file have
            os.unlink(seed)
            with open(seed, "wb") as file:
                file.write(b"unit\n")
        os.link(seed, f"{processor.dir}/input/work/w{made:07}")
        made += 1


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
    few = measure_waiting(scratch, 100, count, make_daemon)
    for depth in (10000, 500000 * scale):
        many = measure_waiting(scratch, depth, count, make_daemon)
        show(f"pipeline: units/s with {depth:,} waiting", many[0], "units/s", few[0],
             many[0] / few[0], "within 1.3 x")
        show(f"pipeline: memory with {depth:,} waiting", many[1], "MiB", few[1],
             many[1] / few[1], "within 1.3 x")


def measure_forward(daemon, one, count, show):
    last = Processor(daemon, "last", command="true")
    last.signal("stop-monitor")
    body = json.dumps({"command": COMMAND, "slots": 2, "forward": [{"to": ["last"]}]}).encode()
    assert daemon.request("PUT", "/api/v1/processors/one", body)[0] == 200
    one.signal("start-forwarder")
    rate = count / one.time_to("forwarded_total", count)
    show("pipeline: units forwarded on this node", rate, "units/s")


def measure_waiting(scratch, depth, count, make_daemon):
    """Units a second and resident MiB while `depth` units wait behind those processed."""
    daemon = make_daemon(scratch)
    processor = Processor(daemon, "deep")
    processor.signal("stop-monitor")
    waiting(processor, depth + count)
    processor.signal("start-monitor")
    processor.time_to("completed_total", count // 4) # caches are as warm for all
    seconds = processor.time_to("completed_total", count // 2)
    memory = daemon.resident_mib()
    processor.signal("stop-monitor")
    daemon.close()
    return count // 2 / seconds, memory
