# SPDX-License-Identifier: Apache-2.0
"""Writes the traces that optimizer_traces_test and schedule_traces_test compare with.

optimizers.txt has the weights after the first and the last of 100 steps in f64, as PyTorch takes
them; Lion, LAMB and LARS as timm does, Muon as NumPy computes it here. `f32` is how far PyTorch's
own f32 (NumPy's for Muon) ends from f64 in a larger problem: |difference| / |weights|.
schedules.txt has learning rates, plateau.txt the factors that follow a metric.
"""

import math
import pathlib

import numpy
import timm.optim
import torch

STEPS = 100
SMALL = [(4, 3), (2, 5), (3,)]
LARGE = [(20, 15), (10, 25), (100,)]


def noise(count, step, parameter):
    """24 bits for each element, from -1 to 1: optimizer_traces_test.cpp has the same."""
    x = numpy.arange(count, dtype=numpy.uint32) * numpy.uint32(2654435761)
    x += numpy.uint32((step * 2246822519 + parameter * 3266489917 + 374761393) % 2**32)
    x ^= x >> 15
    x *= numpy.uint32(2246822519)
    x ^= x >> 13
    x *= numpy.uint32(3266489917)
    x ^= x >> 16
    return (x >> 8).astype(numpy.float64) / 2**23 - 1


def weights_of(shapes):
    return [noise(math.prod(s), 1000003, p).reshape(s) for p, s in enumerate(shapes)]


def gradients_of(shapes, step):
    result = []
    for p, shape in enumerate(shapes):
        count = math.prod(shape)
        size = 0.5 ** (numpy.arange(count) % 5 + step * 3 % 7)
        result.append((noise(count, step, p) * size).reshape(shape))
    return result


def run(step_of, shapes, dtype):
    """The weights after each step; step_of(weights) gives a function of gradients."""
    torch.set_default_dtype(dtype)  # of the product of momenta that NAdam keeps
    weights = [torch.tensor(w, dtype=dtype, requires_grad=True) for w in weights_of(shapes)]
    step = step_of(weights)
    trace = []
    for number in range(STEPS):
        for weight, gradient in zip(weights, gradients_of(shapes, number)):
            weight.grad = torch.tensor(gradient, dtype=dtype)
        step()
        trace.append(numpy.concatenate([w.detach().double().numpy().ravel() for w in weights]))
    return trace


def by_torch(make, **options):
    return lambda weights: make(weights, **options).step


def orthogonalized(x):
    """Newton and Schulz's five steps with the coefficients of torch.optim.Muon."""
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / max(numpy.sqrt((x * x).sum()), x.dtype.type(1e-7))
    a, b, c = (x.dtype.type(k) for k in (3.4445, -4.7750, 2.0315))
    for _ in range(5):
        gram = x @ x.T
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.T if tall else x


def muon(lr, momentum=0.95, nesterov=True, weight_decay=0.1, original=False):
    """torch.optim.Muon in the weights' format, where PyTorch has bf16; AdamW for no matrix."""

    def make(weights):
        matrices = [w for w in weights if w.ndim == 2]
        rest = [w for w in weights if w.ndim != 2]
        averages = [numpy.zeros(w.shape, w.detach().numpy().dtype) for w in matrices]
        adamw = torch.optim.AdamW(rest, lr=lr, weight_decay=weight_decay)

        def step():
            for i, weight in enumerate(matrices):
                number = averages[i].dtype.type
                g, w = weight.grad.numpy(), weight.detach().numpy()
                averages[i] += number(1 - momentum) * (g - averages[i])
                x = g + number(momentum) * (averages[i] - g) if nesterov else averages[i]
                rows, columns = w.shape
                ratio = math.sqrt(max(1, rows / columns)) if original else 0.2 * math.sqrt(max(w.shape))
                new = w * number(1 - lr * weight_decay) - number(lr * ratio) * orthogonalized(x)
                weight.data.copy_(torch.from_numpy(new))
            adamw.step()

        return step

    return make


SGD, ADAM, ADAMW, RMSPROP = (getattr(torch.optim, n) for n in ("SGD", "Adam", "AdamW", "RMSprop"))
ADAGRAD, NADAM, RADAM = (getattr(torch.optim, n) for n in ("Adagrad", "NAdam", "RAdam"))
LION, LAMB, LARS = timm.optim.Lion, timm.optim.Lamb, timm.optim.Lars

