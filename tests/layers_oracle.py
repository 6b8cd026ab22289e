# SPDX-License-Identifier: Apache-2.0
"""Layers by PyTorch in f64 with their parameters: tests/models/layers_cases.txt, which
tests/models/layers_test.cpp compares with ours, must be what this script computes. --write writes
it anew."""

import importlib.util
import pathlib
import sys

FILE = pathlib.Path(__file__).parent / "models" / "layers_cases.txt"


def rotated(x, heads, interleaved):
    """Su et al. 2021, equation 34, by complex numbers."""
    import torch

    n, steps, width = x.shape
    pairs = width // heads // 2
    angles = torch.outer(torch.arange(steps).double(), 10000.0 ** (-torch.arange(pairs) / pairs))
    x = x.reshape(n, steps, heads, pairs, 2) if interleaved else (
        x.reshape(n, steps, heads, 2, pairs).transpose(3, 4))
    turned = torch.view_as_complex(x.contiguous()) * torch.polar(
        torch.ones_like(angles), angles)[:, None]
    y = torch.view_as_real(turned)
    return (y if interleaved else y.transpose(3, 4)).reshape(n, steps, width)


def cases():
    """(title, module, inputs, what of the module's result is compared)"""
    import torch
    from torch import nn

    def random(*shape):
        return torch.randint(-64, 65, shape).double() / 32

    def first(result):
        return result[0]

    def same(result):
        return result

    sequence = {"batch_first": True}
    yield "lstm", nn.LSTM(3, 4, **sequence), [random(2, 5, 3)], first
    yield ("lstm_deep", nn.LSTM(3, 2, 2, bidirectional=True, **sequence), [random(2, 4, 3)], first)
    yield "lstm_plain", nn.LSTM(2, 3, bias=False, **sequence), [random(1, 3, 2)], first
    yield "gru", nn.GRU(3, 4, **sequence), [random(2, 5, 3)], first
    yield "gru_deep", nn.GRU(3, 2, 2, bidirectional=True, **sequence), [random(2, 4, 3)], first
    yield ("conv_transpose",
           nn.ConvTranspose2d(4, 6, 3, 2, 1, output_padding=1, groups=2), [random(2, 4, 3, 5)],
           same)
    yield "group_norm", nn.GroupNorm(2, 4), [random(2, 4, 3, 3)], same
    yield "rms_norm", nn.RMSNorm(6, eps=2**-23), [random(2, 3, 6)], same
    yield ("cross_attention", nn.MultiheadAttention(8, 2, **sequence),
           [random(2, 3, 8), random(2, 5, 8)], first)
    yield ("cross_attention_wide", nn.MultiheadAttention(8, 2, kdim=6, vdim=6, **sequence),
           [random(2, 3, 8), random(2, 5, 6)], first)
    yield "rotary", lambda x: rotated(x, 2, False), [random(2, 5, 8)], same
    yield "rotary_interleaved", lambda x: rotated(x, 2, True), [random(2, 5, 8)], same


def line(name, tensor):
    values = " ".join(f"{value:.9g}" for value in tensor.detach().flatten().tolist())
    return f"{name} {'x'.join(map(str, tensor.shape))} {values}"


def text():
    import torch

    torch.manual_seed(1)
    lines = []
    for title, module, inputs, result in cases():
        lines.append(f"case {title}")
        if isinstance(module, torch.nn.Module):
            module.double()
            for name, parameter in module.named_parameters():
                parameter.data = torch.randint(-32, 33, parameter.shape).double() / 64
                lines.append(line(f"layer.{name}", parameter))
        lines += [line("input", each) for each in inputs]
        if title.startswith("cross"):
            inputs.append(inputs[1])
        lines.append(line("output", result(module(*inputs))))
    return "\n".join(lines) + "\n"


def main():
    if importlib.util.find_spec("torch") is None:
        print("[SKIP] torch is not installed")
        return 0
    if "--write" in sys.argv:
        FILE.write_text(text())
        return 0
    same = text() == FILE.read_text()
    print("as stored" if same else "OTHER THAN STORED")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
