#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The training rates of two builds, paired by turns of less than a second.

Both programs run for the whole measurement, one of them stopped while the other has its turn, so that
what else the machine does meets both alike. The shorter the turns, the narrower the interval: batches
of a tenth of a second are best. Flags after -- go to `narrowgauge bench` of both.

example:
  bench/paired_rates.py ../before/build/release -- --model resnet20 --batch 32 --batches 1
"""
import argparse
import json
import signal
import statistics
import subprocess
import sys

from busy_neighbour import interval


class Contender:
    """A benchmark that never ends, stopped but for its turns."""

    def __init__(self, folder, flags):
        command = [f"{folder}/narrowgauge", "bench", "--iterations", "1000000", "--json", *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.turn(1)

    def iteration(self):
        for line in self.process.stdout:
            event = json.loads(line)
            if event["event"] == "iteration":
                return event["samples_per_second"]
        raise SystemExit(f"paired_rates: a benchmark ended with code {self.process.wait()}")

    def turn(self, iterations):
        """The median rate; the first iteration, which the stop lengthened, does not count."""
        self.process.send_signal(signal.SIGCONT)
        self.iteration()
        rates = [self.iteration() for _ in range(iterations)]
        self.process.send_signal(signal.SIGSTOP)
        return statistics.median(rates)

    def end(self):
        self.process.kill()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("against", help="build folder of the other version")
    parser.add_argument("--build", default="build/release", help="folder (build/release)")
    parser.add_argument("--turns", type=int, default=100, help="of each build (100)")
    parser.add_argument("--iterations", type=int, default=2, help="measured in a turn (2)")
    words, flags = sys.argv[1:], []
    if "--" in words:
        words, flags = words[:words.index("--")], words[words.index("--") + 1:]
    task = parser.parse_args(words)
    contenders = [Contender(folder, flags) for folder in (task.build, task.against)]
    rates = ([], [])
    try:
        for turn in range(task.turns):
            for i in (0, 1) if turn % 2 else (1, 0):
                rates[i].append(contenders[i].turn(task.iterations))
    finally:
        for contender in contenders:
            contender.end()
    ratios = [own / other for own, other in zip(*rates)]
    low, high = interval(ratios)
    own, other = map(statistics.median, rates)
    print(f"{own:.4g}/s against {other:.4g}/s, median ratio of {len(ratios)} turns "
          f"{statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})")


if __name__ == "__main__":
    main()
