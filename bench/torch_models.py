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


SMALL = {"resnet20": ResNet20, "lenet": LeNet, "mlp": Mlp}
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
