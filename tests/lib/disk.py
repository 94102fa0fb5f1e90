# SPDX-License-Identifier: Apache-2.0
"""disk - file systems of a test's own: one that loses its power, one that is small.

A power cut is FS_IOC_SHUTDOWN without flushing the log: what was not synced is gone, and
every later write fails. Needs root and loop devices; why_not() says what is missing.
"""
import fcntl
import functools
import os
import pathlib
import struct
import subprocess
import tempfile

from lib.api import PATIENCE, wait_for

FS_IOC_SHUTDOWN = 0x8004587D # _IOR('X', 125, __u32)
NO_LOG_FLUSH = 2


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")


def umount(path):
    """A process that was killed may hold on to it for a moment more."""
    done = None

    def gone():
        nonlocal done
        done = subprocess.run(["umount", path], capture_output=True, text=True)
        return done.returncode == 0 or "busy" not in done.stderr
    wait_for(gone, PATIENCE, lambda: f"umount {path}: {done.stderr.strip()}", pause=0.1)
    if done.returncode:
        raise OSError(f"umount {path}: {done.stderr.strip()}")


class Disk:
    """ext4 in a file."""

    def __init__(self, path, mebibytes=96):
        self.image = pathlib.Path(path).with_suffix(".img")
        self.path = pathlib.Path(path)
        self.mounted = False
        with open(self.image, "wb") as file:
            file.truncate(mebibytes << 20)
        run("mkfs.ext4", "-q", "-F", "-J", "size=4", "-m", "0", self.image)

    def mount(self):
        self.path.mkdir(exist_ok=True)
        run("mount", "-o", "loop", self.image, self.path)
        self.mounted = True
        return self

    def cut(self):
        """The power is gone. Whatever is open gives errors from now on."""
        fd = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, FS_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(fd)

    def umount(self):
        if self.mounted:
            umount(self.path)
            self.mounted = False

    def __enter__(self):
        return self.mount()

    def __exit__(self, *_):
        self.umount()


class Small:
    """tmpfs of a given size."""

    def __init__(self, path, mebibytes):
        self.path, self.mebibytes = pathlib.Path(path), mebibytes

    def __enter__(self):
        self.path.mkdir()
        run("mount", "-t", "tmpfs", "-o", f"size={self.mebibytes}m", "none", self.path)
        return self

    def __exit__(self, *_):
        umount(self.path)

    def fill(self):
        """Takes all that is left, to the last byte."""
        with open(self.path / "filler", "wb", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass

    def free(self):
        (self.path / "filler").unlink()


@functools.lru_cache(maxsize=None)
def why_not(power=True):
    """None where all of this works, else a sentence."""
    try:
        with tempfile.TemporaryDirectory() as place:
            if not power:
                with Small(pathlib.Path(place) / "small", 1):
                    return None
            with Disk(pathlib.Path(place) / "disk", 16) as disk:
                disk.cut()
    except OSError as why:
        return f"this machine forbids it ({why})"
    return None
