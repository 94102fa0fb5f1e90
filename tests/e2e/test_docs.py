# SPDX-License-Identifier: Apache-2.0
"""The documentation is run, and compared with the program.

README.md and every page below docs/ is a test: all its commands run in one shell, in an
empty directory, with a fresh daemon that `pawl` finds through $PAWL_DATA.

    ```sh         each command must exit 0, or as its comment says: # exits 3
    ```console    the same for lines after `$ ` (`> ` goes on), and what they print must
                  be what the page shows

In what a page shows, ids, times and durations stand for any other, blanks for blanks, and
`…` for anything (alone in its line: for any lines). 127.0.0.1:7420 is the daemon's
address. Blocks of other languages are not run. `<!-- no-run: why -->` before a block lets
it be; only for make, apt and systemctl.

The rest holds the reference against the program's own tables: routes, settings, commands,
metrics, events, problems, fields, files.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from conftest import ROOT, Daemon, program, run_cli, until

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OWN_TESTS = [ROOT / "docs/howto/cluster.md"] # run by test_howto_cluster
REDIS_TESTS = [ROOT / "docs/howto/from-sidekiq-celery-bullmq.md"] # run by test_clients_move
REFERENCE = ROOT / "docs/reference"
NO_RUN = re.compile(r"<!-- no-run: .+ -->$")
NO_RUN_WORDS = ("make", "sudo", "apt", "systemctl", "journalctl", "git", "cd")
PAGE_SECONDS = 900 # a busy machine, sanitizers, a cluster

# What the shell finds as `curl` and `pawl`: neither ever asks a daemon that is not the
# test's own, such as one at the default address.
CURL = """#!/bin/bash
address=$(cat "$PAWL_DATA/listen")
exec {program} "${{@//127.0.0.1:7420/$address}}"
"""
PAWL = """#!/bin/sh
export PAWL_SERVER="unix:$PAWL_DATA/pawl.sock"
exec {program} "$@"
"""


# --- Reading pages ---------------------------------------------------------------------

class Block:
    def __init__(self, language, line, before):
        self.language, self.line, self.lines = language, line, []
        self.no_run = bool(NO_RUN.match(before))

    @property
    def text(self):
        return "".join(f"{line}\n" for line in self.lines)


def blocks(page):
    found, block, before = [], None, ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = re.match(r" {0,3}```+\s*(\w*)", line)
        if fence and block is None:
            block = Block(fence[1], number, before.strip())
        elif fence:
            found.append(block)
            block = None
        elif block is not None:
            block.lines.append(line)
        before = line
    assert block is None, f"{page}:{block.line}: the block has no end"
    return found


class Step:
    """One command: its text, the exit status it should have, and what it should print
    (None: whatever it likes)."""

    def __init__(self, line, text, shows=None):
        self.line, self.text, self.shows = line, text, shows
        exits = re.search(r"#.*\bexits (\d+)", text)
        self.status = int(exits[1]) if exits else 0


def is_whole(text):
    """Whether a shell would take the text without asking for more."""
    if re.search(r"\\\n$", text):
        return False
    for end in re.findall(r"<<-?\s*['\"]?(\w+)['\"]?", text):
        if f"\n{end}\n" not in text:
            return False
    return subprocess.run(["sh", "-n"], input=text, text=True,
                          capture_output=True).returncode == 0


def sh_steps(block):
    steps, text, first = [], "", 0
    for number, line in enumerate(block.lines, block.line + 1):
        if not text and not line.strip():
            continue
        first = first if text else number
        text += line + "\n"
        if is_whole(text):
            steps.append(Step(first, text))
            text = ""
    assert not text, f"line {first}: the command has no end: {text}"
    return steps


def console_steps(block):
    steps = []
    for number, line in enumerate(block.lines, block.line + 1):
        if line.startswith("$ "):
            steps.append(Step(number, line[2:] + "\n", []))
        elif line.startswith("> ") and steps and not steps[-1].shows:
            steps[-1].text += line[2:] + "\n"
        else:
            assert steps, f"line {number}: a console block begins with `$ `"
            steps[-1].shows.append(line)
    return [Step(step.line, step.text, step.shows) for step in steps]


def steps_of(page):
    steps = []
    for block in blocks(page):
        if block.language == "sh" and not block.no_run:
            steps += sh_steps(block)
        elif block.language == "console" and not block.no_run:
            steps += console_steps(block)
    return steps


# --- Comparing -------------------------------------------------------------------------

LIKE = [ # as a page shows it, and what may stand there
    (r"…", r".*?"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", r"\d{4}-\d\d-\d\dT[0-9:.]+Z"),
    (r"\b[A-Z][a-z]{2} \d+ [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d \w+",
     r"\w{3} \d+ \w{3} \d{4} [0-9:]+ \w+"),
    (r"\b0[0-9a-hjkmnp-tv-z]{12}\b", r"0[0-9a-z]{12}"),
    (r"(?<![\w.])(?:\d+(?:\.\d+)?(?:ms|[smhd]))+\b", r"(?:\d+(?:\.\d+)?(?:ms|[smhd]))+"),
    (r"\s+", r"\s+"),
]


def pattern_of(line):
    """A line as a page shows it, as a regular expression."""
    wild = "|".join(f"({like})" for like, _ in LIKE)
    out, at = "", 0
    for match in re.finditer(wild, line.strip()):
        out += re.escape(line.strip()[at:match.start()])
        out += LIKE[match.lastindex - 1][1]
        at = match.end()
    return out + re.escape(line.strip()[at:])


def shown(shows):
    """All lines of a step as one expression; a lone … is any number of them."""
    parts = []
    for line in shows:
        parts.append(r"(?:[^\n]*\n)*?" if line.strip() == "…"
                     else rf"[ \t]*{pattern_of(line)}[ \t]*\n")
    return re.compile("".join(parts))


def as_shown(shows, output):
    while shows and not shows[-1].strip():
        shows = shows[:-1]
    output = output.rstrip("\n") + "\n" if output.strip() else ""
    # How often a command tells that it has not yet ended is the machine's affair.
    output = re.sub(r"(?m)^progress (?!(\d+)/\1 ).*\n", "", output)
    return shown(shows).fullmatch(output) is not None


# --- Running ---------------------------------------------------------------------------

class Shell:
    """One shell in an empty directory that finds `pawl` and `curl`."""

    def __init__(self, place, env):
        self.place, self.work, self.results = place, place / "work", place / "results"
        tools = place / "bin"
        for folder in (self.work, tools, self.results):
            folder.mkdir()
        for path, text, found in ((tools / "curl", CURL, shutil.which("curl")),
                                  (tools / "pawl", PAWL, program()),
                                  (self.work / "pawl", PAWL, program())):
            path.write_text(text.format(program=found))
            path.chmod(0o755)
        for script in (ROOT / "clients/move").iterdir():
            (tools / script.name).symlink_to(script)
        self.env = {**env, "HOME": str(self.work), "PATH": f"{tools}:{os.environ['PATH']}",
                    "PAWL_DAEMON_LISTEN": "127.0.0.1:0"}

    def run(self, steps):
        """(status, output) of each step that was reached, and what the shell itself said."""
        script = "".join(
            f"{{\n{step.text}}} >{self.results}/{i}.out 2>&1 </dev/null\n"
            f"echo $? >{self.results}/{i}\n"
            for i, step in enumerate(steps))
        log = self.place / "shell.log"
        with open(log, "wb") as out:
            subprocess.run(["sh", "-c", script], cwd=self.work, env=self.env,
                           stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                           timeout=PAGE_SECONDS)
        ended = []
        for i, _ in enumerate(steps):
            if not (self.results / str(i)).exists():
                break
            ended.append((int((self.results / str(i)).read_text()),
                          (self.results / f"{i}.out").read_text(errors="replace")))
        return ended, log.read_text(errors="replace")


@pytest.fixture
def shell(daemon, place):
    """Runs steps beside a fresh daemon."""
    return Shell(place, {**daemon.env, "PAWL_DATA": str(daemon.data)})


def page_name(page):
    return str(page.relative_to(ROOT))


def what_is_wrong(page, steps, ended, log):
    """In words; nothing if all is as the page says."""
    wrong = []
    for step, (status, output) in zip(steps, ended):
        where = f"{page_name(page)}:{step.line}: {step.text.strip()}"
        if status != step.status:
            wrong.append(f"{where}\nexits {status}, not {step.status}, and prints:\n{output}")
        elif step.shows is not None and not as_shown(step.shows, output):
            wrong.append(f"{where}\nprints:\n{output}not:\n" + "\n".join(step.shows))
    if not wrong and len(ended) < len(steps):
        wrong.append(f"the shell ended at line {steps[len(ended)].line}: {log}")
    return "\n\n".join(wrong)


@pytest.mark.parametrize("page", [page for page in PAGES
                                  if steps_of(page) and page not in OWN_TESTS + REDIS_TESTS],
                         ids=page_name)
def test_what_a_page_shows_is_what_happens(page, shell):
    steps = steps_of(page)
    wrong = what_is_wrong(page, steps, *shell.run(steps))
    assert not wrong, wrong


def test_only_what_cannot_run_is_left_out():
    for page in PAGES:
        for block in blocks(page):
            for line in block.lines if block.no_run else []:
                word = (line.split() or ["make"])[0]
                loops = word in ("for", "done") and "    sudo " in block.text
                assert word in NO_RUN_WORDS or loops or line.startswith((" ", "#")), (
                    f"{page_name(page)}:{block.line}: `{word}` can run")


def test_the_comparison_can_fail():
    assert as_shown(["job  0s7y6fza80400  in 0.08s …", "…"],
                    "job 0s7zzzzzz0400 in 3m x\n1\n2\n")
    assert as_shown([], "")
    for shows, output in ((["a"], "b\n"), (["a"], "a\nb\n"), (["a", "b"], "a\n"), ([], "a\n"),
                          (["0s7y6fza80400"], "last\n"), (["a.c"], "abc\n")):
        assert not as_shown(shows, output), (shows, output)
    block = Block("sh", 0, "")
    block.lines = ["cat <<'END' >x", "if", "END", "false # exits 1", "a() {", "  b", "}"]
    assert [step.status for step in sh_steps(block)] == [0, 1, 0]


# --- Links -----------------------------------------------------------------------------

def anchor_of(heading):
    text = re.sub(r"[`*]|\]\(.*?\)|\[", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    return {anchor_of(title) for title in re.findall(r"^#+ (.*)$", text, re.M)}


def test_links_lead_somewhere():
    broken = []
    for page in [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]:
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
        for link in re.findall(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                broken.append(f"{page_name(page)}: {link}")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                broken.append(f"{page_name(page)}: {link}: no such heading")
    assert not broken, "\n".join(broken)


def test_every_page_can_be_reached():
    """From README.md, link by link."""
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in reached:
            continue
        reached.add(page)
        for link in re.findall(r"\]\(([^)\s#]+\.md)", page.read_text()):
            target = (page.parent / link).resolve()
            if target.exists() and not re.match(r"[a-z]+:", link):
                todo.append(target)
    left = {page_name(page) for page in PAGES} - {page_name(page) for page in reached}
    assert not left, f"nothing links to {left}"


# --- The reference and the program --------------------------------------------------------

@pytest.fixture(scope="module")
def node():
    """One daemon for all tests that only ask."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="pw-", dir="/tmp"))
    made = Daemon(home).start()
    yield made
    made.close()
    shutil.rmtree(home, ignore_errors=True)


