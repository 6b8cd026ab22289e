# SPDX-License-Identifier: Apache-2.0
"""Does a narrow format lose accuracy? Trains a network in each format from several seeds and prints
the accuracies and their paired differences from the first format, with standard errors. A format is
one of --amp (off, f16, bf16), or one of --math: f32 whose products are made in that way (ieee, tf32,
bf16x3, dfp16), or both: f16@sim:a100. Ends with 7 if a mean difference is over --tolerance points, or an accuracy under --least
percent."""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys

CHECK_FAILED = 7
MATHS = {"ieee", "tf32", "tf32x3", "bf16x3", "dfp16"}


def parse_arguments():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, epilog="Flags after -- go to train.")
    parser.add_argument("--program", default=str(root / "build" / "release" / "narrowgauge"))
    parser.add_argument("--model", default="lenet")
    parser.add_argument("--data", default="glyphs", help="glyphs, or a folder of IDX files")
    parser.add_argument("--formats", default="off,f16,bf16", help="the first is the reference")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=5, help="1, 2, ... so many")
    parser.add_argument("--tolerance", type=float, default=0.4, help="points")
    parser.add_argument("--least", type=float, default=0.0, help="percent")
    parser.add_argument("flags", nargs="*", help="of narrowgauge train")
    return parser.parse_args()


def compare(options, seed, formats, flags):
    """Test accuracy in percent of each of the formats of --amp."""
    command = [options.program, "train", "--model", options.model, "--data", options.data]
    command += ["--compare", ",".join(formats), "--epochs", str(options.epochs)]
    command += ["--seed", str(seed), "--json", "--quiet", *flags, *options.flags]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode:
        sys.exit(result.returncode)
    done = json.loads(result.stdout.splitlines()[-1])
    return {run["amp"]: 100 * run["test_accuracy"] for run in done["runs"]}


def train(options, seed):
    """Test accuracy in percent of each format, in the order they are given in."""
    formats = options.formats.split(",")
    accuracies = {}
    amps = [name for name in formats if name not in MATHS and "@" not in name]
    if amps:
        accuracies |= compare(options, seed, amps, [])
    for math_mode in MATHS.intersection(formats):
        accuracies[math_mode] = compare(options, seed, ["off"], ["--math", math_mode])["off"]
    for name in formats:
        amp, _, math_mode = name.partition("@")
        if math_mode:
            accuracies[name] = compare(options, seed, [amp], ["--math", math_mode])[amp]
    return {name: accuracies[name] for name in formats}


def difference(accuracies, name, reference):
    """Mean and standard error of the paired differences."""
    differences = [row[name] - row[reference] for row in accuracies]
    mean = statistics.mean(differences)
    if len(differences) < 2:
        return mean, math.nan
    return mean, statistics.stdev(differences) / math.sqrt(len(differences))


def main():
    options = parse_arguments()
    print(f"{options.model} on {options.data}, {options.epochs} epochs; test accuracy, percent")
    accuracies = []
    for seed in range(1, options.seeds + 1):
        accuracies.append(train(options, seed))
        row = "  ".join(f"{name} {value:.2f}" for name, value in accuracies[-1].items())
        print(f"  seed {seed}: {row}", flush=True)
    reference, *others = accuracies[0]
    agree = min(min(row.values()) for row in accuracies) >= options.least
    for name in others:
        mean, error = difference(accuracies, name, reference)
        print(f"  {name} - {reference}: mean {mean:+.3f} points, standard error {error:.3f}")
        agree = agree and abs(mean) <= options.tolerance
    return 0 if agree else CHECK_FAILED


if __name__ == "__main__":
    sys.exit(main())
