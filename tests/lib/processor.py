# SPDX-License-Identifier: Apache-2.0
"""processor - one processor of a daemon, seen through the API and through its directory."""
import os
import pathlib
import time
import urllib.parse

from lib.api import wait_for

WAIT = 120
BUCKETS = ("input/receive", "input/work", "input/active", "input/processed",
           "input/failed", "output/processing", "output/finished", "output/sent",
           "output/failed")


def quote(name):
    return urllib.parse.quote(os.fsencode(name), safe="")


class Processor:
    def __init__(self, node, name, directory=None):
        self.node, self.name = node, name
        self.dir = pathlib.Path(directory or node.data / "processors" / name)

    def create(self, command, status=201, **fields):
        answer = self.node.api().request("PUT", f"/processors/{self.name}",
                                         {"command": command, **fields})
        assert answer.status == status, answer
        return answer.json()

    def status(self):
        return self.node.api().get(f"/processors/{self.name}")

    def signal(self, signal, unit=None, status=200, **query):
        if unit is not None:
            query["unit"] = os.fsencode(unit)
        text = urllib.parse.urlencode(query)
        answer = self.node.api(120).request(
            "POST", f"/processors/{self.name}/{signal}" + (f"?{text}" if text else ""))
        assert answer.status == status, answer
        return answer.json()

    def unit(self, unit):
        return self.node.api().get(f"/processors/{self.name}/units/{quote(unit)}")["status"]

    # --- the directory ---------------------------------------------------------------

    def bucket(self, bucket):
        """Names in a bucket, hidden ones too."""
        return set(os.listdir(self.dir / bucket))

    def where(self, unit):
        """Every bucket that has the unit."""
        return [bucket for bucket in BUCKETS if os.path.lexists(self.dir / bucket / unit)]

    def put(self, unit, data=b"data\n"):
        """As producers do: write under another name, then rename into work."""
        made = self.dir / "input/receive" / f".{os.getpid()}.{time.monotonic_ns()}"
        if isinstance(data, dict):
            made.mkdir()
            for name, text in data.items():
                (made / name).write_bytes(text)
        else:
            made.write_bytes(data)
        os.rename(made, os.fsencode(str(self.dir / "input/work")) + b"/" + os.fsencode(unit))

    def until(self, bucket, *units):
        wait_for(lambda: self.bucket(bucket) >= set(units), WAIT,
                 lambda: f"{units} not in {bucket} of {self.name}: {self.picture()}")

    def picture(self):
        held = {bucket: sorted(self.bucket(bucket)) for bucket in BUCKETS
                if self.bucket(bucket)}
        return f"{held}\n{self.status().get('problems')}\n{self.node.tail(30)}"


def until_status(processor, **fields):
    """Counts are looked up now and then, and told behind the renames."""
    return wait_for(lambda: (status := processor.status()) and
                    {key: status[key] for key in fields} == fields and status, WAIT,
                    lambda: f"{fields}: {processor.status()}\n{processor.picture()}")


def problem_of(processor, unit):
    """The sentence that a user reads about the unit."""
    return next(row["problem"] for row in processor.status()["problems"]
                if row["unit"] == unit)


def content(path):
    if path.is_dir():
        return {str(at.relative_to(path)): at.read_bytes()
                for at in path.rglob("*") if at.is_file()}
    return path.read_bytes()


HOSTILE = [b"two\nlines", b"-rf", b"x..", b"\xff\xfe", b"a'b \"$(touch x);", b"n" * 255,
           b"*", b"a b", b"\\"]


def hostile_units(first, last, names):
    """Every one arrives under its own name, with a link that leads nowhere else."""
    for name in names:
        first.put(name, {"data": name})
    sent, done = os.fsencode(first.dir / "output/sent"), os.fsencode(last.dir / "output/finished")
    wait_for(lambda: set(os.listdir(sent)) == set(os.listdir(done)) == set(names), WAIT,
             first.picture)
    for name in names:
        with open(done + b"/" + name + b"/data", "rb") as file:
            assert file.read() == name
