# SPDX-License-Identifier: Apache-2.0
"""Warm contexts against a real daemon: one process per handler version that serves many
jobs, in every scripting language that this machine has, and by the generic protocol."""
import json
import os
import pathlib
import re
import pwd
import shutil
import sys
import textwrap
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place, alive, kill  # noqa: E402

SECONDS = 120
PATH = "/usr/local/bin:/usr/bin:/bin"

# What each language does with the same orders.
BODIES = {
    "python": """
        print("log of", payload)
        if payload == "retry": pawl.retry("later")
        if payload == "fail": pawl.fail("bad data")
        if payload == "throw": raise ValueError("broken")
        if payload == "bad add": pawl.add("../evil", "x")
        if payload == "add": pawl.add("child", "line one\\nline two")
        if payload == "data": return {"n": 1, "list": [1, "two"]}
        if payload == "lines": return "one\\ntwo\\n"
        if payload == "progress": pawl.progress(40, "almost"); return job["type"]
        return payload.upper()""",
    "node": """
        console.log("log of " + payload)
        if (payload === "retry") pawl.retry("later")
        if (payload === "fail") pawl.fail("bad data")
        if (payload === "throw") throw new TypeError("broken")
        if (payload === "bad add") pawl.add("../evil", "x")
        if (payload === "add") pawl.add("child", "line one\\nline two")
        if (payload === "data") return {"n": 1, "list": [1, "two"]}
        if (payload === "lines") return "one\\ntwo\\n"
        if (payload === "progress") { pawl.progress(40, "almost"); return job.type }
        return await Promise.resolve(payload.toUpperCase())""",
    "perl": """
        print "log of $payload\\n";
        pawl::retry("later") if $payload eq "retry";
        pawl::fail("bad data") if $payload eq "fail";
        die "broken" if $payload eq "throw";
        pawl::add("../evil", "x") if $payload eq "bad add";
        pawl::add("child", "line one\\nline two") if $payload eq "add";
        return {n => 1, list => [1, "two"]} if $payload eq "data";
        return "one\\ntwo\\n" if $payload eq "lines";
        if ($payload eq "progress") { pawl::progress(40, "almost"); return $job->{type} }
        return uc $payload;""",
    "php": """
        echo "log of $payload\\n";
        if ($payload == "retry") $pawl->retry("later");
        if ($payload == "fail") $pawl->fail("bad data");
        if ($payload == "throw") throw new Exception("broken");
        if ($payload == "bad add") $pawl->add("../evil", "x");
        if ($payload == "add") $pawl->add("child", "line one\\nline two");
        if ($payload == "data") return ["n" => 1, "list" => [1, "two"]];
        if ($payload == "lines") return "one\\ntwo\\n";
        if ($payload == "progress") { $pawl->progress(40, "almost"); return $job["type"]; }
        return strtoupper($payload);""",
    "ruby": """
        puts "log of #{payload}"
        pawl.retry("later") if payload == "retry"
        pawl.fail("bad data") if payload == "fail"
        raise ArgumentError, "broken" if payload == "throw"
        pawl.add("../evil", "x") if payload == "bad add"
        pawl.add("child", "line one\\nline two") if payload == "add"
        return {"n" => 1, "list" => [1, "two"]} if payload == "data"
        return "one\\ntwo\\n" if payload == "lines"
        if payload == "progress"
          pawl.progress(40, "almost")
          return job["type"]
        end
        payload.upcase""",
    "lua": """
        print("log of " .. payload)
        if payload == "retry" then pawl.retry("later") end
        if payload == "fail" then pawl.fail("bad data") end
        if payload == "throw" then error("broken") end
        if payload == "bad add" then pawl.add("../evil", "x") end
        if payload == "add" then pawl.add("child", "line one\\nline two") end
        if payload == "data" then return {n = 1, list = {1, "two"}} end
        if payload == "lines" then return "one\\ntwo\\n" end
        if payload == "progress" then pawl.progress(40, "almost") return job.type end
        return payload:upper()""",
}
PROGRAMS = {"python": ["python3"], "node": ["node", "nodejs"], "perl": ["perl"],
            "php": ["php"], "ruby": ["ruby"], "lua": ["lua5.4", "lua", "lua5.3"]}
