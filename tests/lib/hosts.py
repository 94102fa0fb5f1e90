# SPDX-License-Identifier: Apache-2.0
"""hosts - two machines of a test's own: network namespaces with a cable between them.

Needs root; why_not() says what is missing.
"""
import functools
import os
import subprocess


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")


class TwoHosts:
    """hosts a and b, with the addresses 10.98.0.1 and 10.98.0.2."""

    def __init__(self):
        self.names = [f"pawl-{os.getpid()}-{letter}" for letter in "ab"]
        self.addresses = ["10.98.0.1", "10.98.0.2"]

    def prefix(self, host):
        """What runs a command on the host."""
        return ["ip", "netns", "exec", self.names[host]]

    def cable(self, state):
        ip("-n", self.names[0], "link", "set", "cable", state)

    def __enter__(self):
        try:
            for name in self.names:
                ip("netns", "add", name)
            ip("-n", self.names[0], "link", "add", "cable", "type", "veth", "peer", "name",
               "cable", "netns", self.names[1])
            for name, address in zip(self.names, self.addresses):
                ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
                ip("-n", name, "link", "set", "lo", "up")
                ip("-n", name, "link", "set", "cable", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.names:
            try:
                ip("netns", "del", name)
            except OSError:
                pass


@functools.lru_cache(maxsize=None)
def why_not():
    """None where this works, else a sentence."""
    try:
        with TwoHosts() as hosts:
            subprocess.run([*hosts.prefix(0), "true"], check=True, timeout=60,
                           capture_output=True)
    except (OSError, subprocess.SubprocessError) as why:
        return f"this machine forbids it ({why})"
    return None
