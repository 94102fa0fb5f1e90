# SPDX-License-Identifier: Apache-2.0
"""pipeline_power - chained processors on a disk that loses its power again and again.

The producer syncs each unit before it counts as put: so every unit must come out at the
end, once and whole, and nothing else may. One round of lib/prove.py."""
import os
import threading
import time

from lib.disk import Disk
from lib.pipeline import Pipeline

UNITS_EACH = 6


class Put:
    """What was put so far; a Load without a thread."""

    def __init__(self):
        self.units = {}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=lambda: None)
        self.thread.start()


def sync(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class PipelinePower(Pipeline):
    def __init__(self, place, seed):
        self.disk = Disk(place.path / "disk").mount()
        super().__init__(place, seed, units=0, data=self.disk.path / "data")
        self.node.log_path = place.path / "power.log"

    def start(self):
        super().start()
        self.load = Put()

    def start_rsyncd(self):
        return False # it would hold on to the disk

    def put(self):
        """As a careful producer: bytes, then the rename, each on disk."""
        name = f"u{len(self.load.units):05}"
        data = self.rng.randbytes(self.rng.choice((10, 1000, 100000)))
        made = self.first.dir / "input/receive" / f".{name}"
        made.mkdir()
        (made / "part").write_bytes(data)
        sync(made / "part")
        sync(made)
        os.rename(made, self.first.dir / "input/work" / name)
        sync(self.first.dir / "input/work")
        self.load.units[name] = data

    def cycle(self):
        for _ in range(UNITS_EACH):
            self.put()
            time.sleep(self.rng.random() * 0.1)
        time.sleep(self.rng.random() * 0.6)
        self.kills["power"] += 1
        self.disk.cut()
        self.node.kill()
        self.node.kill_launcher()
        while self.node.kill_jobs():
            pass
        self.disk.umount()
        self.disk.mount()
        self.node.start()

    def close(self):
        super().close()
        self.node.cleanup()
        self.disk.umount()