def text_of(name):
    return (REFERENCE / name).read_text()


def words_of(text):
    """Everything that stands in backticks."""
    return set(re.findall(r"`([^`\n]+)`", text))


def test_every_command_is_in_the_reference():
    made = subprocess.run([ROOT / "tools/cli-reference", program()], capture_output=True,
                          text=True, check=True).stdout
    assert text_of("cli.md") == made, "run: tools/cli-reference >docs/reference/cli.md"


def test_every_route_is_in_the_reference(node):
    paths = node.http("GET", "/openapi.json").json["paths"]
    routes = {f"{method.upper()} {path}" for path, methods in paths.items()
              for method in methods}
    told = {word for word in words_of(text_of("http.md"))
            if re.match(r"(GET|POST|PATCH|PUT|DELETE) /", word)}
    assert routes - told == set() and told - routes == set()


def test_every_parameter_is_in_the_reference(node):
    paths = node.http("GET", "/openapi.json").json["paths"]
    names = {parameter["name"] for methods in paths.values() for route in methods.values()
             for parameter in route.get("parameters", []) if parameter["in"] == "query"}
    assert names - words_of(text_of("http.md")) == set()


def test_every_problem_is_in_the_reference():
    source = (ROOT / "src/noun/problem.c").read_text()
    codes = dict(re.findall(r'\{ "(\w+)", (\d+), "', source))
    assert len(codes) > 30
    told = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", text_of("http.md"), re.M))
    assert told == codes


