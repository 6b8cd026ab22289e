# SPDX-License-Identifier: Apache-2.0
"""Checks that C++ files are laid out as .clang-format says. Another version of clang-format breaks
lines in other places, so the check needs this one and is skipped (exit code 77) without it."""

import re
import shutil
import subprocess
import sys

import project

VERSION = "14"
SKIPPED = 77


def formatter():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        program = shutil.which(name)
        if program:
            said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
            if re.search(rf"version {VERSION}\.", said.stdout):
                return program
    return None


def check(root, _options):
    program = formatter()
    if program is None:
        print(f"skipped: clang-format {VERSION} is not installed")
        sys.exit(SKIPPED)
    files = [path.as_posix() for path in project.files(root, project.CPP)]
    if not files:
        return [], []
    command = [program, "--dry-run", "-Werror", *files]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    wrong = sorted(set(re.findall(r"^([^\s:]+):\d+:\d+: error", result.stderr, re.MULTILINE)))
    errors = [f"{file}: not formatted: clang-format -i {file}" for file in wrong]
    if result.returncode and not errors:
        errors.append(result.stderr.strip())
    return errors, []


if __name__ == "__main__":
    project.main(check, __doc__)
