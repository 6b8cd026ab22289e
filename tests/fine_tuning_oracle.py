# SPDX-License-Identifier: Apache-2.0
"""Trained models of ONNX, trained further on Fashion-MNIST by `train` and by PyTorch: test accuracies
within a point of each other, mixed precision within 0.4 points of f32; and the file that `train`
writes passes ONNX's checker and gives the same outputs in ONNX Runtime."""

import gzip
import importlib.util
import json
import os
import pathlib
import sys
import tempfile

from support.exported_models import run

SHARED = pathlib.Path(os.environ["NARROWGAUGE_SOURCE"]).parent / "shared" / "data"
BATCH, EPOCHS = 128, 2
MODELS = {"mnist_cntk": (1, 28, 0.005), "resnet20_cifar10": (3, 32, 0.05)}


def idx(name, header):
    import numpy

    content = gzip.decompress((SHARED / "fashion_mnist" / name).read_bytes())
    return numpy.frombuffer(content, numpy.uint8, offset=header)


def images(part, channels, side, normal):
    import torch

    pixels = torch.from_numpy(idx(f"{part}-images-idx3-ubyte.gz", 16).copy())
    pixels = pixels.reshape(-1, 1, 28, 28).float() / 255
    border = (side - 28) // 2
    pixels = torch.nn.functional.pad(pixels, [border] * 4)
    mean, deviation = normal or (pixels_of_set(pixels, border))
    return ((pixels - mean) / deviation).expand(-1, channels, -1, -1), (mean, deviation)


def pixels_of_set(pixels, border):
    inner = pixels[..., border:border + 28, border:border + 28]
    return inner.mean(), inner.std(correction=0)


def labels(part):
    import torch

    return torch.from_numpy(idx(f"{part}-labels-idx1-ubyte.gz", 8).copy()).long()


class Network:
    """The file's nodes as calls of PyTorch, its float initializers as parameters."""

    def __init__(self, file):
        import onnx
        import torch
        from onnx import numpy_helper

        self.graph = onnx.load(file).graph
        self.values, self.parameters = {}, []
        statistics = {name for node in self.graph.node if node.op_type == "BatchNormalization"
                      for name in node.input[3:]}
        for tensor in self.graph.initializer:
            value = torch.from_numpy(numpy_helper.to_array(tensor).copy())
            if value.is_floating_point() and value.dim() > 0 and tensor.name not in statistics:
                value.requires_grad_()
                self.parameters.append(value)
            self.values[tensor.name] = value
        given = {tensor.name for tensor in self.graph.initializer}
        self.input = next(each.name for each in self.graph.input if each.name not in given)

    def __call__(self, x, training):
        import onnx

        values = self.values | {self.input: x}
        for node in self.graph.node:
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            inputs = [values.get(name) for name in node.input]
            values[node.output[0]] = self.call(node.op_type, inputs, attributes, training, x)
        return values[self.graph.output[0].name]

    @staticmethod
    def pads(x, attributes):
        from torch.nn import functional

        if attributes.get("auto_pad", b"NOTSET") == b"SAME_UPPER":
            whole = [k - 1 for k in attributes["kernel_shape"]]
            top, left = whole[0] // 2, whole[1] // 2
            return functional.pad(x, [left, whole[1] - left, top, whole[0] - top])
        top, left, bottom, right = attributes.get("pads", [0] * 4)
        return functional.pad(x, [left, right, top, bottom])

    def call(self, op, inputs, attributes, training, x):
        import torch
        from torch.nn import functional

        first = inputs[0]
        if op == "Conv":
            return functional.conv2d(self.pads(first, attributes), *inputs[1:],
                                     stride=attributes.get("strides", 1),
                                     groups=attributes.get("group", 1))
        if op == "MaxPool":
            return functional.max_pool2d(self.pads(first, attributes), attributes["kernel_shape"],
                                         attributes["strides"])
        if op == "BatchNormalization":
            scale, bias, mean, variance = inputs[1:]
            return functional.batch_norm(first, mean, variance, scale, bias, training,
                                         1 - attributes.get("momentum", 0.9),
                                         attributes.get("epsilon", 1e-5))
        if op == "Reshape":
            shape = inputs[1].tolist()
            return first.reshape([len(x) if shape[0] == 1 else shape[0], *shape[1:]])
        if op == "Slice":
            for begin, end, axis, step in zip(*(value.tolist() for value in inputs[1:])):
                at = torch.arange(first.shape[axis])[begin:min(end, first.shape[axis]):step]
                first = first.index_select(axis, at)
            return first
        if op == "Pad":
            half = len(inputs[1]) // 2
            pairs = zip(inputs[1][:half].tolist(), inputs[1][half:].tolist())
            return functional.pad(first, [size for pair in reversed(list(pairs)) for size in pair])
        if op == "Gemm":
            return functional.linear(first, *inputs[1:])
        simple = {"Relu": torch.relu, "Flatten": lambda value: value.flatten(1), "Add": torch.add,
                  "MatMul": torch.matmul, "Identity": lambda value: value,
                  "GlobalAveragePool": lambda value: value.mean((2, 3), keepdim=True),
                  "ReduceMean": lambda value, *_: value.mean((2, 3)),
                  "AveragePool": lambda value: functional.avg_pool2d(
                      value, attributes["kernel_shape"])}
        return simple[op](*inputs)


