# SPDX-License-Identifier: Apache-2.0
"""clients/c (libpawl) does what every client must, watched by the sanitizers; its symbols
are those of its header, and a program can be built with it by pkg-config."""
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from clients.language import ROOT, build, needs # noqa: E402
from clients.scenarios import * # noqa: E402,F401,F403
from lib.daemon import program # noqa: E402

BUILD = pathlib.Path(program()).resolve().parents[1]


@pytest.fixture(scope="session")
def command():
    made = BUILD / "clients/c/pawl_driver"
    assert made.exists(), f"{made} is not built: ninja -C {BUILD}"
    return [str(made)]


def test_the_symbols_are_those_of_the_header():
    """All of them, none besides, each with the version that brought it."""
    header = (ROOT / "clients/c/pawl.h").read_text()
    told = set(re.findall(r"\b(pawl_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.S)))
    listed = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions",
                             str(BUILD / "clients/c/libpawl.so.0")], check=True,
                            capture_output=True, text=True).stdout
    found = dict(re.findall(r" T (pawl_\w+)@@(\S+)$", listed, re.M))
    assert set(found) == told and len(told) > 30
    assert set(found.values()) == {"PAWL_0.2"}
    others = {name for name in re.findall(r" [TDBR] (\w+)", listed)} - told
    assert not {name for name in others if not name.startswith(("PAWL_", "__"))}


def test_a_program_is_built_by_pkg_config(tmp_path):
    """C and C++ understand the header."""
    cc, clang, pkg_config = needs("cc", "clang", "pkg-config")
    (tmp_path / "try.c").write_text(
        "#include <pawl.h>\nint main(void)\n{\n    PawlClient *client = pawl_client_new(\"fake:\", 0);\n"
        "    PawlNewJob job = { .type = \"x\" };\n    char id[PAWL_ID_BYTES];\n"
        "    int failed = pawl_add(client, &job, id, 0) != PAWL_OK;\n"
        "    pawl_client_free(client);\n    return failed;\n}\n")
    flags = subprocess.run([pkg_config, "--cflags", "--libs", "libpawl"], capture_output=True,
                           text=True, check=True,
                           env={"PKG_CONFIG_PATH": str(BUILD / "meson-uninstalled"),
                                "PATH": "/usr/bin:/bin"}).stdout.split()
    asan = ["-fsanitize=address,undefined"] if BUILD.name == "asan" else []
    build([cc, "-Wall", "-Werror", "try.c", "-o", "try", *asan, *flags], tmp_path)
    build(["./try"], tmp_path, LD_LIBRARY_PATH=str(BUILD / "clients/c"))
    (tmp_path / "try.cc").write_text("#include <pawl.h>\n")
    build([clang, "-x", "c++", "-fsyntax-only", "-Wall", "-Werror", "try.cc",
           *[flag for flag in flags if flag.startswith("-I")]], tmp_path)
