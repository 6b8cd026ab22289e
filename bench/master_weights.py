# SPDX-License-Identifier: Apache-2.0
"""What do weights without masters in f32 cost? Trains a network in bf16 (or --amp f16) from several
seeds with masters and without them, in each way of rounding, and prints test accuracies, bytes of
states and paired differences from masters. Ends with 7 unless stochastic and kahan are within
--tolerance points of masters on average, and nearest is below both."""

import argparse
import gzip
import json
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile

CHECK_FAILED = 7
WAYS = {
    "masters": [],
    "stochastic": ["--master-weights", "off", "--weight-rounding", "stochastic"],
    "kahan": ["--master-weights", "off", "--weight-rounding", "kahan"],
    "nearest": ["--master-weights", "off", "--weight-rounding", "nearest"],
}


def parse_arguments():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, epilog="Flags after -- go to train.")
    parser.add_argument("--program", default=str(root / "build" / "release" / "narrowgauge"))
    parser.add_argument("--model", default="resnet20")
    parser.add_argument("--data", required=True, help="a folder of gzipped IDX files")
    parser.add_argument("--amp", default="bf16")
    parser.add_argument("--samples", type=int, default=0, help="of the training set, the first (all)")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--optimizer", default="adam")
    parser.add_argument("--lr", default="0.0002", help="small, so that nearest loses steps")
    parser.add_argument("--batch", default="64")
    parser.add_argument("--seeds", type=int, default=3, help="1, 2, ... so many")
    parser.add_argument("--tolerance", type=float, default=0.5, help="points")
    parser.add_argument("flags", nargs="*", help="of narrowgauge train")
    return parser.parse_args()


def cut(source, target, count):
    """Writes the first `count` items of a gzipped IDX file."""
    data = gzip.decompress(source.read_bytes())
    dimensions = data[3]
    sizes = list(struct.unpack(f">{dimensions}I", data[4 : 4 + 4 * dimensions]))
    count = min(count, sizes[0])
    item = 1
    for size in sizes[1:]:
        item *= size
    header = data[:4] + struct.pack(f">{dimensions}I", count, *sizes[1:])
    begin = 4 + 4 * dimensions
    target.write_bytes(gzip.compress(header + data[begin : begin + count * item], 1))


def subset(folder, count, target):
    """The data set with fewer training samples, and the whole test set."""
    for path in pathlib.Path(folder).glob("*ubyte.gz"):
        if path.name.startswith("train"):
            cut(path, target / path.name, count)
        else:
            (target / path.name).symlink_to(path.resolve())
    return str(target)


def train(options, data, way, seed):
    """Accuracy in percent, and bytes of states."""
    command = [options.program, "train", "--model", options.model, "--data", data]
    command += ["--amp", options.amp, "--epochs", str(options.epochs), "--seed", str(seed)]
    command += ["--optimizer", options.optimizer, "--lr", options.lr, "--batch", options.batch]
    command += ["--json", "--quiet", *WAYS[way], *options.flags]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode:
        sys.exit(result.returncode)
    done = json.loads(result.stdout.splitlines()[-1])
    return 100 * done["test_accuracy"], done["state_bytes"]


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        data = options.data
        if options.samples:
            data = subset(data, options.samples, pathlib.Path(folder))
        accuracies = {way: [] for way in WAYS}
        for seed in range(1, options.seeds + 1):
            row = []
            for way in WAYS:
                accuracy, state_bytes = train(options, data, way, seed)
                accuracies[way].append(accuracy)
                row.append(f"{way} {accuracy:.2f} ({state_bytes / 1e6:.2f} MB)")
            print(f"  seed {seed}: {'  '.join(row)}", flush=True)
    means = {}
    for way in list(WAYS)[1:]:
        pairs = zip(accuracies[way], accuracies["masters"])
        means[way] = statistics.mean(own - reference for own, reference in pairs)
        print(f"  {way} - masters: mean {means[way]:+.3f} points")
    close = max(abs(means["stochastic"]), abs(means["kahan"])) <= options.tolerance
    worse = means["nearest"] < min(means["stochastic"], means["kahan"])
    return 0 if close and worse else CHECK_FAILED


if __name__ == "__main__":
    sys.exit(main())
