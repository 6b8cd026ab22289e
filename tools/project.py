# SPDX-License-Identifier: Apache-2.0
"""What the checks share: the files of the project, and how a check reports."""

import argparse
import pathlib
import re
import subprocess
import sys

CPP = {".h", ".hpp", ".cpp"}
SCRIPTS = {".py", ".sh", ".cmake"}
# Scripts by their place, since they have no suffix to go by.
EXTENSIONLESS_SCRIPTS = {"run", ".ci/run"}
SKIPPED = re.compile(r"^(build|build-.*|runs|\.git|__pycache__|\.cache|\.venv)$")


def known_to_git(root):
    """Files that are or could be committed, or None where git cannot tell."""
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "ls-files", "-z", "-c", "-o", "--exclude-standard"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return [pathlib.Path(name) for name in result.stdout.split("\0") if name]


def found_in_folders(root):
    pending = [root]
    while pending:
        for entry in pending.pop().iterdir():
            if SKIPPED.match(entry.name):
                continue
            if entry.is_dir() and not entry.is_symlink():
                pending.append(entry)
            else:
                yield entry.relative_to(root)


def files(root, suffixes=None):
    """All files of the project in a stable order, as paths relative to root."""
    found = known_to_git(root)
    if found is None:
        found = found_in_folders(root)
    wanted = (path for path in found if suffixes is None or path.suffix in suffixes)
    return sorted(path for path in wanted if (root / path).is_file())


def is_source(path):
    """Code that people write and read: what the rules on length and licence lines hold for."""
    return (
        path.suffix in CPP | SCRIPTS
        or path.name == "CMakeLists.txt"
        or path.as_posix() in EXTENSIONLESS_SCRIPTS
    )


def read(path):
    return path.read_text(encoding="utf-8")


def main(check, description, add_options=None):
    """Runs check(root, options) -> (errors, warnings), prints them, and ends the process."""
    parser = argparse.ArgumentParser(description=description)
    here = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--root", type=pathlib.Path, default=here, help="the project's folder")
    if add_options:
        add_options(parser)
    options = parser.parse_args()
    errors, warnings = check(options.root, options)
    for line in warnings:
        print("warning:", line)
    for line in errors:
        print("error:", line)
    print(f"{len(errors)} errors, {len(warnings)} warnings")
    sys.exit(1 if errors else 0)
