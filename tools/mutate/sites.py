# SPDX-License-Identifier: Apache-2.0
"""Places where C++ code can be changed by one operator, bound or constant, and the text that puts a
change beside the code as it is (mutation.h says how)."""

import collections
import hashlib
import pathlib
import re

import cpp_functions
import project

LAYERS = ["api", "groups", "io", "kernels", "ops", "passes", "precision", "runtime", "train"]
HEADER = pathlib.Path(__file__).with_name("mutation.h")

# start and end are offsets; line is the stripped line of code, and change says what becomes of it.
Site = collections.namedtuple("Site", "path start end number line change text")

OPERATORS = {
    "<": ("Less", "<="),
    "<=": ("LessEqual", "<"),
    ">": ("Greater", ">="),
    ">=": ("GreaterEqual", ">"),
    "==": ("Equal", "!="),
    "!=": ("NotEqual", "=="),
    "+": ("Plus", "-"),
    "-": ("Minus", "+"),
    "*": ("Times", "+"),
    "/": ("Divide", "*"),
    "%": ("Remainder", "+"),
}
# clang-format puts blanks around what is binary, and none around references and template brackets.
BINARY = re.compile(r"(?<=[\w)\]]) (<=|>=|==|!=|<|>|\+|-|\*|/|%) (?=[\w(!*&~-])")
LOGICAL = re.compile(r" (&&|\|\|) ")
WHOLE = re.compile(r"(?<![\w.'])(\d+)(?![\w.'])")
REAL = re.compile(r"(?<![\w.'])(\d+\.\d*(?:e-?\d+)?[fF]?)(?![\w.'])")
EXTREME = re.compile(r"\bstd::(min|max)\(")
NEGATION = re.compile(r"(?<=[( ])!(?=[\w(])")
CONDITION = re.compile(r"\bif \((?=[^;]*\))")
GROWS = re.compile(r"(?<=[\w\])]) (\+=|-=) ([^;{}]+);")


def in_functions(text):
    """The lines, counted from 1, in the bodies of functions."""
    inside = set()
    for function in cpp_functions.functions(text):
        inside.update(range(function.first_line + 1, function.last_line + 1))
    return inside


def binary(match):
    name, other = OPERATORS[match.group(1)]
    sign = match.group(1)
    return f"{sign} -> {other}", lambda i: f" {sign} mutation::{name}<{i}>{{}} {sign} "


def logical(match):
    if match.group(1) == "&&":
        return "&& -> false", lambda i: f" && !mutation::flip<{i}>() && "
    return "|| -> true", lambda i: f" || mutation::flip<{i}>() || "


def whole(match):
    number = match.group(1)
    changed = "1" if number == "0" else "0" if number == "1" else str(int(number) + 1)
    return f"{number} -> {changed}", lambda i: f"mutation::constant<{i}>({number}, {changed})"


def real(match):
    number = match.group(1)
    suffix = "F" if number[-1] in "fF" else ""
    changed = "1.0" + suffix if float(number.rstrip("fF")) == 0 else f"2 * {number}"
    return f"{number} -> {changed}", lambda i: f"mutation::constant<{i}>({number}, {changed})"


def extreme(match):
    of = match.group(1)
    name, other = ("smaller", "max") if of == "min" else ("larger", "min")
    return f"{of} -> {other}", lambda i: f"mutation::{name}<{i}>("


def negation(_match):
    return "!x -> x", lambda i: f"mutation::flip<{i}>() != !"


def grows(match):
    sign, value = match.groups()
    other = "-=" if sign == "+=" else "+="
    return f"{sign} -> {other}", lambda i: f" {sign} mutation::negated<{i}>({value});"


PATTERNS = [
    (BINARY, binary),
    (LOGICAL, logical),
    (WHOLE, whole),
    (REAL, real),
    (EXTREME, extreme),
    (NEGATION, negation),
    (GROWS, grows),
]
# No site stands in these lines: the compiler needs them as they are, or no behaviour follows.
LEFT_ALONE = re.compile(r"\b(static_assert|case|template|using|constexpr|NG_INVARIANT|alignas|asm|sample)\b")


def conditions(code):
    """(start, end) of what stands in the brackets of each `if`."""
    for match in CONDITION.finditer(code):
        start = match.end()
        yield start, cpp_functions.matching(code, start - 1) - 1


def candidates(path, text):
    """All sites of a file. `text` of a site is a function from the number of a change to C++."""
    code = cpp_functions.blank(text)
    lines = text.split("\n")
    inside = in_functions(text)

    def site(start, end, change, text_of):
        number = code.count("\n", 0, start) + 1
        line = lines[number - 1]
        if number in inside and not LEFT_ALONE.search(line):
            return Site(path, start, end, number, line.strip(), change, text_of)
        return None

    found = []
    for pattern, rewrite in PATTERNS:
        for match in pattern.finditer(code):
            change, text_of = rewrite(match)
            found.append(site(match.start(), match.end(), change, text_of))
    for start, end in conditions(code):
        inner = text[start:end]
        text_of = (lambda held: lambda i: f"mutation::flip<{i}>() != static_cast<bool>({held})")(inner)
        found.append(site(start, end, "condition negated", text_of))
    return [one for one in found if one]


def all_sites(root, layers):
    found = []
    for path in project.files(root, {".cpp", ".h"}):
        parts = path.parts
        if parts[0] == "src" and parts[1] in layers:
            found += candidates(path, project.read(root / path))
    return found


def in_random_order(sites, seed):
    """The sites by a hash of the seed and of what each changes, so that an edit elsewhere in the
    project draws nearly the same changes again."""
    same = collections.Counter()
    ranked = []
    for site in sorted(sites, key=lambda s: (s.path, s.start, s.change)):
        key = (site.path.as_posix(), site.line, site.change)
        same[key] += 1
        text = repr((seed, *key, same[key]))
        ranked.append((hashlib.sha256(text.encode()).digest(), site))
    return [site for _, site in sorted(ranked, key=lambda pair: pair[0])]


def choose(sites, count, seed):
    """The first `count` of them in their random order, no two of which overlap."""
    order = in_random_order(sites, seed)
    chosen, taken = [], collections.defaultdict(list)
    for site in order:
        if len(chosen) == count:
            break
        if all(site.end <= a or b <= site.start for a, b in taken[site.path]):
            taken[site.path].append((site.start, site.end))
            chosen.append(site)
    return chosen


def mutated(text, sites):
    """The file with all changes in it: `sites` are pairs of a number and a site of this file. The
    first line, which names the licence, makes room for the header, so that all lines keep their
    numbers."""
    for number, site in sorted(sites, key=lambda pair: -pair[1].start):
        text = text[: site.start] + site.text(number) + text[site.end :]
    return f'#include "{HEADER}"\n' + text.split("\n", 1)[1]
