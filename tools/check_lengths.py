# SPDX-License-Identifier: Apache-2.0
"""Checks how long files and functions are. Exceptions, each with its reason, stand in
tools/length_exceptions.txt: `path lines reason`, or `path:function lines reason`."""

import ast

import cpp_functions
import project

FILE_HARD, FILE_SOFT = 500, 300
FUNCTION_HARD, FUNCTION_SOFT = 60, 40
PARAMETERS_SOFT = 5


def python_functions(text):
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            count = len(node.args.args) + len(node.args.kwonlyargs)
            found.append(cpp_functions.Function(node.name, node.lineno, node.end_lineno, count))
    return found


def parse_exceptions(root):
    """{path or path:function: lines allowed}, and the lines that give no reason."""
    allowed, errors = {}, []
    file = root / "tools/length_exceptions.txt"
    for line in project.read(file).splitlines() if file.exists() else []:
        words = line.split("#")[0].split(maxsplit=2)
        if len(words) == 3 and words[1].isdigit():
            allowed[words[0]] = int(words[1])
        elif words:
            errors.append(f"tools/length_exceptions.txt: `{line}` is not `path lines reason`")
    return allowed, errors


class Check:
    def __init__(self, allowed):
        self.allowed = allowed
        self.used = set()
        self.errors = []
        self.warnings = []

    def length(self, place, key, lines, limits):
        soft, hard = limits
        if key in self.allowed and lines > hard:
            self.used.add(key)
            hard = soft = self.allowed[key]
        if lines > hard:
            self.errors.append(f"{place}: {lines} lines, at most {hard}")
        elif lines > soft:
            self.warnings.append(f"{place}: {lines} lines, better under {soft}")

    def file(self, path, text):
        lines = text.count("\n")
        self.length(path, path, lines, (FILE_SOFT, FILE_HARD))
        if path.endswith((".h", ".hpp", ".cpp")):
            found = cpp_functions.functions(text)
        else:
            found = python_functions(text) if path.endswith(".py") else []
        for function in found:
            place = f"{path}:{function.first_line}: {function.name}"
            lines = function.last_line - function.first_line + 1
            key = f"{path}:{function.name}"
            self.length(place, key, lines, (FUNCTION_SOFT, FUNCTION_HARD))
            if function.parameters > PARAMETERS_SOFT:
                self.warnings.append(
                    f"{place}: {function.parameters} parameters, better {PARAMETERS_SOFT}"
                )


def check(root, _options):
    allowed, errors = parse_exceptions(root)
    state = Check(allowed)
    for path in project.files(root):
        if project.is_source(path):
            state.file(path.as_posix(), project.read(root / path))
    for key in sorted(set(allowed) - state.used):
        errors.append(f"tools/length_exceptions.txt: {key} needs no exception")
    return errors + state.errors, state.warnings


if __name__ == "__main__":
    project.main(check, __doc__)