HERE = [lang for lang, names in PROGRAMS.items()
        if any(shutil.which(name, path=PATH) for name in names)]


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def node(home):
    return home.daemon("--slots", "4", "--set", "daemon.grace=500ms",
                       env={"PATH": PATH}).start()


class Tenant:
    """A tenant of the test's own, so that tests do not see each other."""

    def __init__(self, node):
        self.node, self.api = node, node.api(SECONDS)
        self.name = self.api.tenant = "t" + uuid.uuid4().hex[:10]

    def set(self, type, lang, body, status=None, **fields):
        body = textwrap.dedent(body).strip("\n")
        answer = self.api.request("PUT", f"/handlers/{type}?tenant={self.name}",
                                  {"lang": lang, "body": body, **fields})
        assert answer.status == status if status else answer.status in (200, 201), answer
        return answer.json()

    def add(self, type, payload="", **fields):
        return self.api.add(type=type, payload=payload, tenant=self.name, **fields)["id"]

    def lines(self, type, payloads):
        answer = self.api.request("POST", f"//{self.name}/job/{type}/add",
                                  "".join(line + "\n" for line in payloads).encode())
        assert answer.status == 200, answer
        return answer.json()["ids"]

    def until(self, id, *states):
        def there():
            job = self.api.job(f"{id}?tenant={self.name}")
            return job if job["state"] in (states or FINAL) else None
        return wait_for(there, SECONDS, lambda: f"{self.api.job(id)}\n{self.node.tail()}")

    def result(self, id):
        answer = self.api.request("GET", f"/jobs/{id}/result?tenant={self.name}")
        assert answer.status == 200, answer
        return answer.body.decode()

    def log(self, id, stream="stdout"):
        return self.api.log(id, stream=stream, tenant=self.name).decode()

    def results(self, ids):
        return [self.result(id) for id in ids if self.until(id)["state"] == "done"]

    def of(self, type):
        return self.api.get(f"/jobs?tenant={self.name}&type={type}&limit=1000")["items"]


FINAL = ("done", "failed", "rejected", "cancelled")


@pytest.fixture
def mine(node):
    return Tenant(node)


# --- every language ------------------------------------------------------------------


@pytest.mark.parametrize("lang", list(BODIES))
def test_a_body_is_a_function_with_payload_job_and_pawl(mine, lang):
    """S2.42, S2.47, S2.50, S2.51, S2.52, S2.53, S2.100: results, outcomes, added jobs and
    progress of a body, each tied to its own job."""
    if lang not in HERE:
        pytest.skip(f"no {lang} on this machine")
    mine.set("t", lang, BODIES[lang], max_retries=0)
    orders = ["hello", "data", "lines", "fail", "throw", "retry", "add", "progress"]
    jobs = dict(zip(orders, mine.lines("t", orders)))
    ends = {order: mine.until(id) for order, id in jobs.items()}

    assert mine.result(jobs["hello"]) == "HELLO"
    assert json.loads(mine.result(jobs["data"])) == {"n": 1, "list": [1, "two"]}
    assert mine.result(jobs["lines"]) == "one\ntwo\n"
    assert mine.result(jobs["progress"]) == "t"
    assert ends["progress"]["progress"] == 40
    for order, state, code in [("hello", "done", 200), ("fail", "failed", 400),
                               ("throw", "rejected", 500), ("retry", "rejected", 100)]:
        assert (ends[order]["state"], ends[order]["exitcode"]) == (state, code), ends[order]
    assert ends["fail"]["error"] == "bad data"
    assert ends["retry"]["error"] == "later"
    assert "broken" in ends["throw"]["error"]
    assert "4" in ends["throw"]["error"], "the line is told"
    for order, id in jobs.items():
        assert mine.log(id) == f"log of {order}\n", "each job has its own log"
    [child] = wait_for(lambda: mine.of("child"), SECONDS)
    child = mine.until(child["id"], "blocked")
    assert child["parent"] == jobs["add"] and child["payload"] == "line one\nline two"


