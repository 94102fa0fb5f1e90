# SPDX-License-Identifier: Apache-2.0
"""ARCHITECTURE.md says who may see whom as tools/tidy does, and its links lead somewhere."""
import importlib.machinery
import importlib.util
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text()


def layers():
    loader = importlib.machinery.SourceFileLoader("tidy", str(ROOT / "tools/tidy"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
    loader.exec_module(module)
    return {room: seen for room, seen in module.LAYERS.items() if room}


def rows():
    """Room -> what the table says it may see."""
    found = re.findall(r"^\| `([\w/]+)` \| [^|]+ \| ([^|]*)\|$", TEXT, re.M)
    return {room: set(re.findall(r"`([^`]+)`", seen)) for room, seen in found}


def test_the_table_is_that_of_tidy():
    told = rows()
    for room, seen in layers().items():
        row = ", ".join(f"`{name}`" for name in sorted(seen))
        assert told.get(room) == seen, f"the row of {room} should say: {row}"
    assert set(told) == set(layers())


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", TEXT)
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]


def test_every_room_has_a_row():
    folders = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
    assert folders == {room.split("/")[0] for room in rows()}
