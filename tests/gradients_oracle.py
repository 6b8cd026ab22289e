# SPDX-License-Identifier: Apache-2.0
"""Gradients of ops of ONNX in f64, by the op Gradient of a model that `run` computes, against
PyTorch's: relative to the largest number of each gradient."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

BOUND = 1e-10
PROGRAM = pathlib.Path(os.environ["NARROWGAUGE_BUILD"]) / "narrowgauge"


def random(*shape):
    import torch

    return (torch.rand(shape) * 2 - 1).double()


def in_order(parameter, order):
    """PyTorch's gates in ONNX's order."""
    import torch

    parts = parameter.chunk(len(order))
    return torch.cat([parts[gate] for gate in order])


def recurrent(kind, order, count, bidirectional):
    """The inputs of the op follow from PyTorch's parameters, by whose names gradients are
    compared."""
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = getattr(nn, kind)(3, 4, bidirectional=bidirectional)

        def forward(self, x, w, r, b, *states):
            parameters = {}
            for d, end in enumerate(("_l0", "_l0_reverse")[: w.shape[0]]):
                undo = [order.index(gate) for gate in range(count)]
                for name, value in (("weight_ih", w[d]), ("weight_hh", r[d]),
                                    ("bias_ih", b[d].chunk(2)[0]), ("bias_hh", b[d].chunk(2)[1])):
                    parameters[name + end] = in_order(value, undo)
            state = states if kind == "LSTM" else states[0]
            y, _ = torch.func.functional_call(self.layer, parameters, (x, state))
            return y.reshape(*y.shape[:2], w.shape[0], 4).transpose(1, 2)

    directions = 2 if bidirectional else 1
    inputs = [random(5, 2, 3), random(directions, count * 4, 3), random(directions, count * 4, 4),
              random(directions, count * 8)]
    inputs += [random(directions, 2, 4) for _ in range(2 if kind == "LSTM" else 1)]
    attributes = {"hidden_size": 4, "direction": "bidirectional" if bidirectional else "forward"}
    if kind == "GRU":
        attributes["linear_before_reset"] = 1
    names = ["x", "w", "r", "b", "", "h", "c"][: 3 + len(inputs) - 2]
    return kind, attributes, names, inputs, Layer().double()


MODES = (("linear", "bilinear"), ("cubic", "bicubic"), ("nearest", "nearest"))  # ONNX, PyTorch


def recurrences():
    for bidirectional in (False, True):
        for kind, order in (("LSTM", (0, 3, 1, 2)), ("GRU", (1, 0, 2)), ("RNN", (0,))):
            yield *recurrent(kind, list(order), len(order), bidirectional), {}


def transposed_convolutions():
    from torch.nn import functional as f

    for attributes, options in (
        ({}, {}),
        ({"strides": [2, 3], "pads": [1, 0, 1, 0], "output_padding": [1, 2]},
         {"stride": (2, 3), "padding": (1, 0), "output_padding": (1, 2)}),
        ({"group": 2, "dilations": [2, 1], "strides": [1, 2]},
         {"groups": 2, "dilation": (2, 1), "stride": (1, 2)}),
    ):
        yield ("ConvTranspose", attributes, ["x", "w", "b"],
               [random(2, 4, 3, 5), random(4, 3, 3, 2), random(3 * options.get("groups", 1))],
               lambda x, w, b, o=options: f.conv_transpose2d(x, w, b, **o), {})


def resizes():
    import numpy
    from torch.nn import functional as f

    for mode, torchs in MODES:
        for size in ((7, 3), (9, 11)):
            for align in (False, True) if mode != "nearest" else (None,):
                attributes = {"mode": mode, "coordinate_transformation_mode":
                              "align_corners" if align else "half_pixel"}
                if mode == "nearest":
                    attributes |= {"coordinate_transformation_mode": "asymmetric",
                                   "nearest_mode": "floor"}
                yield ("Resize", attributes, ["x", "", "", "sizes"], [random(2, 3, 4, 5)],
                       lambda x, s=size, m=torchs, a=align: f.interpolate(x, s, mode=m,
                                                                          align_corners=a),
                       {"sizes": numpy.array([2, 3, *size])})
        if mode != "nearest":
            yield ("Resize", {"mode": mode, "antialias": 1} | (
                       {"cubic_coeff_a": -0.5} if mode == "cubic" else {})
                   | {"exclude_outside": 1},
                   ["x", "", "", "sizes"], [random(2, 3, 8, 9)],
                   lambda x, m=torchs: f.interpolate(x, (3, 4), mode=m, antialias=True),
                   {"sizes": numpy.array([2, 3, 3, 4])})


def samples_of_grids():
    from torch.nn import functional as f

    for mode, torchs in MODES:
        for padding in ("zeros", "border", "reflection"):
            if (mode, padding) == ("cubic", "border"):
                continue  # where ONNX moves the place to the border, PyTorch only the elements
            for align in (0, 1):
                yield ("GridSample",
                       {"mode": mode, "padding_mode": padding, "align_corners": align},
                       ["x", "grid"], [random(2, 3, 4, 5), 1.4 * random(2, 3, 4, 2)],
                       lambda x, grid, m=torchs, p=padding, a=align: f.grid_sample(
                           x, grid, m, p, bool(a)), {})
    yield ("GridSample", {"padding_mode": "border"}, ["x", "grid"],
           [random(2, 3, 4, 5, 2), 1.4 * random(2, 2, 3, 2, 3)],
           lambda x, grid: f.grid_sample(x, grid, padding_mode="border", align_corners=False), {})


def attentions():
    from torch.nn import functional as f

    heads = [random(2, 3, 4, 8), random(2, 3, 6, 8), random(2, 3, 6, 5)]
    yield ("Attention", {}, ["q", "k", "v"], heads, f.scaled_dot_product_attention, {})
    yield ("Attention", {"is_causal": 1, "scale": 0.75}, ["q", "k", "v"],
           [random(2, 3, 6, 8), *heads[1:]],
           lambda q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.75), {})
    yield ("Attention", {}, ["q", "k", "v", "mask"], [*heads, random(4, 6)],
           lambda q, k, v, m: f.scaled_dot_product_attention(q, k, v, m), {})
    yield ("Attention", {}, ["q", "k", "v"], [random(2, 6, 4, 8), *heads[1:]],
           lambda q, k, v: f.scaled_dot_product_attention(q, k, v, enable_gqa=True), {})


def normalizations():
    from torch.nn import functional as f

    yield ("GroupNormalization", {"num_groups": 2, "epsilon": 2**-10}, ["x", "scale", "bias"],
           [random(2, 4, 3, 5), random(4), random(4)],
           lambda x, s, b: f.group_norm(x, 2, s, b, 2**-10), {})
    yield ("InstanceNormalization", {"epsilon": 2**-10}, ["x", "scale", "bias"],
           [random(2, 4, 3, 5), random(4), random(4)],
           lambda x, s, b: f.instance_norm(x, weight=s, bias=b, eps=2**-10), {})


def cases():
    """(op, attributes, its inputs by name, those by which it is differentiated, what PyTorch
    computes of them, constant inputs)"""
    for group in (recurrences, transposed_convolutions, resizes, samples_of_grids, attentions,
                  normalizations):
        yield from group()


def ours(op, attributes, names, given, seed, constants, folder):
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def value(name, shape=None):
        return helper.make_tensor_value_info(name, TensorProto.DOUBLE, shape)

    training = "ai.onnx.preview.training"
    wanted = list(given)
    nodes = [helper.make_node(op, names, ["y"], **attributes),
             helper.make_node("Mul", ["y", "seed"], ["z"]),
             helper.make_node("Gradient", wanted, [f"d{name}" for name in wanted],
                              domain=training, xs=wanted, y="z")]
    graph = helper.make_graph(
        nodes, "gradients", [value(name, given[name].shape) for name in wanted],
        [value(name) for name in ("y", *(f"d{name}" for name in wanted))],
        [numpy_helper.from_array(each, name) for name, each in (constants | {"seed": seed}).items()])
    opsets = [helper.make_opsetid("", 24), helper.make_opsetid(training, 1)]
    file, inputs, outputs = (folder / name for name in ("model.onnx", "inputs.npz", "out.npz"))
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=11), file)
    numpy.savez(inputs, **given)
    done = subprocess.run([PROGRAM, "run", file, "--input", inputs, "--output", outputs, "--quiet"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    with numpy.load(outputs) as made:
        return dict(made)


def difference(case, folder):
    import numpy
    import torch

    op, attributes, names, inputs, compute, constants = case
    leaves = [value.clone().requires_grad_() for value in inputs]
    varied = [name for name in names if name and name not in constants]
    y = compute(*leaves)
    seed = random(*y.shape)
    gradients = torch.autograd.grad((y * seed).sum(), leaves)
    expected = {"y": y.detach()} | {f"d{name}": g for name, g in zip(varied, gradients, strict=True)}
    given = {name: value.numpy() for name, value in zip(varied, inputs, strict=True)}
    found = ours(op, attributes, names, given, seed.numpy(), constants, folder)
    worst = 0.0
    for name, wanted in expected.items():
        wanted = wanted.numpy()
        largest = max(numpy.abs(wanted).max(), 1e-3)
        worst = max(worst, numpy.abs(found[name] - wanted).max() / largest)
    return worst


def main():
    for package in ("torch", "onnx"):
        if importlib.util.find_spec(package) is None:
            print(f"[SKIP] {package} is not installed")
            return 0
    import torch

    torch.manual_seed(1)
    failed = 0
    for case in cases():
        with tempfile.TemporaryDirectory() as folder:
            try:
                worst = difference(case, pathlib.Path(folder))
                verdict = f"off by {worst:.1e}" + ("" if worst <= BOUND else " TOO FAR")
                failed += not worst <= BOUND  # NaN disagrees
            except Exception as error:
                verdict, failed = f"FAILED: {error}", failed + 1
        print(f"{case[0]} {case[1]}: {verdict}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