@pytest.mark.parametrize("lang", list(BODIES))
def test_bytes_and_odd_payloads_arrive(mine, lang):
    """S2.76: quotes, control characters, NUL and no newline at the end."""
    if lang not in HERE:
        pytest.skip(f"no {lang} on this machine")
    echo = {"python": "return payload", "node": "return payload",
            "perl": "return $payload", "php": "return $payload;",
            "ruby": "return payload", "lua": "return payload"}
    mine.set("echo", lang, echo[lang])
    odd = ["plain", "with \"quotes\" and \\ back\\slashes", "tab\tnul\0end", "ünï😀",
           "<<5", "two\nlines", "R: 500 no", " spaces ", "-12", "a,b}", 'x","last":true}']
    ids = [mine.add("echo", payload) for payload in odd]
    assert mine.results(ids) == odd
    named = mine.add("echo", "named", name='a "b\\', tags=["x"])
    assert mine.results([named]) == ["named"], "what is odd may stand in any field"


@pytest.mark.parametrize("lang", list(BODIES))
def test_a_body_may_do_with_its_job_what_it_likes(mine, lang):
    """Its answer is known by the id that came, and the batch ends where it ends."""
    if lang not in HERE:
        pytest.skip(f"no {lang} on this machine")
    spoil = {"python": "job.clear(); return payload",
             "node": "for (const key in job) delete job[key]; return payload",
             "perl": "%$job = (); return $payload", "php": "$job = null; return $payload;",
             "ruby": "job.clear; return payload",
             "lua": "for key in pairs(job) do job[key] = nil end return payload"}
    mine.set("spoil", lang, spoil[lang])
    assert mine.results(mine.lines("spoil", ["one", "two"])) == ["one", "two"]


def test_a_language_that_is_not_installed_is_refused(home):
    """S2.60: a handler that cannot run here says so when it is set, not at midnight."""
    bare = home.daemon("--slots", "1", data=home.path / "bare",
                       env={"PATH": str(home.path)}).start()
    tenant = Tenant(bare)
    for lang in BODIES:
        refusal = tenant.set("t", lang, "return 1", status=422)
        assert refusal["code"] == "unsupported" and lang in refusal["detail"], refusal
    bare.stop()


# --- one context, many jobs ------------------------------------------------------------


def test_a_context_serves_many_jobs_and_others_never_share_it(mine):
    """S2.43, S2.44, S2.45: the same process for jobs of a type, another for other types
    and for a new version."""
    body = "import os; return str(os.getpid())"
    mine.set("one", "python", body)
    mine.set("two", "python", body)
    first = {mine.results([mine.add("one")])[0] for _ in range(5)}
    assert len(first) == 1
    second = set(mine.results([mine.add("two")]))
    assert second.isdisjoint(first)
    mine.set("one", "python", body + " # newer")
    assert set(mine.results([mine.add("one")])).isdisjoint(first)


def test_types_of_one_eid_share_a_context(mine):
    """S2.99: one engine for several types."""
    body = "import os; return str(os.getpid())"
    mine.set("left", "python", body, eid="both")
    mine.set("right", "python", body, eid="both")
    mine.set("alone", "python", body, eid="other")
    left, right, alone = (mine.results([mine.add(type)])[0]
                          for type in ("left", "right", "alone"))
    assert left == right != alone


def test_before_once_and_each_around_batches(mine):
    """S2.101, S2.102, S2.104: before runs once in a context, the others for each batch."""
    mine.set("t", "python", "seen.append(payload); return ' '.join(seen)",
             before="seen = ['before']", beforeEach="seen.append('[')",
             afterEach="seen.append(']')")
    assert mine.results([mine.add("t", "a")]) == ["before [ a"]
    assert mine.results([mine.add("t", "b")]) == ["before [ a ] [ b"]


def test_trouble_before_the_job_is_told_and_tried_again(mine):
    mine.set("t", "python", "return 'ran'", before="import nothing_of_the_kind",
             max_retries=0)
    job = mine.until(mine.add("t"))
    assert job["state"] == "rejected" and "nothing_of_the_kind" in job["error"]
    mine.set("syntax", "python", "return (", max_retries=0)
    assert "SyntaxError" in mine.until(mine.add("syntax"))["error"]


