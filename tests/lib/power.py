# SPDX-License-Identifier: Apache-2.0
"""power - a node whose disk loses its power again and again under load."""
from lib.crash import Crashes
from lib.daemon import processes_with
from lib.disk import Disk


class PowerCuts(Crashes):
    """The data directory lives on a disk of its own; history and witness do not."""

    def __init__(self, place, seed, *options):
        self.disk = Disk(place.path / "disk").mount()
        super().__init__(place, seed, *options, data=self.disk.path / "data")
        self.node.log_path = place.path / "power.log"

    def cycle(self):
        self.work(0.5)
        self.cut()
        self.disk.mount()
        self.up()

    def cut(self):
        self.crash("power", self.power_off)
        self.disk.umount()

    def power_off(self):
        """It is gone for the disk first and then for every process."""
        self.disk.cut()
        self.node.kill()
        self.node.kill_launcher()
        while self.node.kill_jobs():
            pass

    def close(self):
        super().close()
        assert not processes_with(f"={self.node.data}/")
        self.disk.umount()
