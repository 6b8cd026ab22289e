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

from support.exported_models import nodes_of, run

BOUND = 1e-5


def image(size=64, channels=3):
    import torch

    return (torch.rand(2, channels, size, size),)


def tokens(length=12, words=99):
    import torch

    return (torch.randint(0, words, (2, length)),)


def u_net():
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inner, outer):
            super().__init__()
            self.down = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(outer, 2 * outer, 3, padding=1),
                                      nn.GroupNorm(4, 2 * outer), nn.SiLU())
            self.inner = inner
            self.up = nn.ConvTranspose2d(2 * outer, outer, 2, stride=2)
            self.join = nn.Sequential(nn.Conv2d(2 * outer, outer, 3, padding=1), nn.ReLU())

        def forward(self, x):
            import torch

            return self.join(torch.cat([x, self.up(self.inner(self.down(x)))], 1))

    layers = Block(Block(nn.Identity(), 16), 8)
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), layers, nn.Conv2d(8, 2, 1)), image(32)


def recurrent(kind):
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.recurrent = getattr(nn, kind)(12, 16, 2, bidirectional=True, batch_first=True)
            self.head = nn.Linear(32, 5)

        def forward(self, x):
            return self.head(self.recurrent(x)[0])

    return Tagger(), (torch.randn(3, 9, 12),)


def mobile_net():
    import torchvision

    return torchvision.models.mobilenet_v3_small(num_classes=10), image()


def efficient_net():
    import timm

    return timm.create_model("efficientnet_lite0", num_classes=10), image()


def conv_next():
    from timm.models.convnext import ConvNeXt

    return ConvNeXt(depths=(1, 1, 2, 1), dims=(16, 24, 32, 48), num_classes=10), image()


def swin():
    from timm.models.swin_transformer import SwinTransformer

    return SwinTransformer(64, 4, embed_dim=24, depths=(2, 2), num_heads=(2, 4), window_size=4,
                           num_classes=10), image()


def mixer():
    from timm.models.mlp_mixer import MlpMixer

    return MlpMixer(img_size=64, patch_size=16, num_blocks=2, embed_dim=32, num_classes=10), image()


def vision_transformer():
    from timm.models.vision_transformer import VisionTransformer

    return VisionTransformer(64, 16, embed_dim=48, depth=2, num_heads=4, num_classes=10), image()


def distil_bert():
    import transformers

    config = transformers.DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4,
                                           hidden_dim=64, max_position_embeddings=32)
    return transformers.DistilBertForSequenceClassification(config), tokens()


def gpt2():
    import transformers

    config = transformers.GPT2Config(vocab_size=99, n_positions=32, n_embd=32, n_layer=2, n_head=4,
                                     use_cache=False)
    return transformers.GPT2LMHeadModel(config), tokens()


def llama():
    import transformers

    config = transformers.LlamaConfig(vocab_size=99, hidden_size=32, intermediate_size=64,
                                      num_hidden_layers=2, num_attention_heads=4,
                                      num_key_value_heads=2, use_cache=False)
    return transformers.LlamaForCausalLM(config), tokens()


def t5():
    import torch
    import transformers

    config = transformers.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2,
                                   num_heads=4, use_cache=False, decoder_start_token_id=0)
    encoder = tokens()[0]
    return transformers.T5ForConditionalGeneration(config), (
        encoder, torch.ones_like(encoder), tokens(7)[0])


NETWORKS = {
    "MobileNetV3": mobile_net,
    "EfficientNet": efficient_net,
    "ConvNeXt": conv_next,
    "Swin": swin,
    "MLP-Mixer": mixer,
    "ViT": vision_transformer,
    "DistilBERT": distil_bert,
    "GPT-2": gpt2,
    "Llama": llama,
    "T5": t5,
    "U-Net": u_net,
    "LSTM": lambda: recurrent("LSTM"),
    "GRU": lambda: recurrent("GRU"),
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