# An error in the third line: when it runs, in its grammar, and below what it calls.
THIRD = {
    "python": ("x = 1\n\nreturn x.nothing", "x = 1\n\nreturn ]",
               "import json\n\nreturn json.loads('{')"),
    "node": ("let x = 1;\n\nreturn nothing(x);", "let x = 1;\n\nlet = ];",
             "let x = '{';\n\nreturn JSON.parse(x);"),
    "perl": ("my $x = 1;\n\ndie 'oops';", "my $x = 1;\n\nmy = ];",
             "use POSIX;\n\nPOSIX::nothing();"),
    "php": ("$x = 1;\n\nnothing($x);", "$x = 1;\n\n$x = ];",
            "$x = 'no such day';\n\nnew DateTime($x);"),
    "ruby": ("x = 1\n\nnothing(x)", "x = 1\n\nz = ]", "x = 'zz'\n\nInteger(x)"),
    "lua": ("local x = 1\n\nnothing(x)", "local x = 1\n\nlocal = ]",
            "local x = 1\n\nstring.rep()"),
}


@pytest.mark.parametrize("lang", list(THIRD))
def test_the_line_that_is_told_is_the_handlers_own(mine, lang):
    """Of a syntax error as of one that a library raises, whatever is around the body."""
    if lang not in HERE:
        pytest.skip(f"no {lang} on this machine")
    for n, body in enumerate(THIRD[lang]):
        mine.set(f"t{n}", lang, body, max_retries=0)
        error = mine.until(mine.add(f"t{n}"))["error"]
        told = re.findall(r"(?:\(line |@1:|@1 line )(\d+)", error)
        assert set(told) == {"3"} and "command line" not in error, error


def test_a_body_must_not_close_its_function(mine):
    """Nothing of a body is outside of it."""
    mine.set("t", "node", "return 1;\n})(); (async function () {", max_retries=0)
    assert "SyntaxError" in mine.until(mine.add("t"))["error"]


PRINT = { # print a line, then a text without an end of line
    "python": "import sys\nprint(payload)\nsys.stdout.write('J: last|x')\n",
    "node": "console.log(payload); process.stdout.write('J: last|x');",
    "perl": "print \"$payload\\n\"; print 'J: last|x'; return undef",
    "php": "fwrite(STDOUT, $payload . \"\\n\"); fwrite(STDOUT, 'J: last|x');",
    "ruby": "puts payload; print 'J: last|x'; nil",
    "lua": "print(payload) io.write('J: last|x')",
}


@pytest.mark.parametrize("lang", list(PRINT))
def test_lines_mean_the_same_in_a_warm_context(mine, lang):
    """S2.47, S2.48, S2.49: J:, #J:, J!:, P: and R: at the start of a printed line; each is of
    the job that printed it, also when jobs come one right after the other."""
    if lang not in HERE:
        pytest.skip(f"no {lang} on this machine")
    mine.set("t", lang, PRINT[lang], max_retries=0)
    lines = ["J: child|one", "#J: child|two", "J!: child|three", "P: 40 so far",
             "R: 201 said it", "R: 404 no good", "log, J: child|no", " J: child|no"]
    ids = mine.lines("t", lines)
    ends = [mine.until(id) for id in ids]
    assert [job["state"] for job in ends] == ["done"] * 5 + ["failed"] + ["done"] * 2
    assert (ends[3]["progress"], ends[4]["exitcode"]) == (40, 201)
    assert mine.result(ids[4]) == "said it" and ends[5]["error"] == "no good"
    children = wait_for(lambda: len(found := mine.of("child")) >= 3 and found, SECONDS)
    assert sorted((job["payload"], job["parent"]) for job in children) == [
        ("one", ids[0]), ("three", ids[2]), ("two", ids[1])]
    last = wait_for(lambda: len(found := mine.of("last")) >= 8 and found, SECONDS)
    assert sorted(job["parent"] for job in last) == sorted(ids), "each has its own last line"
    assert mine.log(ids[0]) == "J: child|one\nJ: last|x"


