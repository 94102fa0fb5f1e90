# SPDX-License-Identifier: Apache-2.0
"""tidy finds each kind of fault in a small tree, and nothing in a clean one."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import subprocess

import pytest

TIDY = pathlib.Path(__file__).resolve().parents[2] / "tools/tidy"

TOP = "/* SPDX-License-Identifier: Apache-2.0 */\n"
SAYS = "/* job.c - a job and its life. */\n"

CLEAN = {
    "src/core/job.h": TOP + """/* job.h - a job and its life. */
#ifndef CORE_JOB_H
#define CORE_JOB_H

#include "base/err.h"

/* Strings and comments are not code: strcpy(a, b), malloc(1). */
MUST_CHECK Err job_move(Job *job, int a, int b, int c, const char *text, ...)
    PRINTF_LIKE(5, 6);

#endif
""",
    "src/core/job.c": TOP + SAYS + """#include "core/job.h"

#include <string.h>

static const char *const words[] = { "malloc(1)", "system(", "a; b {" };

Err job_move(Job *job, int a, int b, int c, const char *text, ...)
{
    assert((job && a) || b);
    job->time(1);
    strftime(text, 1, words[0], 0);
    for (int i = 0;
                        i < 3;
                        i++) {
        Thing thing = {
            .part = {
                .inner = {
                    .deep = {
                        .more = {
                            .value = 1,
                        },
                    },
                },
            },
        };
        int value = a ? call(a)
                                 : call(b);
    }
    return ERR_OK;
}
""",
    "src/core/job_test.c": TOP + """/* job_test.c - see job.h. */
#include "core/job.h"
#include "store/store.h"
""",
    "src/base/mem.c": TOP + """/* mem.c - the one place that allocates. */
#include <stdlib.h>

