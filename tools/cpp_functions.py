# SPDX-License-Identifier: Apache-2.0
"""Finds the functions of a C++ file by its braces, without a compiler: good enough to measure
lengths and to count parameters in code that clang-format has laid out."""

import collections
import re

Function = collections.namedtuple("Function", "name first_line last_line parameters")

TOKENS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"""
    r""""(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'|"""
    r"""^[ \t]*\#(?:[^\n\\]|\\.)*""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
SCOPE = re.compile(r'\b(namespace|class|struct|union|enum)\b|^\s*extern\s*""\s*$')
# A macro that stands alone, such as NG_OPS(...), belongs to no declaration.
LONE_MACRO = re.compile(r"\s*[A-Z][A-Z0-9_]*\([^\n]*\)[ \t]*\n")
NOT_A_NAME = {"alignas", "decltype", "requires", "noexcept", "explicit", "__attribute__", "concept"}


def blank(text):
    """Comments, literals and preprocessor lines become spaces; line breaks stay."""

    def spaces(match):
        kept = re.sub(r"[^\n]", " ", match.group(0))
        return '""' + kept[2:] if match.group(0)[0] in "\"'R" else kept

    return TOKENS.sub(spaces, text)


def matching(text, start):
    """Index behind the bracket that closes the one at start."""
    depth = 0
    for index in range(start, len(text)):
        if text[index] in "([{":
            depth += 1
        elif text[index] in ")]}":
            depth -= 1
            if depth == 0:
                return index + 1
    return len(text)


def without_template_heads(head):
    """Drops `template <...>` so that `class` in it is not taken for a class."""
    while True:
        match = re.search(r"\btemplate\s*<", head)
        if not match:
            return head
        depth, index = 1, match.end()
        while index < len(head) and depth:
            depth += {"<": 1, ">": -1}.get(head[index], 0)
            index += 1
        head = head[: match.start()] + head[index:]


def signature(head):
    """(name, parameters) of the function that head declares, or None."""
    for match in re.finditer(r"([\w~:]+|operator\s*\S+?|\])\s*\(", head):
        name = match.group(1)
        if name in NOT_A_NAME:
            continue
        start = match.end() - 1
        if name == "operator":  # operator()(...): the first pair is its name
            start = head.find("(", matching(head, start))
            name = "operator()"
        inside = head[start + 1 : matching(head, start) - 1]
        return (name if name != "]" else "lambda"), count_parameters(inside)
    return None


def count_parameters(text):
    if not text.strip() or text.strip() == "void":
        return 0
    depth, count = 0, 1
    for char in text:
        if char in "([{<":
            depth += 1
        elif char in ")]}>":
            depth -= 1
        elif char == "," and depth == 0:
            count += 1
    return count


def classify(head):
    """What the brace behind head opens: "scope", "function" or "value"."""
    bare = without_template_heads(head).strip()
    bare = re.sub(r"^((?:class|struct) \w+)<.*>", r"\1", bare)  # a specialization
    balanced = bare.count("(") == bare.count(")")
    is_scope = SCOPE.search(bare)
    if is_scope and "=" not in bare:
        before_body = re.sub(r"\b(alignas|__attribute__)\s*\(+[^()]*\)+", "", bare)
        if "(" not in before_body.split(":")[0]:
            return "scope"
    if not balanced or bare.endswith(("=", ",", "return", "(")) or "(" not in bare:
        return "value"
    if re.search(r"\bconcept\b", bare):
        return "value"
    return "function" if signature(bare) else "value"


def skip_lone_macros(code, start, end):
    while match := LONE_MACRO.match(code, start, end):
        start = match.end()
    return start


def functions(text):
    """The functions of a file that are not inside another one, in order."""
    code = blank(text)
    found = []
    index = head_start = 0
    while index < len(code):
        char = code[index]
        if char in ";}":
            head_start = index + 1
        elif char == "{":
            head_start = skip_lone_macros(code, head_start, index)
            kind = classify(code[head_start:index])
            if kind == "scope":
                head_start = index + 1
            else:
                index = matching(code, index) - 1
                # A brace in a list of member initializers is followed by more of the head.
                after = code[index + 1 :].lstrip()[:1]
                if kind == "function" and after not in (",", "{"):
                    found.append(make(code, head_start, index))
                    head_start = index + 1
        index += 1
    return found


def make(code, head_start, end):
    head = code[head_start : code.index("{", head_start)]
    head_start += len(head) - len(head.lstrip())
    access = re.match(r"(?:(?:public|private|protected)\s*:\s*)+", code[head_start:])
    head_start += access.end() if access else 0
    name, parameters = signature(without_template_heads(head)) or ("?", 0)
    first = code.count("\n", 0, head_start) + 1
    return Function(name, first, code.count("\n", 0, end) + 1, parameters)
