# SPDX-License-Identifier: Apache-2.0
"""Stands in for the program where the documents' commands are tried: the same command with the same
flags, on a small data set, in one epoch, or in one step of the benchmark.

  small_program.py PROGRAM DATA COMMAND ARGUMENT..."""

import os
import pathlib
import struct
import sys

# By command: flags that get a small value, whether they stand in the command or not.
TRAINING = {"--epochs": "1"}
INFERENCE = {"--model": "lenet", "--batch": "4", "--iterations": "1"}
BENCHMARK = {**INFERENCE, "--batches": "1"}


def write_data(folder, images=128):
    """A data set of IDX files: images of noise, labels in turn."""
    folder.mkdir(parents=True)
    pixels = bytes((i * 2654435761 >> 7) & 0xFF for i in range(images * 28 * 28))
    labels = bytes(i % 10 for i in range(images))
    for part in ("train", "t10k"):
        head = struct.pack(">IIII", 0x803, images, 28, 28)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(head + pixels)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, images) + labels)


def small_values(arguments, data):
    command = arguments[0] if arguments else ""
    if command == "train" or (command == "simulate" and "--model" in arguments):
        return {**TRAINING, "--data": data}
    if command in {"evaluate", "formats"}:
        return {"--data": data} if "--data" in arguments or command == "evaluate" else {}
    if command == "bench":
        return INFERENCE if "--inference" in arguments else BENCHMARK
    return {}


def made_small(arguments, data):
    small = list(arguments)
    for flag, value in small_values(arguments, data).items():
        if flag in small:
            small[small.index(flag) + 1] = value
        else:
            small += [flag, value]
    return small


def install(folder, program):
    """Puts the stand-in into a folder under the program's name, with its data beside it."""
    write_data(folder / "data")
    script = folder / "narrowgauge"
    here = pathlib.Path(__file__).resolve()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{here}" "{program}" "{folder}/data" "$@"\n')
    script.chmod(0o755)


if __name__ == "__main__":
    PROGRAM, DATA, *ARGUMENTS = sys.argv[1:]
    os.execv(PROGRAM, [PROGRAM, *made_small(ARGUMENTS, DATA)])
