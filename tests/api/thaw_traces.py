# SPDX-License-Identifier: Apache-2.0
"""Writes thaw_traces.txt: what PyTorch's optimizers make of a weight that rests meanwhile."""

import pathlib

import torch

RATE = 0.1
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, RATE, momentum=0.9, dampening=0.5),
    "adam": lambda p: torch.optim.Adam(p, RATE),
    "adamw": lambda p: torch.optim.AdamW(p, RATE),
    "adagrad": lambda p: torch.optim.Adagrad(p, RATE),
    "nadam": lambda p: torch.optim.NAdam(p, RATE),
    "radam": lambda p: torch.optim.RAdam(p, RATE),
    "rmsprop": lambda p: torch.optim.RMSprop(p, RATE),
}
STEPS, REST = 24, range(4, 16)


def trace(make):
    """The weight after each step; it begins at 1, and the target of step i is sin(i)."""
    weight, other = (torch.nn.Parameter(torch.ones(1, dtype=torch.float64)) for _ in range(2))
    optimizer = make([weight, other])
    values = []
    for step in range(STEPS):
        weight.requires_grad_(step not in REST)
        optimizer.zero_grad()
        target = torch.tensor(float(step), dtype=torch.float64).sin()
        (((weight - target) ** 2).sum() + ((other - target) ** 2).sum()).backward()
        optimizer.step()
        values.append(weight.item())
    return values


lines = [" ".join([name] + [f"{v:.9g}" for v in trace(make)]) for name, make in OPTIMIZERS.items()]
path = pathlib.Path(__file__).with_name("thaw_traces.txt")
path.write_text("\n".join(lines) + "\n", encoding="utf-8")
