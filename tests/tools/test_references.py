# SPDX-License-Identifier: Apache-2.0
"""Every id of a requirement or an invariant in code and tests leads to a line of docs/."""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHERE = ("src", "testing", "sim", "tests", "bench", "fuzz")
ID = re.compile(r"\b(?:[SB][0-4]\.\d+|I\d{1,2})\b")


def defined():
    lines = (ROOT / "docs/requirements.md").read_text().splitlines()
    ids = {match[1] for line in lines if (match := re.match(r"- \*\*([SB]\d\.\d+)\*\* ", line))}
    rows = (ROOT / "docs/invariants.md").read_text().splitlines()
    return ids | {match[1] for row in rows if (match := re.match(r"\| (I\d+) \| ", row))}


def named():
    """Ids in comments, texts and docstrings, with one place each."""
    places = {}
    listed = subprocess.run(["git", "ls-files", *WHERE], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split()
    for name in listed:
        path = ROOT / name
        if path.suffix not in (".c", ".h", ".py") and "prove" not in name:
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for found in ID.findall(line):
                places.setdefault(found, f"{name}:{number}")
    return places


def test_every_id_leads_somewhere():
    known = defined()
    lost = {found: place for found, place in named().items() if found not in known}
    assert not lost


def test_an_id_is_defined_once():
    text = (ROOT / "docs/requirements.md").read_text()
    ids = re.findall(r"^- \*\*([SB]\d\.\d+)\*\* ", text, re.M)
    assert len(ids) == len(set(ids)) > 400
