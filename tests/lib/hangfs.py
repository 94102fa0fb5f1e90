# SPDX-License-Identifier: Apache-2.0
"""hangfs - a file system that takes every question and answers none, as a dead NFS server does.

    with HangingFolder(path) as folder:   # root only
        ...                               # whoever touches `path` waits, and cannot be killed
    # now all of them got an error

It speaks FUSE to the kernel itself: mounted, it answers the greeting and nothing more.
"""
import ctypes
import os
import struct
import threading

FUSE_INIT = 26
DEVICE = "/dev/fuse"
MNT_FORCE = 1   # requests under way are ended
MNT_DETACH = 2
libc = ctypes.CDLL(None, use_errno=True)


def why_not():
    """Why there can be none here, or ''."""
    if os.geteuid() != 0:
        return "mounting needs root"
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return f"no {DEVICE}"
    return ""


class HangingFolder:
    def __init__(self, path):
        self.path = str(path)
        self.asked = threading.Event()  # someone waits in it

    def __enter__(self):
        self.fd = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        if libc.mount(b"hangs", self.path.encode(), b"fuse", 0, options.encode()):
            number = ctypes.get_errno()
            os.close(self.fd)
            raise OSError(number, f"cannot mount: {os.strerror(number)}")
        self.greet()
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()
        return self

    def greet(self):
        asked = os.read(self.fd, 1 << 20)
        _, opcode, unique = struct.unpack_from("=IIQ", asked)
        assert opcode == FUSE_INIT
        reply = struct.pack("=IIII HHI I HH 8I", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, *[0] * 8)
        os.write(self.fd, struct.pack("=IiQ", 16 + len(reply), 0, unique) + reply)

    def listen(self):
        try:
            while os.read(self.fd, 1 << 20):
                self.asked.set()
        except OSError:
            pass # released

    def release(self):
        """Everyone who waits gets an error."""
        if self.fd is None:
            return
        fd, self.fd = self.fd, None
        libc.umount2(self.path.encode(), MNT_DETACH | MNT_FORCE)
        os.close(fd)

    def __exit__(self, *_):
        self.release()
