# SPDX-License-Identifier: Apache-2.0
"""What 0.1.0 has written is opened and gone on with (tests/data/0.1.0 was made by it)."""
import lzma
import pathlib
import subprocess
import sys
import tarfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.daemon import Place             # noqa: E402
from lib.postgres import BIN, Server     # noqa: E402

OLD = pathlib.Path(__file__).resolve().parents[1] / "data" / "0.1.0"
OPTIONS = ("--slots", "2", "--set", "journal.segment=1M", "--set", "limits.body=256K",
           "--set", "limits.payload=64K")


@pytest.fixture
def place():
    with Place() as place:
        yield place


def unpack(name, place):
    with tarfile.open(OLD / f"{name}.tar.xz") as tar:
        tar.extractall(place.path)
    return place.path / "data"


def goes_on(api):
    jobs = {job["name"]: job for job in api.all()}
    assert {name: job["state"] for name, job in jobs.items()} == {
        "has run": "done", "has failed": "failed", "held": "held", "large": "held",
        "later": "deferred"}
    held = api.job(jobs["held"]["id"])
    assert (held["priority"], held["queue"], held["tags"]) == (9, "mail", ["a", "b"])
    for name in ("held", "large"):
        api.act(jobs[name]["id"], "release")
        assert api.until(jobs[name]["id"])["state"] == "done"
    assert api.log(jobs["held"]["id"]) == b"what it is to do\n"
    assert api.until(api.add(command=["/bin/true"])["id"])["state"] == "done"
    assert "pawl_store_damaged_jobs 0\n" in api.request("GET", "/metrics").body.decode()


def test_a_data_directory_of_0_1_0_goes_on(place):
    node = place.daemon(*OPTIONS, "--store", "sqlite:", data=unpack("sqlite", place)).start()
    goes_on(node.api())
    node.restart()
    assert len(node.api().all()) == 6


def test_a_schema_of_0_1_0_goes_on(place):
    server = Server()
    try:
        server.make().start()
        server.ask("CREATE DATABASE old")
        dump = lzma.decompress((OLD / "postgresql.sql.xz").read_bytes())
        subprocess.run([BIN / "psql", "-q", "-v", "ON_ERROR_STOP=1", "-h", server.home, "-U", "pawl",
                        "old"], input=dump, check=True, stdout=subprocess.DEVNULL)
        node = place.daemon(*OPTIONS, "--store", f"postgresql://pawl@/old?host={server.home}",
                            data=unpack("postgresql", place)).start()
        goes_on(node.api())
        node.restart()
        assert len(node.api().all()) == 6
    finally:
        server.cleanup()
