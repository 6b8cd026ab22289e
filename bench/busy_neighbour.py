#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is left of the speed beside a process that keeps one core busy.

Trains each network by turns quiet, beside a busy loop pinned to the last core that this process may
use, and with one thread beside it; predictions of resnet18 at batch 1 too where the build folder has
bench_predict_latency (ninja -C build/release bench_predict_latency). --against names the build
folder of another version, whose rates are then paired with these, round by round.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys

PRECISION = "bf16"


def rate(folder, case, threads=0):
    """Samples a second, or predictions."""
    kind, model, size = case
    if kind == "predict":
        environment = dict(os.environ, **({"NARROWGAUGE_THREADS": str(threads)} if threads else {}))
        command = [f"{folder}/bench/bench_predict_latency", model, str(size)]
        text = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return 1e3 / statistics.median(float(line) for line in text.stdout.split())
    command = [f"{folder}/narrowgauge", "bench", "--model", model, "--precision", PRECISION,
               "--batch", str(size), "--iterations", "3", "--batches",
               "2" if model == "resnet50" else "10", "--json", "--threads", str(threads)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return statistics.median(json.loads(text.splitlines()[-1])["runs"][0]["iterations"])


class Neighbour:
    """A busy loop on one core, for as long as the `with` lasts."""

    def __init__(self, core):
        self.core = core

    def __enter__(self):
        self.process = subprocess.Popen(["taskset", "-c", str(self.core), "sh", "-c",
                                         "while :; do :; done"])

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def interval(ratios, chance=random.Random(1)):
    """The middle 95 % of the medians of resampled ratios."""
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(2000))
    return medians[50], medians[-51]


def measure(task, case, core):
    rates = {"quiet": [], "busy": [], "one": [], "other": [], "other busy": []}
    for turn in range(task.rounds):
        for folder, name in [(task.build, ""), (task.against, "other")][:: 1 if turn % 2 else -1]:
            if folder:
                rates[name or "quiet"].append(rate(folder, case))
        if task.quiet_only:
            continue
        with Neighbour(core):
            rates["busy"].append(rate(task.build, case))
            rates["one"].append(rate(task.build, case, 1))
            if task.against:
                rates["other busy"].append(rate(task.against, case))
    return rates


def report(case, rates):
    middle = {name: statistics.median(values) for name, values in rates.items() if values}
    print(f"{case[0]} {case[1]}: quiet {middle['quiet']:.4g}/s", end="")
    if "busy" in middle:
        print(f", beside a neighbour {middle['busy']:.4g}/s ({middle['busy'] / middle['quiet']:.2f}),"
              f" one thread there {middle['one']:.4g}/s ({middle['one'] / middle['quiet']:.2f})",
              end="")
    if "other" in middle:
        ratios = [own / other for own, other in zip(rates["quiet"], rates["other"])]
        low, high = interval(ratios)
        print(f"; the other version {middle['other']:.4g}/s quiet, ratio "
              f"{statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})", end="")
    if "other busy" in middle:
        print(f", beside a neighbour {middle['other busy']:.4g}/s", end="")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="folder (build/release)")
    parser.add_argument("--against", help="build folder of another version")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quiet-only", action="store_true", help="without the neighbour")
    parser.add_argument("--cases", default="train:lenet:128,train:resnet20:128,predict:resnet18:20",
                        help="KIND:MODEL:BATCH (of predict: predictions),...")
    task = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        sys.exit("busy_neighbour: needs two cores")
    for text in task.cases.split(","):
        kind, model, size = text.split(":")
        case = (kind, model, int(size))
        if kind == "predict" and not os.path.exists(f"{task.build}/bench/bench_predict_latency"):
            print(f"{kind} {model}: skipped, bench_predict_latency is not built")
            continue
        report(case, measure(task, case, cores[-1]))


if __name__ == "__main__":
    main()
