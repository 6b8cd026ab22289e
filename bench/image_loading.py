#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures a second that reach a training, by turns with PyTorch's DataLoader.

Each round reads every picture of a folder once (a folder for each class) in batches of 32, with a
resized crop to SIDE x SIDE, a flip, and normalization: first bench_image_loading, then torchvision's
ImageFolder in as many worker processes. The ratio is of medians, above 1 where narrowgauge is faster.
Needs torch, torchvision and Pillow.
"""
import argparse
import statistics
import subprocess
import time

import torch
from torchvision import datasets, transforms


def torch_rate(folder, side, workers):
    change = transforms.Compose(
        [
            transforms.RandomResizedCrop(side),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )
    loader = torch.utils.data.DataLoader(
        datasets.ImageFolder(folder, change), batch_size=32, shuffle=True, num_workers=workers, drop_last=True
    )
    iterator = iter(loader)
    start, pictures = time.perf_counter(), 0
    for images, _ in iterator:
        pictures += len(images)
    return pictures / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="bench_image_loading, as ./run bench builds it")
    parser.add_argument("folder", help="pictures in a folder for each class")
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    ours, theirs = [], []
    for number in range(options.rounds):
        words = [options.program, options.folder, str(options.side), "resized_crop, flip", str(options.threads)]
        ours.append(float(subprocess.run(words, check=True, capture_output=True, text=True).stdout))
        theirs.append(torch_rate(options.folder, options.side, options.threads))
        print(f"round {number + 1}: narrowgauge {ours[-1]:.1f}, PyTorch {theirs[-1]:.1f} pictures/s", flush=True)
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"narrowgauge {statistics.median(ours):.1f}, PyTorch {statistics.median(theirs):.1f}, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
