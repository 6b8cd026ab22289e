# SPDX-License-Identifier: Apache-2.0
"""The first training steps of every built-in network have the losses of PyTorch."""

import os
import pathlib
import subprocess
import sys

CASES = [
    ("mlp", "1x28x28", "off"),
    ("lenet", "1x28x28", "off"),
    ("lenet", "3x32x32", "bf16"),
    ("resnet20", "3x32x32", "off"),
    ("resnet20", "3x32x32", "bf16"),
]


def main():
    bench = pathlib.Path(os.environ["NARROWGAUGE_SOURCE"]) / "bench" / "against_torch.py"
    program = pathlib.Path(os.environ["NARROWGAUGE_BUILD"]) / "bench" / "bench_train_step"
    failed = 0
    for model, image, amp in CASES:
        command = [sys.executable, bench, "--program", program, "--rounds", "1", "--steps", "1"]
        command += ["--model", model, "--image", image, "--amp", amp]
        failed |= subprocess.run(command, check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