def test_every_field_and_state_is_in_the_reference(node):
    schema = node.http("GET", "/openapi.json").json["components"]["schemas"]
    job = node.job(node.add("true"))
    told = words_of(text_of("job.md"))
    assert (set(schema["Job"]["properties"]) | set(job)) - told == set()
    assert set(schema["Job"]["properties"]["state"]["enum"]) - told == set()
    settable = set(schema["NewJob"]["properties"])
    marked = set(re.findall(r"^\| `(\w+)` ★ \|", text_of("job.md"), re.M))
    assert marked == settable


def test_every_variable_of_a_job_is_in_the_reference(node):
    job_id = node.add("env", keep_state=True, files=True, max_run_time="PT1M", env={"A": "b"})
    assert node.until_final(job_id)["state"] == "done"
    names = {line.split("=")[0] for line in node.output(job_id).decode().splitlines()}
    assert "PAWL_JOB_ID" in names
    assert names - {"A", "PWD", "SHLVL", "_"} - words_of(text_of("job.md")) == set()


def test_every_setting_is_in_the_reference(node):
    told = words_of(text_of("configuration.md"))
    assert set(node.http("GET", "/api/v1/config").json) - told == set()
    keys = json.loads(node.cli("config", "show", "--json").text)
    assert set(keys) - told == set()


