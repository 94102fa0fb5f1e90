#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""embed.py - turns the language sides into one C file: embed.py OUT.c boot.py ...

Each becomes boot_EXTENSION. PHP takes code on its command line without the opening tag,
and Lua none that begins like an option.
"""
import pathlib
import sys


def main():
    out, sources = pathlib.Path(sys.argv[1]), sys.argv[2:]
    lines = ["/* Made by embed.py from the files in contexts/. */",
             '#include "run/context/interpreter.h"', ""]
    for source in map(pathlib.Path, sources):
        text = source.read_text().removeprefix("<?php\n")
        data = ((" " if text.startswith("-") else "") + text).encode() + b"\0"
        lines.append(f"const char boot_{source.suffix[1:]}[] = {{")
        for at in range(0, len(data), 16):
            lines.append("    " + " ".join(f"{byte}," for byte in data[at:at + 16]))
        lines += ["};", ""]
    out.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
