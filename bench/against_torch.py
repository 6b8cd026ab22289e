# SPDX-License-Identifier: Apache-2.0
"""Times training steps of Narrowgauge and of PyTorch in one run, taking turns on the same cores,
for the same network, weights and batch. Ends with 7 if the losses of the first steps differ."""

import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

# Waiting threads must not keep the cores from the engine whose turn it is. Read at torch's start.
os.environ["OMP_WAIT_POLICY"] = "passive"

import numpy  # noqa: E402
import torch  # noqa: E402

from torch_models import MODELS, TorchTrainer  # noqa: E402

CHECK_FAILED = 7
# Between losses, relative: of the first step, and of the third, to which two updates have led. In
# bf16 the engines round in different places. There is no f16: with it torch 2.15 did not end its
# first steps of resnet20 on a CPU in five minutes.
TOLERANCE = {"off": (1e-5, 1e-3), "bf16": (1e-2, 5e-2)}


def read_safetensors(path):
    dtypes = {"F32": "<f4", "I64": "<i8"}
    content = pathlib.Path(path).read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = numpy.frombuffer(content[start + begin : start + end], dtypes[entry["dtype"]])
        tensors[name] = torch.from_numpy(values.reshape(entry["shape"]).copy())
    return tensors


class OurTrainer:
    """bench_train_step, blocked on its standard input between turns."""

    def __init__(self, options, folder):
        self.weights, self.batch = f"{folder}/weights.safetensors", f"{folder}/batch.safetensors"
        command = [options.program, "--save-weights", self.weights, "--save-batch", self.batch]
        for name in ("model", "batch", "image", "classes", "amp", "threads", "seed"):
            command += [f"--{name}", str(getattr(options, name))]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(self.process.wait() or "against_torch: bench_train_step ended early")
        return json.loads(line)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.answer()

    def step(self, count):
        answer = self.ask(f"step {count}")
        return answer["milliseconds"], answer["losses"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def parse_arguments():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__)
    program = here.parent / "build" / "release" / "bench" / "bench_train_step"
    parser.add_argument("--program", default=str(program), help="bench_train_step")
    parser.add_argument("--model", default="resnet20", choices=sorted(MODELS))
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--image", default="3x32x32", help="channels x height x width")
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--amp", default="off", choices=list(TOLERANCE))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=5, help="of each engine in a round")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--profile", action="store_true", help="list our dearest kernels too")
    return parser.parse_args()


def use_cores(count):
    """Both engines, and nobody's extra threads, on the first `count` cores of this process."""
    allowed = sorted(os.sched_getaffinity(0))
    if count < len(allowed):
        os.sched_setaffinity(0, allowed[:count])
    torch.set_num_threads(count)


def take_turns(engines, rounds, steps):
    """Milliseconds per engine and round; who begins changes from round to round."""
    times = {name: [] for name in engines}
    names = list(engines)
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            times[name].append(engines[name].step(steps)[0])
    return times


def report_times(times):
    """Prints medians, and the ratio to the faster of torch's layouts."""
    median = {
        name: statistics.median(ms for turn in rounds for ms in turn)
        for name, rounds in times.items()
    }
    least = {name: min(ms for turn in rounds for ms in turn) for name, rounds in times.items()}
    for name in times:
        print(f"  {name:<20} {median[name]:9.2f} ms a step (least {least[name]:.2f})")
    best = min((name for name in times if name != "narrowgauge"), key=median.get)
    ratios = [
        statistics.median(theirs) / statistics.median(ours)
        for theirs, ours in zip(times[best], times["narrowgauge"])
    ]
    ratio = median[best] / median["narrowgauge"]
    print(
        f"narrowgauge is {ratio:.3f} times as fast as {best}"
        f" (round by round: {min(ratios):.3f} to {max(ratios):.3f},"
        f" median {statistics.median(ratios):.3f})"
    )


def report_losses(losses, tolerances):
    """Prints losses of the first and the third step; true if they agree."""
    agree = True
    for place, step, tolerance in zip(("first", "third"), (0, 2), tolerances):
        ours = losses["narrowgauge"][step]
        for name, values in losses.items():
            difference = abs(values[step] - ours) / abs(ours)
            # Written so that NaN disagrees.
            agree = agree and difference <= tolerance
            print(
                f"  {name:<20} {place} loss {values[step]:.9f},"
                f" relative difference {difference:.1e}"
            )
    if not agree:
        print(f"against_torch: losses differ by more than {tolerances}", file=sys.stderr)
    return agree


def describe(row):
    seconds = max(row["milliseconds"], 1e-6) * 1e-3
    return (
        f"  {row['milliseconds']:7.2f} ms {row['flops'] / seconds * 1e-9:7.1f} GFLOP/s"
        f" {row['bytes'] / seconds * 1e-9:6.1f} GB/s  "
    )


def report_profile(ours, steps):
    rows = ours.ask(f"profile {steps}")["kernels"]
    kinds = {}
    for row in rows:
        kind = kinds.setdefault((row["op"], row["implementation"]), collections.Counter())
        kind.update({name: row[name] for name in ("milliseconds", "flops", "bytes")}, count=1)
    print(f"all kernels {sum(row['milliseconds'] for row in rows):.2f} ms a step; by kind:")
    for (op, implementation), kind in sorted(
        kinds.items(), key=lambda item: -item[1]["milliseconds"]
    )[:15]:
        print(f"{describe(kind)}{kind['count']} x {op} ({implementation})")
    print("the dearest:")
    for row in sorted(rows, key=lambda row: -row["milliseconds"])[:10]:
        print(f"{describe(row)}{row['node']} ({row['implementation']})")


def main():
    options = parse_arguments()
    use_cores(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        ours = OurTrainer(options, folder)
        weights, batch = read_safetensors(ours.weights), read_safetensors(ours.batch)
    engines = {"narrowgauge": ours}
    for layout in ("contiguous", "channels_last"):
        engines[f"torch {layout}"] = TorchTrainer(options, weights, batch, layout)
    print(
        f"{options.model}, batch {options.batch} of {options.image}, amp {options.amp},"
        f" {options.threads} threads; torch {torch.__version__}"
    )
    # Compiles, allocates, and is timed by nobody.
    losses = {name: engine.step(3)[1] for name, engine in engines.items()}
    agree = report_losses(losses, TOLERANCE[options.amp])
    report_times(take_turns(engines, options.rounds, options.steps))
    if options.profile:
        report_profile(ours, options.steps)
    ours.close()
    return 0 if agree else CHECK_FAILED


if __name__ == "__main__":
    sys.exit(main())