def test_every_metric_is_in_the_reference(node):
    node.until_final(node.add("true"))
    text = node.http("GET", "/metrics").body.decode()
    names = set(re.findall(r"^# TYPE (\S+)", text, re.M))
    told = set(re.findall(r"^\| `(\w+)", text_of("metrics.md"), re.M))
    assert names - told == set()
    assert {name for name in told - names if name.startswith(("pawl_", "process_"))} == set()


def test_every_event_is_in_the_reference():
    events = set()
    for source in (ROOT / "src").rglob("*.c"):
        if not source.name.endswith("_test.c"):
            for call in re.findall(r"log_event\((.*?);", source.read_text(), re.S):
                events |= set(re.findall(r'"([a-z]+\.[a-z_]+)"', call))
    assert "job.added" in events
    told = set(re.findall(r"^\| `([a-z]+\.[a-z_]+)`", text_of("metrics.md"), re.M))
    assert events - told == set() and told - events == set()


def test_every_query_field_is_in_the_reference():
    source = (ROOT / "src/core/query.c").read_text()
    fields = set(re.findall(r'\{ "(\w+)", QUERY_', source))
    assert "state" in fields
    told = set(re.findall(r"^\| `(\w+):`", text_of("query.md"), re.M))
    assert told == {field for field in fields if not field.startswith("created_")}


def test_every_file_is_in_the_reference(node):
    job_id = node.add("sh", "-c", "echo o; echo e >&2; sleep 300", keep_state=True, files=True)
    until(lambda: node.output(job_id, "stderr"), "the job prints")
    names = set()
    found = [pathlib.Path(at) / name for at, folders, files in os.walk(node.data)
             for name in folders + files] # what vanishes meanwhile is not there
    for path in found:
        name = str(path.relative_to(node.data))
        if re.search(r"(^|/)\.", name):
            continue # on its way to be renamed or removed
        name = re.sub(r"\d{20}", "POSITION", name)
        name = re.sub(r"0[0-9a-z]{12}", "ID", name)
        name = re.sub(r"^logs/\w\w(?=/|$)", "logs/XX", name)
        names.add(re.sub(r"ID\.\d+", "ID.ATTEMPT", name))
    told = {word.rstrip("/") for word in words_of(text_of("files.md"))}
    assert names - told - {"logs/XX"} == set()


def test_the_exit_codes_of_the_reference():
    """What `pawl help exit-codes` says stands in the how-to for scripts too."""
    said = run_cli(["help", "exit-codes"], ROOT).text
    codes = set(re.findall(r"^  (\d+)(?= )", said, re.M))
    assert len(codes) > 10
    page = (ROOT / "docs/howto/submit-from-scripts.md").read_text()
    assert codes - set(re.findall(r"^\| (\d+) \|", page, re.M)) == set()


