# SPDX-License-Identifier: Apache-2.0
"""Losses and their gradients by PyTorch in f64: tests/models/losses_cases.txt, which
tests/models/losses_test.cpp compares with ours, must be what this script computes. --write writes
it anew."""

import importlib.util
import pathlib
import sys

FILE = pathlib.Path(__file__).parent / "models" / "losses_cases.txt"


def dice(x, y, epsilon):
    p, y = x.sigmoid().flatten(1), y.flatten(1)
    overlap = 2 * (p * y).sum(1) + epsilon
    return (1 - overlap / ((p * p).sum(1) + (y * y).sum(1) + epsilon)).mean()


def hard(*shape, classes=3):
    import torch

    return torch.arange(torch.Size(shape).numel()).reshape(shape) * 7 % classes


def soft(*shape):
    import torch

    return torch.randint(0, 65, shape).double() / 64


def yes_or_no(*shape):
    import torch

    return torch.randint(0, 2, shape).double()


def probabilities(*shape):
    import torch

    counts = torch.randint(0, 3, shape)
    counts[:, 0] = 8 - counts[:, 1:].sum(1)
    return counts.double() / 8


def cases_of_classes():
    import torch
    from torch.nn import functional as f

    weights = torch.tensor([1, 2.5, 0.5], dtype=torch.double)
    some = hard(5)
    some[3] = 2
    for mark, options in (
        ("", {}),
        ("(ignored=2)", {"ignore_index": 2}),
        ("(weights=[1,2.5,0.5])", {"weight": weights}),
        ("(weights=[1,2.5,0.5], ignored=1)", {"weight": weights, "ignore_index": 1}),
    ):
        yield ("softmax_cross_entropy" + mark, lambda x, y, o=options: f.cross_entropy(x, y, **o),
               (5, 3), some)
        yield ("negative_log_likelihood" + mark, lambda x, y, o=options: f.nll_loss(x, y, **o),
               (2, 3, 4), hard(2, 4))
        inside = mark[1:-1]
        smoothed = f"(smoothing=0.125{', ' if inside else ''}{inside})"
        yield ("softmax_cross_entropy" + smoothed,
               lambda x, y, o=options: f.cross_entropy(x, y, label_smoothing=0.125, **o),
               (2, 3, 2, 2), hard(2, 2, 2))
    ignored = hard(5)
    ignored[1] = -100
    yield ("softmax_cross_entropy(smoothing=0.25, ignored=-100)",
           lambda x, y: f.cross_entropy(x, y, label_smoothing=0.25), (5, 3), ignored)
    yield "span_cross_entropy", f.cross_entropy, (2, 3, 2), hard(2, 2)


def cases():
    """(loss as text, PyTorch's, shape of the prediction, labels)"""
    from torch.nn import functional as f
    from torchvision.ops import sigmoid_focal_loss

    yield from cases_of_classes()
    yield "mean_squared_error", f.mse_loss, (3, 4), soft(3, 4)
    yield "mean_absolute_error", f.l1_loss, (3, 4), soft(3, 4)
    yield "huber", f.huber_loss, (3, 4), soft(3, 4)
    yield "huber(delta=0.375)", lambda x, y: f.huber_loss(x, y, delta=0.375), (3, 4), soft(3, 4)
    yield "smooth_l1", f.smooth_l1_loss, (3, 4), soft(3, 4)
    yield "smooth_l1(beta=2)", lambda x, y: f.smooth_l1_loss(x, y, beta=2), (3, 4), soft(3, 4)
    yield ("kl_divergence", lambda x, y: f.kl_div(x, y, reduction="batchmean"), (3, 4),
           probabilities(3, 4))
    yield ("kl_divergence", lambda x, y: f.kl_div(x, y, reduction="batchmean"), (2, 3, 2),
           probabilities(2, 3, 2))
    yield ("binary_cross_entropy", f.binary_cross_entropy_with_logits, (3, 4), soft(3, 4))
    for gamma, alpha in ((2, 0.25), (0, 0.75), (1, -1), (3.5, 0.5)):
        yield (f"focal(gamma={gamma}, alpha={alpha})",
               lambda x, y, g=gamma, a=alpha: sigmoid_focal_loss(x, y, a, g, "mean"),
               (3, 4), yes_or_no(3, 4))
    yield "focal", lambda x, y: sigmoid_focal_loss(x, y, reduction="mean"), (6,), yes_or_no(6)
    yield "dice", lambda x, y: dice(x, y, 1), (2, 1, 3, 3), yes_or_no(2, 1, 3, 3)
    yield "dice(epsilon=0.5)", lambda x, y: dice(x, y, 0.5), (3, 4), soft(3, 4)
    tokens = hard(2, 3, classes=4)
    tokens[1, 2] = -100
    yield ("next_token_cross_entropy",
           lambda x, y: f.cross_entropy(x.flatten(0, 1), y.flatten()), (2, 3, 4), tokens)


def numbers(tensor):
    return " ".join(f"{value:.12g}" for value in tensor.flatten().tolist())


def text():
    import torch

    torch.manual_seed(1)
    lines = []
    for loss, compute, shape, labels in cases():
        x = (torch.randint(-192, 193, shape).double() / 64).requires_grad_()
        value = compute(x, labels)
        value.backward()
        dtype = "f32" if labels.is_floating_point() else "i64"
        lines += [loss, "x".join(map(str, shape)), numbers(x.detach()),
                  dtype + " " + "x".join(map(str, labels.shape)), numbers(labels),
                  numbers(value.detach()), numbers(x.grad), ""]
    return "\n".join(lines)


def main():
    for package in ("torch", "torchvision"):
        if importlib.util.find_spec(package) is None:
            print(f"[SKIP] {package} is not installed")
            return 0
    if "--write" in sys.argv:
        FILE.write_text(text())
        return 0
    same = text() == FILE.read_text()
    print("as stored" if same else "OTHER THAN STORED")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
