# SPDX-License-Identifier: Apache-2.0
"""Networks as PyTorch's exporter writes them, with random weights and small widths: `run` in IEEE's
f32 against PyTorch in f64, relative to the largest number of each output; and the graph that is
exported after import must be the one that is imported again."""

import copy
import importlib.util
import json
import pathlib
import sys
import tempfile
import warnings

from support import torch_networks as networks
from support.exported_models import nodes_of, run

BOUND = 1e-5


NETWORKS = {
    "MobileNetV3": networks.mobile_net,
    "EfficientNet": networks.efficient_net,
    "ResNetV2": networks.standardised_res_net,
    "NF-RegNet": lambda: networks.norm_free_net(reg=True, attn_layer="se"),
    "ECA-NFNet": lambda: networks.norm_free_net(attn_layer="eca"),
    "style": networks.style_net,
    "ConvNeXt": networks.conv_next,
    "Swin": networks.swin,
    "MLP-Mixer": networks.mixer,
    "ViT": networks.vision_transformer,
    "DistilBERT": networks.distil_bert,
    "GPT-2": networks.gpt2,
    "Llama": networks.llama,
    "T5": networks.t5,
    "U-Net": networks.u_net,
    "LSTM": lambda: networks.recurrent("LSTM"),
    "GRU": lambda: networks.recurrent("GRU"),
}


def randomize(model):
    """No weights that are all alike, such as a head of zeros: their output would show nothing."""
    import torch

    for parameter in model.parameters():
        if parameter.min() == parameter.max():
            torch.nn.init.normal_(parameter, parameter.mean().item(), 0.1)


def outputs_of(model, arguments):
    """Tensors in their order, whatever holds them."""
    import torch

    def walk(value):
        if isinstance(value, torch.Tensor):
            yield value
        elif value is not None:
            for item in value.values() if hasattr(value, "values") else value:
                yield from walk(item)

    with torch.no_grad():
        return list(walk(model(*arguments)))


def widened(value):
    return value.double() if value.is_floating_point() else value


def exported(model, arguments, file):
    """Which of PyTorch's two exporters wrote the file."""
    import torch

    for dynamo in (True, False):
        try:
            torch.onnx.export(model, arguments, str(file), dynamo=dynamo, verbose=False)
            return "" if dynamo else " (old exporter)"
        except Exception:
            if not dynamo:
                raise
    raise AssertionError


def difference(file, model, arguments, folder):
    import numpy
    import onnx

    names = [entry.name for entry in onnx.load(file, load_external_data=False).graph.input]
    given, made = folder / "inputs.npz", folder / "outputs.npz"
    numpy.savez(given, **{name: value.numpy() for name, value in zip(names, arguments)})
    run("run", file, "--input", given, "--output", made, "--math", "ieee", "--quiet")
    expected = outputs_of(copy.deepcopy(model).double(), [widened(value) for value in arguments])
    worst = 0.0
    with numpy.load(made) as outputs:
        for found, wanted in zip(list(outputs.values()), expected, strict=True):
            wanted = wanted.numpy()
            if found.shape != wanted.shape:
                return float("inf")
            worst = max(worst, numpy.abs(found - wanted).max() / numpy.abs(wanted).max())
    return worst


def compare(title, make, folder):
    import torch

    torch.manual_seed(1)
    model, arguments = make()
    model.eval()
    randomize(model)
    file, once, again = (folder / name for name in ("model.onnx", "once.onnx", "again.onnx"))
    exporter = exported(model, arguments, file)
    off = difference(file, model, arguments, folder)
    nodes = json.loads(run("export", file, "--onnx", once, "--json"))["nodes"]
    run("export", once, "--onnx", again)
    same = nodes_of(once) == nodes_of(again)
    agree = off <= BOUND  # NaN disagrees
    verdict = ("" if agree else " TOO FAR") + ("" if same else " EXPORTED AGAIN, OTHER NODES")
    print(f"{title:12} {nodes:4} nodes, off by {off:.1e}{exporter}{verdict}", flush=True)
    return agree and same


def main():
    for package in ("torch", "onnx", "onnxscript", "timm", "transformers"):
        if importlib.util.find_spec(package) is None:
            print(f"[SKIP] {package} is not installed")
            return 0
    warnings.simplefilter("ignore")
    failed = []
    for title, make in NETWORKS.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                if not compare(title, make, pathlib.Path(folder)):
                    failed.append(title)
            except Exception as error:
                print(f"{title}: {error}", flush=True)
                failed.append(title)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
