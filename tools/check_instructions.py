# SPDX-License-Identifier: Apache-2.0
"""Checks that what is compiled for AVX-512 or AMX cannot be run by accident: of a function that
several objects hold (a template of std, say), the linker keeps any one, and were it that of a
*.avx512.cpp, the program would die on a CPU without. So such objects share no function."""

import pathlib
import re
import subprocess

import project

OBJECT = re.compile(r"\.(avx512|amx)\.cpp\.o$")
# Compiled for every CPU: headers alone, and the kernels of tests/emulation.
BASELINE = {"header_checks", "ng_emulated.dir"}
# Functions that may be merged with those of other objects, in nm's letters: weak and unique.
MERGED = re.compile(r"^[0-9a-f]+ ([WVu]) (.+)$")
OWN = re.compile(r"\bnarrowgauge::(\w+::)*(avx512|amx)::")


def merged_functions(symbols):
    """Names in nm's listing that the linker may take for all objects, but for our own namespaces."""
    found = []
    for line in symbols.splitlines():
        match = MERGED.match(line)
        if match and match.group(1) == "W" and not OWN.search(match.group(2)):
            found.append(match.group(2))
    return found


def check(_root, options):
    errors = []
    for path in sorted(options.build.rglob("*.o")):
        if not OBJECT.search(path.name) or BASELINE & set(path.parts):
            continue
        command = ["nm", "-C", "--defined-only", str(path)]
        symbols = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for name in merged_functions(symbols):
            errors.append(f"{path.name}: {name} may be taken for all CPUs: inline it, or move it")
    return errors, []


def add_options(parser):
    parser.add_argument("build", type=pathlib.Path, help="folder of the build")


if __name__ == "__main__":
    project.main(check, __doc__, add_options)