def accuracy_of_torch(file, channels, side, rate):
    import torch

    torch.manual_seed(1)
    x, normal = images("train", channels, side, None)
    y = labels("train")
    network = Network(file)
    optimizer = torch.optim.SGD(network.parameters, rate, 0.9)
    steps = EPOCHS * (len(x) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x))[:len(x) // BATCH * BATCH].split(BATCH):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(x[rows], True), y[rows]).backward()
            optimizer.step()
            schedule.step()
    x, _ = images("t10k", channels, side, normal)
    with torch.no_grad():
        guesses = torch.cat([network(part, False).argmax(1) for part in x.split(500)])
    return (guesses == labels("t10k")).float().mean().item(), x[:8]


def train(file, rate, amp, written):
    text = run("train", file, "--data", SHARED / "fashion_mnist", "--epochs", EPOCHS, "--batch",
               BATCH, "--lr", rate, "--momentum", 0.9, "--weight-decay", 0, "--schedule", "cosine",
               "--warmup", 0, "--amp", amp, "--train-batch-norm", "--onnx", written, "--json",
               "--quiet")
    return json.loads(text.splitlines()[-1])["test_accuracy"]


def difference(written, x, folder):
    """From the outputs of ONNX Runtime, relative to the largest."""
    import numpy
    import onnx
    import onnxruntime

    onnx.checker.check_model(str(written), full_check=True)
    session = onnxruntime.InferenceSession(str(written), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    expected = session.run(None, {name: x.numpy()})[0]
    numpy.savez(folder / "x.npz", **{name: x.numpy()})
    run("run", written, "--input", folder / "x.npz", "--output", folder / "y.npz", "--quiet")
    found = next(iter(numpy.load(folder / "y.npz").values()))
    return numpy.abs(found - expected).max() / numpy.abs(expected).max()


def compare(title, folder):
    channels, side, rate = MODELS[title]
    file = SHARED / "onnx_models" / title / "model.onnx"
    theirs, x = accuracy_of_torch(file, channels, side, rate)
    ours = train(file, rate, "off", folder / "f32.onnx")
    narrow = train(file, rate, "bf16", folder / "bf16.onnx")
    off = difference(folder / "f32.onnx", x.contiguous(), folder)
    agree = abs(ours - theirs) <= 0.01 and abs(narrow - ours) <= 0.004 and off <= 1e-4
    print(f"{title:18} f32 {ours:.2%}, bf16 {narrow:.2%}, PyTorch {theirs:.2%}; file off by "
          f"{off:.1e}{'' if agree else ' TOO FAR'}", flush=True)
    return agree


def main():
    for package in ("torch", "onnx", "onnxruntime"):
        if importlib.util.find_spec(package) is None:
            print(f"[SKIP] {package} is not installed")
            return 0
    if not SHARED.is_dir():
        print("[SKIP] the data sets are not there")
        return 0
    failed = []
    for title in sys.argv[1:] or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            if not compare(title, pathlib.Path(folder)):
                failed.append(title)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
