# SPDX-License-Identifier: Apache-2.0
"""The first training steps of every built-in network have the losses of PyTorch."""

import os
import subprocess
import sys

CASES = [("mlp", "1x28x28"), ("lenet", "3x32x32"), ("resnet20", "3x32x32")]


def main():
    failed = 0
    environment = {**os.environ, "NARROWGAUGE_TORCH_PYTHON": sys.executable}
    for model, image in CASES:
        command = [os.environ["NARROWGAUGE_PROGRAM"], "bench", "--against", "torch"]
        command += ["--model", model, "--image", image, "--precision", "ieee,f32,bf16"]
        command += ["--batch", "128", "--iterations", "1", "--batches", "1"]
        failed |= subprocess.run(command, check=False, env=environment).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