# The case as the test reads it, and the same for Python.
OPTIMIZERS = [
    ("sgd lr=0.05 momentum=0", by_torch(SGD, lr=0.05)),
    ("sgd lr=0.05 weight_decay=0.01", by_torch(SGD, lr=0.05, momentum=0.9, weight_decay=0.01)),
    ("sgd lr=0.05 nesterov=1", by_torch(SGD, lr=0.05, momentum=0.9, nesterov=True)),
    (
        "sgd lr=0.05 dampening=0.3 weight_decay=0.01 maximize=1",
        by_torch(SGD, lr=0.05, momentum=0.9, dampening=0.3, weight_decay=0.01, maximize=True),
    ),
    ("adam lr=0.01", by_torch(ADAM, lr=0.01)),
    (
        "adam lr=0.01 weight_decay=0.1 amsgrad=1",
        by_torch(ADAM, lr=0.01, weight_decay=0.1, amsgrad=True),
    ),
    (
        "adam lr=0.003 beta1=0.8 beta2=0.99 epsilon=1e-6 maximize=1",
        by_torch(ADAM, lr=0.003, betas=(0.8, 0.99), eps=1e-6, maximize=True),
    ),
    ("adamw lr=0.01 weight_decay=0.1", by_torch(ADAMW, lr=0.01, weight_decay=0.1)),
    (
        "adamw lr=0.003 beta2=0.95 amsgrad=1 maximize=1",
        by_torch(ADAMW, lr=0.003, betas=(0.9, 0.95), amsgrad=True, maximize=True),
    ),
    ("rmsprop lr=0.01", by_torch(RMSPROP, lr=0.01)),
    (
        "rmsprop lr=0.003 momentum=0.9 centered=1 epsilon=1e-3 weight_decay=0.02",
        by_torch(RMSPROP, lr=0.003, momentum=0.9, centered=True, eps=1e-3, weight_decay=0.02),
    ),
    ("rmsprop lr=0.003 alpha=0.9 maximize=1", by_torch(RMSPROP, lr=0.003, alpha=0.9, maximize=True)),
    ("adagrad lr=0.1", by_torch(ADAGRAD, lr=0.1)),
    (
        "adagrad lr=0.1 rate_decay=0.1 initial_sum=0.5 weight_decay=0.02",
        by_torch(ADAGRAD, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.5, weight_decay=0.02),
    ),
    ("adagrad lr=0.1 epsilon=1e-3 maximize=1", by_torch(ADAGRAD, lr=0.1, eps=1e-3, maximize=True)),
    ("nadam lr=0.01", by_torch(NADAM, lr=0.01)),
    (
        "nadam lr=0.01 weight_decay=0.1 momentum_decay=0.02 maximize=1",
        by_torch(NADAM, lr=0.01, weight_decay=0.1, momentum_decay=0.02, maximize=True),
    ),
    (
        "nadam lr=0.01 beta1=0.8 weight_decay=0.1 momentum_decay=0 decoupled=1",
        by_torch(
            NADAM,
            lr=0.01,
            betas=(0.8, 0.999),
            weight_decay=0.1,
            momentum_decay=0,
            decoupled_weight_decay=True,
        ),
    ),
    ("radam lr=0.01", by_torch(RADAM, lr=0.01)),
    (
        "radam lr=0.01 weight_decay=0.1 epsilon=1e-4 maximize=1",
        by_torch(RADAM, lr=0.01, weight_decay=0.1, eps=1e-4, maximize=True),
    ),
    (
        "radam lr=0.01 beta1=0.8 beta2=0.9 weight_decay=0.1 decoupled=1",
        by_torch(RADAM, lr=0.01, betas=(0.8, 0.9), weight_decay=0.1, decoupled_weight_decay=True),
    ),
    ("lion lr=0.002", by_torch(LION, lr=0.002)),
    ("lion lr=0.002 weight_decay=0.1", by_torch(LION, lr=0.002, weight_decay=0.1)),
    (
        "lion lr=0.002 beta1=0.8 beta2=0.95 maximize=1",
        by_torch(LION, lr=0.002, betas=(0.8, 0.95), maximize=True),
    ),
    ("lamb lr=0.01", by_torch(LAMB, lr=0.01, max_grad_norm=None)),
    (
        "lamb lr=0.01 weight_decay=0.1 trust_clip=1 epsilon=1e-3",
        by_torch(LAMB, lr=0.01, weight_decay=0.1, trust_clip=True, eps=1e-3, max_grad_norm=None),
    ),
    (
        "lamb lr=0.01 beta1=0.8 beta2=0.99 weight_decay=0 always_adapt=1",
        by_torch(
            LAMB, lr=0.01, betas=(0.8, 0.99), weight_decay=0, always_adapt=True, max_grad_norm=None
        ),
    ),
    ("lamb lr=0.01 weight_decay=0", by_torch(LAMB, lr=0.01, weight_decay=0, max_grad_norm=None)),
    ("lars lr=1 weight_decay=1e-3", by_torch(LARS, lr=1, momentum=0.9, weight_decay=1e-3)),
    (
        "lars lr=2 momentum=0.8 nesterov=1 weight_decay=0 always_adapt=1 trust_coefficient=0.01",
        by_torch(LARS, lr=2, momentum=0.8, nesterov=True, always_adapt=True, trust_coeff=0.01),
    ),
    (
        "lars lr=0.02 dampening=0.3 weight_decay=0.01 trust_clip=1 trust_coefficient=0.02",
        by_torch(
            LARS,
            lr=0.02,
            momentum=0.9,
            dampening=0.3,
            weight_decay=0.01,
            trust_clip=True,
            trust_coeff=0.02,
        ),
    ),
    ("lars lr=0.1 momentum=0 weight_decay=0", by_torch(LARS, lr=0.1)),
    ("muon lr=0.01", muon(0.01)),
    ("muon lr=0.02 weight_decay=0.01 original_rate=1", muon(0.02, weight_decay=0.01, original=True)),
    (
        "muon lr=0.01 momentum=0.8 nesterov=0 weight_decay=0",
        muon(0.01, momentum=0.8, nesterov=False, weight_decay=0),
    ),
]


