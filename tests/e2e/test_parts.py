# SPDX-License-Identifier: Apache-2.0
"""pawl parts: a unit of many parts goes on after the last whole one (004's
DomainJobProcessor), whatever kills it."""
import os
import pathlib
import random
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, kill, program # noqa: E402
from lib.parts import NO_TRACER, PAGE, whole # noqa: E402
from lib.processor import WAIT, Processor  # noqa: E402

PARTS = [f"page {i}" for i in range(60)]


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def node(home):
    return home.daemon("--set", "daemon.grace=300ms").start()


@pytest.fixture(scope="module")
def page(home):
    path = home.path / "page.sh"
    path.write_text(PAGE)
    path.chmod(0o755)
    return path


def make(node, page, home, name):
    runs = home.path / f"{name}.runs"
    runs.touch()
    processor = Processor(node, name)
    processor.create(f'exec {program()} parts run -- {page} {{}} < "$PAWL_INPUT"',
                     env=[f"RUNS={runs}", NO_TRACER], max_retries=200, retry_delay="PT0.02S")
    return processor, runs


def test_killed_at_random_moments_the_output_is_the_same(node, page, home):
    """S4.80 S4.81 S4.82 S4.83: kill -9, twenty times; whole parts are not done again."""
    seed = 7
    rng = random.Random(seed)
    processor, runs = make(node, page, home, "domain")
    processor.put("site", "".join(f"{part}\n" for part in PARTS).encode())
    done = 0
    while done < 20 and processor.unit("site") in ("have-input", "in-progress"):
        time.sleep(rng.random() * 0.15)
        jobs = node.jobs()
        if not jobs:
            continue
        kill(rng.choice(jobs))
        done += 1
    processor.until("output/finished", "site")
    assert (processor.dir / "output/finished/site").read_text() == whole(PARTS), seed
    # A part is run again only if it was cut short: at most one for each kill.
    assert len(runs.read_text().splitlines()) <= len(PARTS) + done, seed


def test_halted_and_resumed(node, page, home):
    """S4.78 S4.83: the progress is kept; what was whole is not done again."""
    gate = home.path / "halted.gate"
    slow = home.path / "slow.sh" # the sixth page waits
    slow.write_text(PAGE.replace("sleep 0.02", f'[ "$1" != "{PARTS[5]}" ] || '
                                 f"while [ ! -e {gate} ]; do sleep 0.02; done"))
    slow.chmod(0o755)
    processor, runs = make(node, slow, home, "halted")
    processor.put("site", "".join(f"{part}\n" for part in PARTS).encode())
    wait_for(lambda: PARTS[5] in runs.read_text().splitlines(), WAIT, processor.picture)
    processor.signal("halt", "site")
    wait_for(lambda: processor.unit("site") == "halted", WAIT, processor.picture)
    assert runs.read_text().splitlines() == PARTS[:6]
    gate.touch()
    node.restart()
    assert processor.unit("site") == "halted"
    processor.signal("resume", "site")
    processor.until("output/finished", "site")
    assert (processor.dir / "output/finished/site").read_text() == whole(PARTS)
    assert len(runs.read_text().splitlines()) <= len(PARTS) + 1


def test_a_part_that_fails_ends_the_run_with_its_code(home):
    state = home.path / "state"
    state.mkdir()
    def parts(*words, code=0, text=""):
        done = subprocess.run([program(), "parts", "--dir", str(state), *words], input=text,
                              capture_output=True, text=True, timeout=120, check=False,
                              env={"PATH": os.environ["PATH"]})
        assert done.returncode == code, done
        return done.stdout
    script = 'echo "$0"; test "$0" != b'
    parts("run", "--", "sh", "-c", script, "{}", code=1, text="a\nb\nc\n")
    assert parts("ls") == "done  a\nbegun b\n"
    parts("begin", "a", code=1)
    parts("begin", "c")
    (state / "c").write_text("C\n")
    parts("finish", "c", str(state / "c"))
    parts("finish", "c", str(state / "c")) # once is enough
    parts("run", "--", "sh", "-c", "echo again; echo", text="a\nb\nc\n")
    parts("output", str(state / "all"))
    assert (state / "all").read_text() == "a\nC\nagain\n\n"
    parts("output", code=2)