def test_what_is_returned_goes_before_what_is_printed(mine):
    """S2.49, S2.120: and no tenant is reached by a forged line."""
    mine.set("t", "python", """
        print("J: othertenant-type|x")
        print("R: 500 forged")
        print("R: %s 500 forged" % job["id"], flush=True)
        import os
        os.system("echo J: child/no; echo P: 99x")
        return "mine" """)
    id = mine.add("t")
    assert mine.results([id]) == ["mine"]
    assert "forged" in mine.log(id) and "P: 99" in mine.log(id)
    job = mine.until(id)
    assert job["progress"] is None # and what was meant to be a job is told
    assert job["message"] == \
        "a line was refused: `J: child/no`: there is no | between type and payload"
    child, = wait_for(lambda: mine.of("othertenant-type"), SECONDS)
    assert (child["tenant"], child["payload"]) == (mine.name, "x")
    assert mine.api.all(tenant="othertenant") == []


@pytest.mark.parametrize("lang", HERE)
def test_a_child_that_cannot_be_added_is_an_error(mine, lang):
    """S2.57: a name that no type can have is told to the body, not dropped."""
    mine.set("t", lang, BODIES[lang], max_retries=0)
    job = mine.until(mine.add("t", "bad add"), "rejected")
    assert "../evil" in job["error"] and "is not the name of a type" in job["error"], job


def test_what_a_failed_attempt_printed_adds_nothing(mine):
    """S2.57: J: lines are added with an end that is done or failed, not with one that is
    tried again."""
    mine.set("t", "python", """
        print("J: child|%d" % job["attempt"])
        if job["attempt"] == 1: raise ValueError("again") """, retry_delay="PT0.1S")
    mine.until(mine.add("t"), "done")
    children = wait_for(lambda: mine.of("child"), SECONDS)
    assert [job["payload"] for job in children] == ["2"]


def test_the_launcher_leaves_after_a_clean_stop(home):
    """Contexts that ended with the daemon are no reason to stay."""
    node = home.daemon("--slots", "1", data=home.path / "leaves", env={"PATH": PATH}).start()
    tenant = Tenant(node)
    tenant.set("t", "python", "return payload")
    assert tenant.results([tenant.add("t", "x")]) == ["x"]
    assert node.launcher()
    assert node.stop() == 0
    wait_for(lambda: not node.launcher(), SECONDS, "the launcher is still there")


def test_what_is_printed_can_be_read_while_the_job_runs(mine, home):
    gate = home.path / uuid.uuid4().hex
    mine.set("t", "python", f"""
        import os, time
        print("working", flush=True)
        while not os.path.exists({str(gate)!r}): time.sleep(0.01)
        print("ready")""")
    id = mine.add("t")
    wait_for(lambda: mine.log(id) == "working\n", SECONDS)
    gate.touch()
    mine.until(id, "done")
    assert mine.log(id) == "working\nready\n"


# --- ends ----------------------------------------------------------------------------


def test_a_crash_is_charged_to_the_job_that_ran(mine):
    """S2.55: an ERROR for the one, and the others run as if nothing had been."""
    mine.set("t", "python", """
        import os, time
        if payload == "crash": os._exit(3)
        if payload == "leave": os._exit(0)
        if payload == "signal": os.kill(os.getpid(), 9)
        return "fine" """, max_retries=0)
    orders = ["a", "crash", "b", "leave", "c", "signal", "d"]
    ends = dict(zip(orders, [mine.until(id) for id in mine.lines("t", orders)]))
    assert [order for order, job in ends.items() if job["state"] == "done"] == list("abcd")
    assert (ends["crash"]["exitcode"], ends["crash"]["exit_status"]) == (500, 3)
    assert "exit status 3" in ends["crash"]["error"]
    assert (ends["leave"]["state"], ends["leave"]["exitcode"]) == ("rejected", 500)
    assert (ends["signal"]["exitcode"], ends["signal"]["signal"]) == (501, 9)
    assert all(job["retry_number"] == 0 for job in ends.values())