def numbers(values):
    return " ".join(f"{value:.14g}" for value in values)


def optimizer_lines(case, step_of):
    trace = run(step_of, SMALL, torch.float64)
    wide, narrow = (run(step_of, LARGE, dtype)[-1] for dtype in (torch.float64, torch.float32))
    distance = numpy.linalg.norm(narrow - wide) / numpy.linalg.norm(wide)
    return [case, f"f32 {distance:.3g}", "first " + numbers(trace[0]), "last " + numbers(trace[-1])]


def rates(make, steps=30):
    """The rates of a scheduler of PyTorch, one for each step."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    scheduler = make(optimizer)
    result = []
    for _ in range(steps):
        result.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return result


def one_cycle(optimizer, total, share, start, minimum):
    return torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        max_lr=0.1,
        total_steps=total,
        pct_start=share,
        div_factor=1 / start,
        final_div_factor=start / minimum,
        cycle_momentum=False,
    )


def schedules():
    s = torch.optim.lr_scheduler
    yield "constant", rates(lambda o: s.ConstantLR(o, factor=1))
    yield "step step_every=7 factor=0.3", rates(lambda o: s.StepLR(o, 7, 0.3))
    yield "exponential step_every=1 factor=0.9", rates(lambda o: s.ExponentialLR(o, 0.9))
    yield "exponential step_every=4 factor=0.5", rates(lambda o: s.ExponentialLR(o, 0.5**0.25))
    yield "cosine total_steps=30", rates(lambda o: s.CosineAnnealingLR(o, 30))
    yield "linear total_steps=20", rates(lambda o: s.LinearLR(o, 1, 0, 20))
    yield "linear total_steps=25 minimum=0.25", rates(lambda o: s.LinearLR(o, 1, 0.25, 25))
    yield "polynomial total_steps=20", rates(lambda o: s.PolynomialLR(o, 20))
    yield "polynomial total_steps=25 power=2.5", rates(lambda o: s.PolynomialLR(o, 25, 2.5))
    # PyTorch's default ends at 1 / 25 / 10^4 of the base rate.
    yield "one_cycle total_steps=30 minimum=4e-6", rates(
        lambda o: one_cycle(o, 30, 0.3, 0.04, 4e-6), 30
    )
    yield "one_cycle total_steps=29 rising_share=0.45 start=0.1 minimum=0.001", rates(
        lambda o: one_cycle(o, 29, 0.45, 0.1, 0.001), 29
    )
    yield "cosine_restarts step_every=8", rates(lambda o: s.CosineAnnealingWarmRestarts(o, 8))
    yield "cosine_restarts step_every=3 cycle_growth=2 minimum=0.1", rates(
        lambda o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01)
    )
    # Vaswani et al. 2017, (5.3): a warm-up of 6 steps, then the inverse root of the step.
    yield "inverse_square_root warmup_steps=6 step_every=6", [
        0.1 * min((step + 1) / 6, math.sqrt(6 / max(step, 6))) for step in range(30)
    ]


def plateau(**options):
    """The metric's values, and PyTorch's rate after each, which begins at 1."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
    values = 1 + 0.2 * noise(40, 7, 1) + 2 / (1 + numpy.arange(40))
    values = -values if options.get("mode") == "max" else values
    values[20] = math.nan
    result = []
    for value in values:
        scheduler.step(value)
        result.append(optimizer.param_groups[0]["lr"])
    return values, result


PLATEAUS = [
    ("factor=0.1 patience=4", {"patience": 4}),
    ("factor=0.5 patience=2", {"factor": 0.5, "patience": 2}),
    (
        "max=1 factor=0.5 patience=0 threshold=0.05 cooldown=3 minimum=0.2",
        dict(mode="max", factor=0.5, patience=0, threshold=0.05, cooldown=3, min_lr=0.2),
    ),
    (
        "factor=0.7 patience=1 threshold=0.1 absolute=1",
        dict(factor=0.7, patience=1, threshold=0.1, threshold_mode="abs"),
    ),
    (
        "max=1 factor=0.7 patience=1 threshold=0.1 absolute=1 cooldown=1",
        dict(mode="max", factor=0.7, patience=1, threshold=0.1, threshold_mode="abs", cooldown=1),
    ),
]


def main():
    folder = pathlib.Path(__file__).parent
    lines = [line for case in OPTIMIZERS for line in optimizer_lines(*case)]
    (folder / "optimizers.txt").write_text("\n".join(lines) + "\n")
    lines = [line for case, values in schedules() for line in (case, "rates " + numbers(values))]
    (folder / "schedules.txt").write_text("\n".join(lines) + "\n")
    lines = []
    for case, options in PLATEAUS:
        values, factors = plateau(**options)
        lines += [case, "values " + numbers(values), "factors " + numbers(factors)]
    (folder / "plateau.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
