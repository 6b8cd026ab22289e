# SPDX-License-Identifier: Apache-2.0
"""Narrow formats keep the accuracy of f32: paired over seeds, on glyphs and, where it is there, on
Fashion-MNIST."""

import os
import pathlib
import subprocess
import sys


def main():
    source = pathlib.Path(os.environ["NARROWGAUGE_SOURCE"])
    data = pathlib.Path(os.environ.get("NARROWGAUGE_DATA", source.parent / "shared" / "data"))
    cases = [("glyphs", "3", "99")]
    if (data / "fashion_mnist").is_dir():
        cases.append((data / "fashion_mnist", "5", "90"))
    else:
        print(f"no {data / 'fashion_mnist'}: glyphs alone")
    failed = 0
    for folder, seeds, least in cases:
        command = [sys.executable, source / "bench" / "paired_seeds.py"]
        command += ["--program", os.environ["NARROWGAUGE_PROGRAM"], "--model", "lenet"]
        command += ["--data", folder, "--seeds", seeds, "--least", least]
        failed |= subprocess.run(command, check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