@pytest.mark.parametrize("lang", [lang for lang in ("python", "node", "perl")])
def test_a_body_that_never_returns_is_killed_by_max_run_time(mine, lang):
    if lang not in HERE:
        pytest.skip(f"no {lang} on this machine")
    loop = {"python": "if payload == 'loop':\n    while True: pass\nreturn 'fine'",
            "node": "if (payload === 'loop') { for (;;); }\nreturn 'fine'",
            "perl": "if ($payload eq 'loop') { 1 while 1 } return 'fine'"}
    mine.set("t", lang, loop[lang], max_retries=0)
    jobs = [{"type": "t", "payload": "a"}, {"type": "t", "payload": "loop",
                                            "max_run_time": "PT1S"},
            {"type": "t", "payload": "b"}] # the limit is the looping one's alone: a context
    answer = mine.api.request("POST", f"/jobs?tenant={mine.name}", jobs) # may begin slowly
    ends = [mine.until(line["id"]) for line in answer.lines()[:3]]
    assert [job["state"] for job in ends] == ["done", "rejected", "done"]
    assert ends[1]["exitcode"] == 504 and "max_run_time" in ends[1]["error"]


def test_cancel_ends_the_context_and_the_others_run_again(mine, home):
    """S2.89: jobs in hand are ungot, uncharged; a pause is refused."""
    gate = home.path / uuid.uuid4().hex
    mine.set("t", "python", f"""
        import os, time
        while payload == "wait" and not os.path.exists({str(gate)!r}): time.sleep(0.01)
        return str(os.getpid())""")
    first = mine.results([mine.add("t", "go")])[0]
    waiting = mine.add("t", "wait")
    mine.until(waiting, "running")
    refusal = mine.api.request("POST", f"/jobs/{waiting}/pause?tenant={mine.name}")
    assert refusal.status == 409 and refusal.json()["code"] == "shared_context", refusal
    behind = mine.lines("t", ["go"] * 5)
    mine.api.request("POST", f"/jobs/{waiting}/cancel?tenant={mine.name}")
    assert mine.until(waiting)["state"] == "cancelled"
    ends = [mine.until(id) for id in behind]
    assert {job["state"] for job in ends} == {"done"}
    assert {job["retry_number"] for job in ends} == {0}
    assert mine.results([mine.add("t", "go")])[0] != first
    wait_for(lambda: not alive(int(first)), SECONDS)


# --- recycling, and the daemon's own end ------------------------------------------------


def test_contexts_are_replaced_by_count_and_idleness(home):
    """S2.101: the total of jobs per context is configured."""
    node = home.daemon("--slots", "1", "--set", "contexts.jobs=5", data=home.path / "few",
                       env={"PATH": PATH}).start()
    tenant = Tenant(node)
    tenant.set("t", "python", "import os; return str(os.getpid())")
    pids = tenant.results(tenant.lines("t", [str(n) for n in range(12)]))
    assert sorted(pids.count(pid) for pid in set(pids)) == [2, 5, 5]
    assert node.stop() == 0
    wait_for(lambda: not any(alive(int(pid)) for pid in pids), SECONDS)
    # A second start, so that no idleness of a busy machine counts above.
    node.options += ["--set", "contexts.idle=1s"]
    tenant.api = node.start().api(SECONDS, tenant.name)
    first = tenant.results([tenant.add("t")])[0]
    wait_for(lambda: not alive(int(first)), SECONDS)
    again = tenant.results([tenant.add("t")])[0]
    assert again != first
    node.stop()
    wait_for(lambda: not alive(int(again)), SECONDS)


