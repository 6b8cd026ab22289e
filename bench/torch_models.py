# SPDX-License-Identifier: Apache-2.0
"""The built-in networks in PyTorch, their parts under the same names: the small ones from here, the
published ones from torchvision, timm and transformers. Sizes come from the weights and the batch."""

from torch import nn
from torch.nn import functional


def conv(weights, name, stride=1):
    out_channels, in_channels, kernel, _ = weights[f"{name}.weight"].shape
    return nn.Conv2d(
        in_channels,
        out_channels,
        kernel,
        stride,
        padding=(kernel - 1) // 2,
        bias=f"{name}.bias" in weights,
    )


def linear(weights, name):
    units, features = weights[f"{name}.weight"].shape
    return nn.Linear(features, units)


def norm(weights, name):
    return nn.BatchNorm2d(weights[f"{name}.weight"].shape[0], eps=1e-5)


class ResidualBlock(nn.Module):
    def __init__(self, weights, name):
        super().__init__()
        strided = f"{name}.shortcut.weight" in weights
        self.conv1 = conv(weights, f"{name}.conv1", stride=2 if strided else 1)
        self.bn1 = norm(weights, f"{name}.bn1")
        self.conv2 = conv(weights, f"{name}.conv2")
        self.bn2 = norm(weights, f"{name}.bn2")
        if strided:
            self.shortcut = conv(weights, f"{name}.shortcut", stride=2)
            self.shortcut_bn = norm(weights, f"{name}.shortcut_bn")

    def forward(self, x):
        y = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        if hasattr(self, "shortcut"):
            x = self.shortcut_bn(self.shortcut(x))
        y += x
        return functional.relu(y, inplace=True)


class ResNet20(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.conv = conv(weights, "conv")
        self.bn = norm(weights, "bn")
        for stage in ("stage1", "stage2", "stage3"):
            blocks = nn.Sequential()
            for block in ("block1", "block2", "block3"):
                blocks.add_module(block, ResidualBlock(weights, f"{stage}.{block}"))
            self.add_module(stage, blocks)
        self.logits = linear(weights, "logits")

    def forward(self, x):
        x = functional.relu(self.bn(self.conv(x)), inplace=True)
        x = self.stage3(self.stage2(self.stage1(x)))
        return self.logits(x.mean((2, 3)))


class LeNet(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.conv1 = conv(weights, "conv1")
        self.conv2 = conv(weights, "conv2")
        self.hidden = linear(weights, "hidden")
        self.logits = linear(weights, "logits")

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.conv1(x), inplace=True), 2)
        x = functional.max_pool2d(functional.relu(self.conv2(x), inplace=True), 2)
        x = functional.relu(self.hidden(x.flatten(1)), inplace=True)
        return self.logits(x)


class Mlp(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.hidden1 = linear(weights, "hidden1")
        self.hidden2 = linear(weights, "hidden2")
        self.logits = linear(weights, "logits")

    def forward(self, x):
        x = functional.relu(self.hidden1(x.flatten(1)), inplace=True)
        x = functional.relu(self.hidden2(x), inplace=True)
        return self.logits(x)


class Attention(nn.Module):
    HEADS = 4  # of the built-in size

    def __init__(self, weights, name):
        super().__init__()
        self.c_attn = linear(weights, f"{name}.c_attn")
        self.c_proj = linear(weights, f"{name}.c_proj")

    def forward(self, x):
        count, length, width = x.shape
        parts = self.c_attn(x).view(count, length, 3, self.HEADS, -1).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(*parts, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(count, length, width))


class FeedForward(nn.Module):
    def __init__(self, weights, name):
        super().__init__()
        self.c_fc = linear(weights, f"{name}.c_fc")
        self.c_proj = linear(weights, f"{name}.c_proj")

    def forward(self, x):
        return self.c_proj(functional.gelu(self.c_fc(x)))


class DecoderLayer(nn.Module):
    def __init__(self, weights, name):
        super().__init__()
        width = len(weights[f"{name}.ln_1.weight"])
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(weights, f"{name}.attn")
        self.mlp = FeedForward(weights, f"{name}.mlp")

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class TinyTransformer(nn.Module):
    def __init__(self, weights):
        super().__init__()
        names = [f"transformer.h.{i}" for i in range(100)]
        layers = [name for name in names if f"{name}.ln_1.weight" in weights]
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(*weights["transformer.wte.weight"].shape),
                "wpe": nn.Embedding(*weights["transformer.wpe.weight"].shape),
                "h": nn.ModuleList(DecoderLayer(weights, name) for name in layers),
                "ln_f": nn.LayerNorm(len(weights["transformer.ln_f.weight"])),
            }
        )

    def forward(self, tokens):
        parts = self.transformer
        x = parts["wte"](tokens) + parts["wpe"].weight[: tokens.shape[1]]
        for layer in parts["h"]:
            x = layer(x)
        return functional.linear(parts["ln_f"](x), parts["wte"].weight)


class Lstm(nn.Module):
    def __init__(self, weights):
        super().__init__()
        count, width = weights["embedding.weight"].shape
        layers = sum(name.startswith("lstm.weight_hh") for name in weights)
        self.embedding = nn.Embedding(count, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.head = linear(weights, "head")

    def forward(self, tokens):
        return self.head(self.lstm(self.embedding(tokens))[0])


SMALL = {"resnet20": ResNet20, "lenet": LeNet, "mlp": Mlp}
LANGUAGE = {"tiny-transformer": TinyTransformer, "lstm": Lstm}  # scores [batch, tokens, vocabulary]
# The layer of torchvision's networks that gives the scores.
LAST = {
    "resnet18": "fc",
    "resnet50": "fc",
    "vgg19": "classifier.6",
    "densenet121": "classifier",
    "mobilenet_v2": "classifier.1",
}


def make_model(name, weights, batch):
    """Its weights are yet to be loaded. ImportError where a package lacks."""
    if name in SMALL:
        return SMALL[name](weights)
    if name in LANGUAGE:
        return LANGUAGE[name](weights)
    if name in LAST:
        import torchvision

        classes = len(weights[f"{LAST[name]}.bias"])
        return getattr(torchvision.models, name)(num_classes=classes)
    if name == "vit-small":
        import timm

        return timm.create_model(
            "vit_small_patch16_224",
            img_size=batch["images"].shape[2:],
            num_classes=len(weights["head.bias"]),
        )
    if name == "bert-base":
        import transformers

        if "classifier.bias" not in weights:
            raise ValueError("torch has bert-base here for classification alone")
        config = transformers.BertConfig(num_labels=len(weights["classifier.bias"]))
        return transformers.BertForSequenceClassification(config)
    raise ValueError(f"torch has no {name} here")
