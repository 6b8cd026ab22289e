# SPDX-License-Identifier: Apache-2.0
"""Builds a copy of the project with all changes compiled in, and drops those that do not compile."""

import collections
import pathlib
import re
import shutil
import subprocess

import project
import sites as site_module

# As the compiler names places: "path:line:column: error", or where a template was asked for.
PLACE = re.compile(r"(src/[\w/.]+):(\d+):\d+:")
ROUNDS = 12
SOURCES = {".cpp", ".h"}
STATE = pathlib.Path("src/base/mutation.cpp")  # where mutation.cpp stands in the copy


def copy(root, tree):
    """Makes `tree` hold the project's files but for the sources, which write_changes() writes; what
    is there and the same keeps its time, so that a later run builds only what differs."""
    kept = {STATE}
    for path in project.files(root):
        kept.add(path)
        if path.suffix not in SOURCES:
            write(tree / path, (root / path).read_bytes(), (root / path).stat().st_mode)
    for path in project.found_in_folders(tree):
        if path not in kept:
            (tree / path).unlink()
    onednn = root / "build/onednn"
    if onednn.exists() and not (tree / "build/onednn").exists():
        shutil.copytree(onednn, tree / "build/onednn", symlinks=True)


def write(path, content, mode=None):
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if mode is not None:
        path.chmod(mode)


def write_changes(root, tree, changes):
    """Writes the sources with `changes`, a dict from number to site, and restores all others."""
    by_path = collections.defaultdict(list)
    for number, site in changes.items():
        by_path[site.path].append((number, site))
    for path in project.files(root, SOURCES):
        text = project.read(root / path)
        if path in by_path:
            text = site_module.mutated(text, by_path[path])
        write(tree / path, text.encode())
    state = (site_module.HEADER.with_suffix(".cpp")).read_text()
    state = state.replace('"mutation.h"', f'"{site_module.HEADER}"')
    write(tree / STATE, state.encode())


def named_places(output):
    """(path, line) of all places in the compiler's output that stand around an error. "In function"
    only says what surrounds them."""
    lines = (line for line in output.splitlines() if "In function" not in line or "error:" in line)
    return {(path, int(number)) for line in lines for path, number in PLACE.findall(line)}


def in_code(tree):
    """The numbers of the changes that the compiler made code of (mutation.h lists them)."""
    numbers = set()
    for library in sorted((tree / "build/release").glob("libng_*.a")):
        command = ["objdump", "-s", "-j", ".mutations", str(library)]
        dump = subprocess.run(command, capture_output=True, text=True).stdout
        for line in re.findall(r"^ [0-9a-f]+ ((?:[0-9a-f]+ ){1,4})", dump, re.MULTILINE):
            data = bytes.fromhex(line)
            numbers.update(int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4))
    return numbers


def compile_all(tree, jobs):
    command = ["ninja", "-C", str(tree / "build/release"), "-k", "0", "-j", str(jobs)]
    result = subprocess.run(command, capture_output=True, text=True)
    return result.returncode == 0, result.stdout + result.stderr


def build(root, tree, changes, jobs, say):
    """Builds with as many of the changes as compile, and returns these."""
    copy(root, tree)
    write_changes(root, tree, changes)
    flags = "-w -Wno-error"
    configure = ["cmake", "--preset", "release", f"-DCMAKE_CXX_FLAGS={flags}"]
    configure += ["-DCMAKE_COMPILE_WARNING_AS_ERROR=OFF"]
    subprocess.run(configure, cwd=tree, check=True, capture_output=True)
    for _ in range(ROUNDS):
        good, output = compile_all(tree, jobs)
        if good:
            numbers = in_code(tree)
            return {n: s for n, s in changes.items() if n in numbers}
        places = named_places(output)
        refused = [n for n, s in changes.items() if (s.path.as_posix(), s.number) in places]
        if not refused:
            (tree / "build/errors.txt").write_text(output)
            raise SystemExit(f"no change explains these errors: {tree / 'build/errors.txt'}")
        say(f"{len(refused)} changes do not compile and are left out")
        changes = {n: s for n, s in changes.items() if n not in refused}
        write_changes(root, tree, changes)
    raise SystemExit(f"still not built after {ROUNDS} rounds")