@pytest.mark.parametrize("also_context", [False, True])
def test_killed_in_the_middle_of_a_batch_nothing_is_lost(home, also_context):
    """S2.57, S2.87: what has a recorded result does not run again, all else does."""
    name = uuid.uuid4().hex[:6]
    witness, gate = home.path / f"{name}.ran", home.path / f"{name}.gate"
    node = home.daemon("--slots", "1", data=home.path / name, env={"PATH": PATH}).start()
    tenant = Tenant(node)
    tenant.set("t", "python", f"""
        import os, time
        with open({str(witness)!r}, "a") as file: file.write(payload + "\\n")
        while payload == "30" and not os.path.exists({str(gate)!r}): time.sleep(0.01)
        return payload""")
    count = 60
    ids = tenant.lines("t", [str(n) for n in range(count)])
    wait_for(lambda: witness.exists() and "30\n" in witness.read_text(), SECONDS)
    context = [pid for pid in node.jobs()]
    done = {n for n in range(count)
            if tenant.api.job(f"{ids[n]}?tenant={tenant.name}")["state"] == "done"}
    if also_context:
        for pid in context:
            kill(pid)
    node.kill()
    gate.touch()
    node.start()
    tenant.api = node.api(SECONDS, tenant.name)
    assert tenant.results(ids) == [str(n) for n in range(count)]
    ran = witness.read_text().split()
    assert set(ran) == {str(n) for n in range(count)}
    assert all(ran.count(str(n)) == 1 for n in done), "a recorded result was repeated"
    if not also_context: # what happened is said, not that a launcher was lost
        first = tenant.api.get(f"/jobs/{ids[30]}/attempts?tenant={tenant.name}")["items"][0]
        assert first["exitcode"] == 502 and "warm context" in first["error"], first
    node.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="switching accounts needs root")
@pytest.mark.parametrize("lang", ["python", "lua"])
def test_a_context_serves_the_jobs_of_one_account(lang):
    """S0.21: `user` makes a context of its own, which is that account."""
    if lang not in HERE:
        pytest.skip(f"no {lang} on this machine")
    body = {"python": "import os; return '%d %d' % (os.getpid(), os.getuid())",
            "lua": "local own = io.popen('echo $PPID $(id -u)'):read('l') return own"}
    with Place() as place:
        place.path.chmod(0o755)
        policy = place.path / "users"
        policy.write_text("*: nobody\n")
        node = place.daemon("--slots", "2", env={"PATH": PATH,
                                                "PAWL_USERS_FILE": str(policy)}).start()
        tenant = Tenant(node)
        tenant.set("t", lang, body[lang])
        mine, others = (tenant.results([tenant.add("t", user=user) for _ in range(3)])
                        for user in (None, "nobody"))
        assert {own.split()[1] for own in mine} == {"0"}
        assert {own.split()[1] for own in others} == {str(pwd.getpwnam("nobody").pw_uid)}
        assert not {own.split()[0] for own in mine} & {own.split()[0] for own in others}
        node.stop()


# --- any program ------------------------------------------------------------------------

PROGRAM = """
import json, os, sys
reply = os.fdopen(int(os.environ["PAWL_REPLY_FD"]), "wb", 0)
held = []
for line in sys.stdin:
    job = json.loads(line)
    held.append(job)
    print("read", job["payload"], flush=True)
    if not job.get("last"):
        continue
    for job in reversed(held): # in any order
        text = job["payload"].encode()
        if job["payload"] == "bad":
            reply.write(b"R: %s 400 no good\\n" % job["id"].encode())
            continue
        reply.write(b"J: %s child|of %s\\n" % (job["id"].encode(), text))
        reply.write(b"nonsense\\nR: 0000000000000 200 nobody\\n")
        reply.write(b"R: %s 200 <<%d\\n%s" % (job["id"].encode(), len(text) + 1, text + b"!"))
    held = []
"""


def test_any_program_can_be_a_warm_context(mine, home):
    """S2.31, S2.42: JSON lines in, answers on descriptor 3 in any order."""
    script = home.path / "context.py"
    script.write_text(PROGRAM)
    mine.set("t", "exec", json.dumps(["/usr/bin/python3", str(script)]), batch=10,
             max_retries=0)
    ids = mine.lines("t", [f"p{n}" for n in range(25)])
    bad = mine.add("t", "bad")
    assert mine.results(ids) == [f"p{n}!" for n in range(25)]
    refused = mine.until(bad)
    assert (refused["state"], refused["error"]) == ("failed", "no good")
    wait_for(lambda: len(mine.of("child")) == 25, SECONDS)
