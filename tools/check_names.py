# SPDX-License-Identifier: Apache-2.0
"""Checks that several sources of a folder can be compiled as one, as a release build does
(cmake/Unity.cmake): file-local names are said once in a folder of src/, and each test has the
namespace of its file."""

import re

import cpp_functions
import project

NAMESPACE = re.compile(r"^namespace (narrowgauge[\w:]*) \{", re.MULTILINE)
LOCAL = re.compile(r"^namespace \{$", re.MULTILINE)
TYPE = re.compile(
    r"^(?:class|struct|union|enum(?: class)?) (?:\[\[.*?\]\] )?(\w+)[^;]*?\{", re.MULTILINE
)
VALUE = re.compile(
    r"^(?:constexpr|const|static|thread_local|inline) [^(){};=]*?\b(\w+)(?:\[[^\]]*\])*(?: =|\{|;)",
    re.MULTILINE,
)
# At the start of a line, a type, a name, parameters and a body.
FUNCTION = re.compile(
    r"^(?!using|static_assert|struct|class|enum|union|template|#|\})"
    r"[\w:<\[][^;{}()=]*?[\s*&](\w+)\([^;{}]*?\)[^;{}]*?\{",
    re.MULTILINE,
)
# Two sources may have the same one.
ALIAS = re.compile(r"^using (\w+) = ([^;]+);", re.MULTILINE)
# Compiled alone: by the name (cmake/Isa.cmake), and what starts the program.
ALONE = re.compile(r"\.(avx512|amx)\.cpp$|^src/cli/(main|cpu_check)\.cpp$")


def local_names(text):
    """Names that the anonymous namespaces of a file define, in its order, each once, with what an
    alias stands for and else nothing."""
    text = cpp_functions.blank(text)
    found = {}
    for start in LOCAL.finditer(text):
        part = text[start.end() : cpp_functions.matching(text, start.end() - 1)]
        for kind in TYPE, VALUE, FUNCTION:
            found.update(dict.fromkeys(kind.findall(part)))
        found.update((name, " ".join(meaning.split())) for name, meaning in ALIAS.findall(part))
    return found


def twice_in_a_folder(root):
    first = {}
    for path in project.files(root, {".cpp"}):
        if path.parts[0] != "src" or ALONE.search(path.as_posix()):
            continue
        for name, meaning in local_names(project.read(root / path)).items():
            other, same = first.setdefault((path.parent, name), (path, meaning))
            if other != path and not (meaning and meaning == same):
                yield f"{path}: the file-local name {name} is that of {other.name} too"


def tests_without_namespace(root):
    for path in project.files(root, {".cpp"}):
        if path.parts[0] != "tests" or not path.stem.endswith("_test"):
            continue
        spaces = NAMESPACE.findall(project.read(root / path))
        if any(not space.endswith("::" + path.stem) for space in spaces):
            yield f"{path}: expected the namespace narrowgauge::...::{path.stem}"


def check(root, _options):
    return [*twice_in_a_folder(root), *tests_without_namespace(root)], []


if __name__ == "__main__":
    project.main(check, __doc__)
