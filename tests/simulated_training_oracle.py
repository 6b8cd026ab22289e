# SPDX-License-Identifier: Apache-2.0
"""lenet trained wholly on a simulated A100, in f16, against the fast f16 of this machine: on a part of
Fashion-MNIST, paired over seeds. First losses must be equal to 1e-5, accuracies within what seeds
differ by."""

import gzip
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile

SEEDS = 3
COUNTS = {"train": 2000, "t10k": 1000}
FIRST_LOSS = 1e-5  # relative
POINTS = 1.5  # mean difference of accuracies; one run differs from another seed's by more


def cut(source, target):
    """The first images and labels of each of the four IDX files."""
    for path in source.glob("*-ubyte.gz"):
        count = COUNTS[path.name.split("-")[0]]
        data = gzip.decompress(path.read_bytes())
        axes = data[3]
        sizes = struct.unpack(f">{axes}I", data[4 : 4 + 4 * axes])
        each = 1
        for size in sizes[1:]:
            each *= size
        header = data[:4] + struct.pack(f">{axes}I", count, *sizes[1:])
        begin = 4 + 4 * axes
        (target / path.stem).write_bytes(header + data[begin : begin + count * each])


def train(data, mode, seed):
    command = [os.environ["NARROWGAUGE_PROGRAM"], "train", "--model", "lenet", "--data", str(data)]
    command += ["--amp", "f16", "--math", mode, "--epochs", "1", "--batch", "100"]
    command += ["--seed", str(seed), "--json", "--quiet"]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(result.stdout.splitlines()[-1])


def main():
    source = pathlib.Path(os.environ["NARROWGAUGE_SOURCE"])
    data = pathlib.Path(os.environ.get("NARROWGAUGE_DATA", source.parent / "shared" / "data"))
    if not (data / "fashion_mnist").is_dir():
        print(f"no {data / 'fashion_mnist'}: nothing to train on")
        return 0
    differences, agree = [], True
    with tempfile.TemporaryDirectory() as name:
        cut(data / "fashion_mnist", pathlib.Path(name))
        for seed in range(1, SEEDS + 1):
            fast, unit = (train(name, mode, seed) for mode in ("f32", "sim:a100"))
            off = abs(unit["first_loss"] / fast["first_loss"] - 1)
            differences.append(100 * (unit["test_accuracy"] - fast["test_accuracy"]))
            accuracies = [f"{100 * run['test_accuracy']:.1f} %" for run in (fast, unit)]
            print(f"seed {seed}: fast {accuracies[0]}, sim:a100 {accuracies[1]}, first losses ",
                  f"{off:.1e} apart", sep="", flush=True)
            agree = agree and off <= FIRST_LOSS
    mean = statistics.mean(differences)
    print(f"mean difference {mean:+.2f} points")
    return 0 if agree and abs(mean) <= POINTS else 1


if __name__ == "__main__":
    sys.exit(main())
