# SPDX-License-Identifier: Apache-2.0
"""Checks what every text file must keep to: a licence line, no notes to self, no paths or hosts of
the machine it was written on, comments that name their subject, and plain line ends."""

import re

import project

LICENCE = "SPDX-License-Identifier: Apache-2.0"
# Put together from halves, so that this file passes its own check.
NOTES = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]) + r")\b")
PLACES = re.compile(
    r"(?<![\w.~$}])/(" + "wo" + r"rk|ro" + r"ot|ho" + r"me/\w+|Us" + r"ers/\w+)/[\w.]"
    r"|\b[\w-]+\.pkg\.dev\b|\bartifact-?registry\b|\b[\w-]+\.internal\b"
)
TEXT = {".h", ".hpp", ".cpp", ".py", ".sh", ".cmake", ".txt", ".md", ".json", ".in", ".map", ""}
LINES_LOOKED_AT = 3  # a script has its interpreter first
SOURCES = (".h", ".hpp", ".cpp", ".py")
COMMENT = re.compile(r"\s*(?://|#)\s*(?P<text>.*)")


def check_subjects(path, lines):
    """Refuses comments such as "Of two lists.", whose subject is only in the code below. Later
    lines of a paragraph may begin so."""
    errors = []
    before = ""
    for number, line in enumerate(lines, 1):
        comment = COMMENT.match(line)
        text = comment["text"] if comment else ""
        if not before and re.match(r"Of\b", text):
            errors.append(f"{path}:{number}: a comment begins with its subject, not with `Of`")
        before = "" if LICENCE in text else text
    return errors


def check_lines(path, lines):
    errors = []
    for number, line in enumerate(lines, 1):
        place = f"{path}:{number}"
        if NOTES.search(line):
            errors.append(f"{place}: `{NOTES.search(line).group(0)}`: do it, or write an issue")
        if PLACES.search(line):
            errors.append(f"{place}: `{PLACES.search(line).group(0)}` holds on one machine only")
        if line != line.rstrip():
            errors.append(f"{place}: spaces at the end of the line")
        if "\t" in line and not path.endswith((".txt", ".json")):
            errors.append(f"{place}: a tab")
    return errors


def check_file(path, data):
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return [f"{path}: not UTF-8: {error}"]
    lines = text.split("\n")
    errors = check_lines(path, lines)
    if path.endswith(SOURCES):
        errors += check_subjects(path, lines)
    if text and lines[-1]:
        errors.append(f"{path}: no line end after the last line")
    needs_licence = path.endswith((*SOURCES, ".sh")) or path in {"run", ".ci/run"}
    if needs_licence and not any(LICENCE in line for line in lines[:LINES_LOOKED_AT]):
        errors.append(f"{path}: its first line must say `{LICENCE}`")
    return errors


def check(root, _options):
    errors = []
    for path in project.files(root, TEXT):
        if path.name != "LICENSE" and b"\0" not in (root / path).read_bytes():
            errors += check_file(path.as_posix(), (root / path).read_bytes())
    return errors, []


if __name__ == "__main__":
    project.main(check, __doc__)
