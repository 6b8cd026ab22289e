# SPDX-License-Identifier: Apache-2.0
"""Writes grad_scaler_traces.txt: what torch.amp.GradScaler does on sequences of gradients.

A sequence begins with `scaler <enabled> <initial> <growth> <backoff> <interval>`. Each line after it
is an iteration: for each optimizer what its gradient is (1, inf or nan), `-` where it takes no step,
and `u` after it where it is unscaled apart; `interval N` sets another one; then after `:` the scale,
the growth tracker, and for each optimizer whether its weight changed."""

import pathlib
import random
import warnings

import torch


def sequence(seed):
    draw = random.Random(seed)
    enabled = seed % 8 != 7
    optimizers = 1 + seed % 3
    initial = draw.choice([65536.0, 1024.0, 3.0, 2.0**120, 2.0**-60])
    growth, backoff = draw.choice([(2.0, 0.5), (1.5, 0.75), (3.7, 0.1)])
    interval = draw.choice([1, 2, 3])
    lines = [f"scaler {int(enabled)} {initial!r} {growth} {backoff} {interval}"]
    scaler = torch.amp.GradScaler("cpu", initial, growth, backoff, interval, enabled)
    weights = [torch.nn.Parameter(torch.zeros(2)) for _ in range(optimizers)]
    rules = [torch.optim.SGD([weight], 0.25) for weight in weights]
    for iteration in range(12):
        words = []
        if iteration == 6 and seed % 4 == 1:
            scaler.set_growth_interval(2)
            words.append("interval 2")
        changed, taken = [], False
        for place, (weight, rule) in enumerate(zip(weights, rules)):
            kind = draw.choices(["1", "inf", "nan", "-"], [6, 1, 1, 1])[0]
            if kind == "-" and not taken and place == optimizers - 1:
                kind = "1"
            apart = kind != "-" and draw.random() < 0.4
            words.append(kind + ("u" if apart else ""))
            before = weight.detach().clone()
            if kind != "-":
                taken = True
                weight.grad = None
                scaler.scale((weight * float(kind)).sum()).backward()
                if apart:
                    scaler.unscale_(rule)
                scaler.step(rule)
            changed.append(str(int(not torch.equal(before, weight.detach()))))
            with torch.no_grad():
                weight.zero_()
        scaler.update()
        lines.append(f"{' '.join(words)} : {scaler.get_scale()!r} "
                     f"{scaler.state_dict().get('_growth_tracker', 0)} {' '.join(changed)}")
    return lines


def main():
    warnings.simplefilter("ignore")
    lines = [line for seed in range(24) for line in sequence(seed)]
    pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
