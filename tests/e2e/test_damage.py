# SPDX-License-Identifier: Apache-2.0
"""What is changed or removed under the daemon is noticed, and never acted upon."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for             # noqa: E402
from lib.daemon import Place             # noqa: E402


@pytest.fixture
def place():
    with Place() as place:
        yield place


def flip(path, text):
    """One bit of the last place where the text stands; how often it stands there."""
    data = bytearray(path.read_bytes())
    at = data.rfind(text)
    assert at >= 0, text
    data[at + 1] ^= 1
    path.write_bytes(data)
    return data.count(text)


def test_a_flipped_bit_never_becomes_another_job(place):
    """reliability I2, F23: neither run nor shown with another payload; told; others go on."""
    node = place.daemon("--store", "sqlite:", "--slots", "1").start()
    api = node.api()
    out = place.path / "out"
    api.request("PATCH", "/config", {"enabled": False})
    first = api.add(command=["/bin/sh", "-c", f"cat >>{out}"], payload="the payload of the first job\n")
    second = api.add(command=["/bin/sh", "-c", f"cat >>{out}"], payload="the second one\n")
    node.stop()
    store = node.data / "pawl.db"
    assert not pathlib.Path(f"{store}-wal").exists() # all of it is in the file
    flip(store, b"payload of the first job")
    node.start()
    api = node.api()
    api.request("PATCH", "/config", {"enabled": True})
    assert api.until(second["id"])["state"] == "done"
    assert out.read_text() == "the second one\n"
    refused = api.request("GET", f"/jobs/{first['id']}")
    assert (refused.status, refused.json()["code"]) == (500, "store_damaged"), refused
    listed = [job["id"] for job in api.get("/jobs")["items"]]
    assert listed == [second["id"]]
    assert f"event=store.damaged job={first['id']}" in node.log()
    assert "\npawl_store_damaged_jobs 1\n" in api.request("GET", "/metrics").body.decode()


@pytest.mark.parametrize("what", ["pawl.db", "journal/*.journal"])
def test_what_is_removed_under_the_daemon_stops_acknowledgements(place, what):
    node = place.daemon("--store", "sqlite:").start()
    api = node.api()
    api.add(command=["/bin/true"])
    removed = list(node.data.glob(what))
    assert removed
    for path in removed:
        path.unlink()
    wait_for(lambda: api.request("POST", "/jobs", {"command": ["/bin/true"]}).status == 503, 60)
    ready = api.request("GET", "/readyz")
    assert ready.status == 503 and "data_directory_gone" in ready.json()["detail"], ready
    assert "event=daemon.data_gone" in node.log()
    node.kill()
