# SPDX-License-Identifier: Apache-2.0
"""Checks that the rooms of a layer, which are its folders, stand in an order: src/<layer>/rooms.txt
lists them, one a line, and a file includes only its own room and those above it there. Files beside
rooms.txt are the room "." and a folder holds at most 40 files of code."""

import collections
import pathlib

import check_layers
import project

MOST_FILES = 40

Source = collections.namedtuple("Source", "path layer room")


def source_of(path):
    """The place of src/<layer>/<room>/<file>; a room may lie in folders of folders."""
    parts = path.split("/")
    if len(parts) < 3 or parts[0] != "src":
        return None
    return Source(path, parts[1], "/".join(parts[2:-1]) or ".")


def listed_rooms(root, layer, rooms, errors):
    """The rooms of a layer in their order. Layers of a single room need no list."""
    name = f"src/{layer}/rooms.txt"
    file = root / name
    if not file.exists():
        if len(rooms) > 1:
            errors.append(f"{name} is missing: it lists the rooms {', '.join(sorted(rooms))}")
        return []
    lines = [line.split("#")[0].strip() for line in project.read(file).splitlines()]
    order = [line for line in lines if line]
    for room, count in collections.Counter(order).items():
        if count > 1:
            errors.append(f"{name}: room {room} has {count} lines")
    for room in sorted(rooms - set(order)):
        errors.append(f"{name}: room {room} is not listed")
    for room in sorted(set(order) - rooms):
        errors.append(f"{name}: there is no room {room}")
    return order


def include_errors(root, source, order):
    for number, line in enumerate(project.read(root / source.path).splitlines(), 1):
        match = check_layers.INCLUDE.match(line)
        target = match and source_of("src/" + match.group(2))
        if not target or target.layer != source.layer or target.room == source.room:
            continue
        if target.room in order and order.index(target.room) > order.index(source.room):
            yield (
                f"{source.path}:{number}: room {source.room} includes {match.group(2)} of room "
                f"{target.room}, which stands below it in src/{source.layer}/rooms.txt"
            )


def check_order(root, paths):
    errors, by_layer = [], collections.defaultdict(list)
    for source in filter(None, map(source_of, paths)):
        by_layer[source.layer].append(source)
    for layer, sources in sorted(by_layer.items()):
        rooms = {source.room for source in sources}
        order = listed_rooms(root, layer, rooms, errors)
        for source in sources:
            if source.room in order:
                errors += include_errors(root, source, order)
    return errors


def check_sizes(paths):
    counts = collections.Counter(pathlib.PurePosixPath(path).parent.as_posix() for path in paths)
    return [
        f"{folder}: {count} files, and {MOST_FILES} are the most: part it into rooms"
        for folder, count in sorted(counts.items())
        if count > MOST_FILES
    ]


def check(root, _options):
    files = (path.as_posix() for path in project.files(root, project.CPP))
    paths = [path for path in files if path.startswith("src/")]
    return check_order(root, paths) + check_sizes(paths), []


if __name__ == "__main__":
    project.main(check, __doc__)
