# SPDX-License-Identifier: Apache-2.0
"""Checks the subjects of the latest commits: at most 72 signs, a capital first, no full stop. Ends
with 77, for a test that is passed over, where there is no history."""

import subprocess
import sys

import project

LATEST = 12
MOST_SIGNS = 72
PASSED_OVER = 77


def subjects(root):
    """Those of the latest commits that are no merges, or None where git has none."""
    command = ["git", "-C", str(root), "log", f"-{LATEST}", "--no-merges", "--format=%h %s"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return [line.split(" ", 1) for line in result.stdout.splitlines()]


def check(root, _options):
    found = subjects(root)
    if not (root / ".git").exists() or found is None:
        print("there is no history to look at")
        sys.exit(PASSED_OVER)
    errors = []
    for commit, subject in found:
        if len(subject) > MOST_SIGNS:
            errors.append(f"{commit}: a subject of {len(subject)} signs, {MOST_SIGNS} are the most")
        if not subject[:1].isupper():
            errors.append(f"{commit}: its subject begins with a small letter: {subject}")
        if subject.endswith("."):
            errors.append(f"{commit}: its subject ends with a full stop: {subject}")
    return errors, []


if __name__ == "__main__":
    project.main(check, __doc__)
