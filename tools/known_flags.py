# SPDX-License-Identifier: Apache-2.0
"""Whether the flags of a command exist, by the --help of what it starts: for commands that the
documents show and no check can run."""

import re
import shlex
import subprocess

FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
ASSIGNMENT = re.compile(r"^\w+=")


def commands(code):
    """The words of each command of a shell text."""
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words and ASSIGNMENT.match(words[0]):
            words = words[1:]
        if words:
            yield words


def asks_for_help(words):
    """The command that prints the help of these words, or None where there is none to ask."""
    if words[0] == "narrowgauge" and len(words) > 1:
        return [*words[:2], "--help"]
    if words[0] == "python3" and len(words) > 1 and words[1].endswith(".py"):
        return [*words[:2], "--help"]
    if words[0] == "./run":
        return ["./run", "help"]
    return None


def unknown_words(code, folder, environment):
    """Flags, and commands of ./run, that the help does not name."""
    unknown = []
    for words in commands(code):
        asked = asks_for_help(words)
        if not asked:
            continue
        result = subprocess.run(
            asked, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if result.returncode:
            unknown.append(f"`{shlex.join(asked)}` fails: {result.stderr.strip()}")
        if asked[0] == "./run":
            known = re.findall(r"^  ([\w-]+)", result.stdout, re.MULTILINE)
            unknown += [f"./run has no {word}" for word in words[1:2] if word not in known]
            continue
        known = set(FLAG.findall(result.stdout))
        given = (word.split("=")[0] for word in words[2:] if FLAG.fullmatch(word.split("=")[0]))
        unknown += [f"`{shlex.join(asked)}` has no {flag}" for flag in given if flag not in known]
    return unknown
