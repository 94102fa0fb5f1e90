#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""embed.py - turns schema files into one C file: embed.py OUT.c 001.sql 002.sql ...
With --postgres in front for those of the shared store.

Two words of ours become SQL on the way, because views need them often:
  @id(x)@    the 13 characters of a job id (base/id.h)
  @time(x)@  milliseconds as RFC 3339

A step of the shared store may say `-- oldest: N`: programs that know step N may still use
the store after it.
"""
import pathlib
import re
import sys

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def id_text(match):
    """13 digits of base 32, the highest first."""
    digit = "substr('%s', (%s >> %d & 31) + 1, 1)"
    return " || ".join(digit % (ALPHABET, match.group(1), 60 - 5 * i) for i in range(13))


def time_text(match):
    return (f"strftime('%Y-%m-%dT%H:%M:%fZ', {match.group(1)} / 1000.0, 'unixepoch')")


def expand(text):
    text = re.sub(r"@id\((.*?)\)@", id_text, text)
    text = re.sub(r"@time\((.*?)\)@", time_text, text)
    return re.sub(r"^--.*\n", "", text, flags=re.M)


def main():
    words = sys.argv[1:]
    kind, step, name = "sqlite", "SchemaStep", "schema"
    if words[0] == "--postgres":
        kind, step, name = "postgres", "PgStep", "postgres"
        words = words[1:]
    out, sources = pathlib.Path(words[0]), words[1:]
    lines = ["/* Made by embed.py from the files in schema/ or schema_pg/. */",
             f'#include "store/{kind}/schema.h"', ""]
    oldest, rows = 1, []
    for number, source in enumerate(sources, 1):
        text = pathlib.Path(source).read_text()
        said = re.search(r"^-- oldest: ([0-9]+)$", text, flags=re.M)
        oldest = int(said[1]) if said else oldest
        rows.append(f"    {{ {number}, {oldest}, step_{number} }}," if kind == "postgres"
                    else f"    {{ {number}, step_{number} }},")
        data = expand(text).encode() + b"\0"
        lines.append(f"static const char step_{number}[] = {{")
        for at in range(0, len(data), 16):
            lines.append("    " + " ".join(f"{byte}," for byte in data[at:at + 16]))
        lines += ["};", ""]
    lines.append(f"const {step} {name}_steps[] = {{")
    lines += rows
    lines += ["};", f"const size_t {name}_step_count = {len(sources)};", ""]
    out.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