void *mem_alloc(size_t bytes)
{
    return malloc(bytes);
}
""",
    "src/base/mem_test.c": TOP + "/* mem_test.c - tests of memory. */\n",
    "tests/e2e/test_it.py": "# SPDX-License-Identifier: Apache-2.0\n",
}


def body(lines):
    return "void job_do(void)\n{\n" + lines + "}\n"


def job_c(code):
    return {"src/core/job.c": TOP + SAYS + code}


# kind of fault -> (files that replace those of the clean tree, what tidy must say)
FAULTS = {
    "long line": (job_c(f"/* {'x' * 90} */\n"), "job.c:3: line: 96 columns, at most 90"),
    "long file": (job_c("\n" * 799), "job.c:801: file: 801 lines, at most 800"),
    "long header": ({"src/core/job.h": TOP + SAYS + "\n" * 199},
                    "job.h:201: file: 201 lines, at most 200"),
    "long function": (job_c(body("    a();\n" * 69)), "job.c:4: function: 71 lines"),
    "parameters": (job_c("int f(int a, int b, int c, int d, int e, int (*f)(int, int))\n"
                         "{\n}\n"), "job.c:3: parameters: f has 6, at most 5"),
    "parameters in a header": (
        {"src/core/job.h": TOP + SAYS + "MUST_CHECK Err f(int a, int b,\n"
         "                 int c, int d, int e, int f);\n"},
        "job.h:3: parameters: f has 6, at most 5"),
    "nesting": (job_c(body("    if (a) {\n        if (b) {\n            if (c) {\n"
                           "                if (d) {\n                    if (e)\n"
                           "                        f();\n" + "    }\n" * 4)),
                "job.c:10: nesting: 5 levels, at most 4"),
    "layer": (job_c('#include "store/store.h"\n'), "layer: core may not include store/store.h"),
    "strangers": ({"src/run/run.h": TOP + SAYS + '#include "store/store.h"\n'},
                  "layer: run may not include store/store.h"),
    "cli over core": ({"src/cli/cli.h": TOP + SAYS + '#include "core/job.h"\n'},
                      "layer: cli may not include core/job.h"),
    "library": ({"src/engine/a.h": TOP + SAYS + "#include <sqlite3.h>\n"},
                "layer: <sqlite3.h> belongs to store"),
    "bare include": (job_c('#include "job.h"\n'), 'layer: write "folder/job.h"'),
    "unknown folder": ({"src/extra/a.h": TOP + SAYS}, "src/extra is not in the table"),
    "banned in a macro": (job_c("#define A(x) \\\n    strcpy(x, y)\n"),
                          "job.c:4: banned: strcpy(): use Buf"),
    "two beliefs": (job_c(body("    assert(a &&\n        b);\n")),
                    "job.c:5: banned: assert(a && b)"),
    "leftover": (job_c("/* TO" "DO: later */\n"), "job.c:3: leftover:"),
    "leftover in python": (
        {"tests/e2e/test_it.py": "# SPDX-License-Identifier: Apache-2.0\n# FIX" "ME\n"},
        "test_it.py:2: leftover:"),
    "no spdx": ({"src/core/job.c": SAYS}, "job.c:1: spdx:"),
    "no spdx in a script": ({"tests/prove/crash": "#!/bin/sh\n"}, "crash:1: spdx:"),
    "no first comment": ({"src/core/job.h": TOP + "#ifndef A\n#define A\n#endif\n"},
                         "job.h:1: comment:"),
    "no test": ({"src/core/dispatch/lane.c": TOP + SAYS}, "lane.c:1: test: no test includes"),
    "a room that is seen by one header": (
        {"src/http/a.h": TOP + SAYS + '#include "engine/turn.h"\n'},
        "layer: http may not include engine/turn.h"),
    "cycle": ({"src/core/lane.h": TOP + SAYS + '#include "core/job.h"\n',
               "src/core/job.c": TOP + SAYS + '#include "core/lane.h"\n'},
              "src/core/job.h:1: cycle: includes core/lane, which includes it\n"
              "src/core/lane.h:1: cycle: includes core/job, which includes it"),
    "full folder": ({f"src/core/x{n}.h": TOP + SAYS for n in range(56)},
                    "src/core:1: folder: 61 files, at most 60"),
    "silent folder": ({"src/core/README.md": None}, "src/core:1: folder: no README.md"),
    "unlisted source": ({"src/core/meson.build": "files('job.c')\n"},
                        "job_test.c:1: listed:"),
    "useless exception": ({"tools/tidy-exempt": "line src/core/job.c # why\n"},
                          "nothing needs `line src/core/job.c`"),
    "unreadable exception": ({"tools/tidy-exempt": "src/core/job.c\n"},
                             "exempt: not `rule path`"),
}
for call in ("sprintf vsprintf strcpy strcat strncpy atoi strtok time rand random malloc "
             "calloc realloc strdup gets system popen uv_spawn alloca localtime").split():
    FAULTS["banned " + call] = (job_c(body(f"    x = {call}(y);\n")),
                                f"job.c:5: banned: {call}(): use ")


def furnished(files):
    """The files, and what each folder of src/ must have besides."""
    sources = [pathlib.PurePath(name) for name in files if name.startswith("src/")]
    rooms = {}
    for path in {path.parent for path in sources if path.suffix in (".c", ".h")}:
        listed = [other.name for other in sources
                  if other.parent == path and other.suffix == ".c"]
        rooms[f"{path}/README.md"] = "# A room\n"
        rooms[f"{path}/meson.build"] = f"files({', '.join(map(repr, listed))})\n"
    return {**rooms, **files}


def write(root, files):
    for name, text in files.items():
        if text is None:
            continue
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def load():
    loader = importlib.machinery.SourceFileLoader("tidy", str(TIDY))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("tidy", loader))
    loader.exec_module(module)
    return module


MODULE = load() # much quicker than a process for each test


def tidy(root, *options):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = MODULE.main(["--root", str(root), *map(str, options)])
    return status, said.getvalue()


def test_a_clean_tree_has_no_findings(tmp_path):
    write(tmp_path, furnished(CLEAN))
    done = subprocess.run([TIDY, "--root", tmp_path], capture_output=True, text=True)
    assert done.stdout == f"tidy: {len(CLEAN)} files, no findings\n"
    assert done.returncode == 0


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_is_the_only_finding(tmp_path, kind):
    files, expected = FAULTS[kind]
    write(tmp_path, furnished({**CLEAN, **files}))
    status, said = tidy(tmp_path)
    assert expected in said
    count = expected.count("\n") + 1
    assert said.endswith(f"{count} findings\n"), said
    assert status == 1


@pytest.mark.parametrize("kind", ["long function", "nesting", "no test"])
def test_an_exception_silences_its_rule_only(tmp_path, kind):
    files, expected = FAULTS[kind]
    rule = expected.split(": ")[1]
    write(tmp_path, {**furnished({**CLEAN, **files}), "tools/tidy-exempt": f"{rule} src/core/*.c # why\n"})
    assert tidy(tmp_path)[0] == 0
    write(tmp_path, {"src/core/job_test.c": TOP + SAYS + f"/* {'x' * 90} */\n"
                     '#include "core/job.h"\n'})
    status, said = tidy(tmp_path)
    assert status == 1
    assert "job_test.c:3: line" in said


def test_the_limits_themselves_are_allowed(tmp_path):
    code = body("    a();\n" * 68)
    code += "/* " + "x" * 84 + " */\n"
    code += "\n" * (800 - 2 - code.count("\n"))
    write(tmp_path, furnished({**CLEAN, **job_c(code)}))
    assert tidy(tmp_path) == (0, f"tidy: {len(CLEAN)} files, no findings\n")


CORE = "int base_help(void);\n%s\nint core_step(void *a)\n{\n    return base_help() + %s;\n}\n"


@pytest.mark.parametrize("declared, used, refused", [
    ("#include <string.h>", "(int)strlen(a)", None),
    ("long time(long *);", "(int)time(0)", "time"),
    ("int rand(void);", "rand()", "rand"),
    ("int clock_now(void);", "clock_now()", "clock_now"),
])
def test_core_links_against_nothing_impure(tmp_path, declared, used, refused):
    build = tmp_path / "build"
    write(tmp_path, {"tools/core-symbols-allowed": "strlen # pure\n!clock_*\n"})
    sources = {"core": CORE % (declared, used),
               "base": "int base_help(void)\n{\n    return 1;\n}\n"
                       "int clock_now(void)\n{\n    return 2;\n}\n"}
    for name, text in sources.items():
        write(build, {f"src/{name}/{name}.c": text})
        folder = build / "src" / name
        subprocess.run(["gcc", "-O0", "-fno-pic", "-fno-builtin", "-c", f"{name}.c"],
                       cwd=folder, check=True)
        subprocess.run(["ar", "rcs", f"lib{name}.a", f"{name}.o"], cwd=folder, check=True)
    status, said = tidy(tmp_path, "--build", build)
    if refused:
        assert f"core may not use {refused}\n" in said
        assert status == 1
    else:
        assert (status, said) == (0, "tidy: core's symbols, no findings\n")
