# SPDX-License-Identifier: Apache-2.0
"""Checks that a file includes only its own layer and those to its left (tools/layers.txt), that the
table of ARCHITECTURE.md and the order in CMakeLists.txt say the same, and that heavy headers stay
out of headers."""

import collections
import re

import project

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
# Third-party headers that cost seconds or leak symbols: for .cpp files only.
HEAVY = re.compile(r"^(oneapi/|dnnl|fmt/|nlohmann/|protozero/|CLI/|benchmark/|gtest/|gmock/|immintrin\.h|"
                   r"jpeglib\.h|png\.h|webp/|utf8proc\.h)")
LIGHT_EXCEPTIONS = {"immintrin.h": re.compile(r"^src/")}  # intrinsics: not in public headers

Layers = collections.namedtuple("Layers", "order owner_of_path apart")


def parse_layers(text):
    order, owner_of_path, apart = [], {}, set()
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, _, paths = line.partition(":")
        if name == "apart":
            apart = set(paths.split())
            continue
        if name in order:
            raise SystemExit(f"error: tools/layers.txt: layer {name} has two lines")
        order.append(name)
        for path in paths.split():
            owner_of_path[path] = name
    return Layers(order, owner_of_path, apart)


def owner(layers, path):
    """The layer of a file: that of the longest listed path it stands under, or None."""
    parts = path.split("/")
    for length in range(len(parts), 0, -1):
        name = layers.owner_of_path.get("/".join(parts[:length]))
        if name:
            return name
    return None


def target_of(root, text):
    """The project path that an include names, or None if it is not a header of this project."""
    if text.startswith("narrowgauge/"):
        return "include/" + text
    if (root / "src" / text).is_file() or (root / "src" / text.split("/")[0]).is_dir():
        return "src/" + text
    return None


def include_error(root, layers, path, quote, text):
    if path.startswith("include/") or path.endswith((".h", ".hpp")):
        allowed = LIGHT_EXCEPTIONS.get(text)
        if HEAVY.match(text) and not (allowed and allowed.match(path)):
            return f"{text} is a heavy header, to be included by .cpp files only"
    target = target_of(root, text)
    if target is None:
        if quote == '"':
            return f'"{text}" is not a header of this project; paths start at src/ or include/'
        return None
    if path.startswith("include/") and target.startswith("src/"):
        return f"a public header includes {text}, which is not installed"
    to = owner(layers, target)
    if to is None:
        return f"{text} belongs to no layer of tools/layers.txt"
    of = owner(layers, path)
    if layers.order.index(to) > layers.order.index(of):
        return f"layer {of} includes {text} of layer {to}, which stands to its right"
    if of != to and {of, to} <= layers.apart:
        return f"layer {of} includes {text} of layer {to}: these stand side by side"
    return None


def check_includes(root, layers):
    errors = []
    for file in project.files(root, project.CPP):
        path = file.as_posix()
        if not path.startswith(("src/", "include/")):
            continue
        if owner(layers, path) is None:
            errors.append(f"{path}: belongs to no layer of tools/layers.txt")
            continue
        for number, line in enumerate(project.read(root / file).splitlines(), 1):
            match = INCLUDE.match(line)
            error = match and include_error(root, layers, path, *match.groups())
            if error:
                errors.append(f"{path}:{number}: {error}")
    return errors


def check_table(root, layers):
    """ARCHITECTURE.md has one row `| `name` | sentence |` for each layer, in order."""
    file = root / "ARCHITECTURE.md"
    if not file.exists():
        return ["ARCHITECTURE.md is missing"]
    rows = re.findall(r"^\| `(\w+)/?` *\| *(\S.*?) *\|$", project.read(file), re.MULTILINE)
    names = [name for name, _ in rows]
    errors = []
    if names != layers.order:
        errors.append(f"ARCHITECTURE.md: its table lists {names}, tools/layers.txt {layers.order}")
    sources = [path.parts for path in project.files(root) if path.parts[0] == "src"]
    folders = {parts[1] for parts in sources if len(parts) > 2}
    for folder in sorted(folders - set(names)):
        errors.append(f"ARCHITECTURE.md: src/{folder} is not in its table")
    for name in names:
        if name not in folders:
            errors.append(f"ARCHITECTURE.md: its table names {name}, but there is no src/{name}")
    return errors


def check_cmake(root, layers):
    listed = re.findall(r"^ng_layer\((\w+)", project.read(root / "CMakeLists.txt"), re.MULTILINE)
    listed.append("cli")  # a program and not a library
    if listed != layers.order:
        return [f"CMakeLists.txt: ng_layer lists {listed}, tools/layers.txt {layers.order}"]
    return []


def check(root, _options):
    layers = parse_layers(project.read(root / "tools/layers.txt"))
    errors = check_includes(root, layers) + check_table(root, layers) + check_cmake(root, layers)
    return errors, []


if __name__ == "__main__":
    project.main(check, __doc__)
