# SPDX-License-Identifier: Apache-2.0
"""Built-in networks against those they are named after, with the same weights: torchvision's, timm's
and Hugging Face's (GPT-2 for tiny-transformer) give predictions, losses and gradients in f64, ours in
f32. Where PyTorch's own f32 is farther off than a bound, ours may be three times as far."""

import collections
import importlib.util
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

# The bounds of norms of differences over norms: prediction, loss, the worst of all gradients. A
# Relu whose operand has the other sign by rounding moves gradients by jumps, also between PyTorch's
# f32 and f64.
BOUNDS = (1e-5, 1e-6, 5e-2)
SMOOTH_BOUNDS = (1e-5, 1e-6, 1e-5)  # of networks without Relu
SLACK = 3
BATCH, CLASSES, SEQUENCE = 4, 10, 16

Case = collections.namedtuple("Case", "model mode side head", defaults=("evaluate", 64, None))
CASES = [
    Case("resnet18"),
    Case("resnet18", "train"),
    Case("resnet50"),
    Case("resnet50", "train"),
    Case("vgg19"),
    Case("vgg19", side=224),
    Case("densenet121"),
    Case("densenet121", "train"),
    Case("mobilenet_v2"),
    Case("vit-small"),
    Case("bert-base", head="classification"),
    Case("bert-base", head="question-answering"),
    Case("tiny-transformer", "train"),
    Case("lstm", "train"),
]
PACKAGES = {
    "vit-small": "timm",
    "bert-base": "transformers",
    "tiny-transformer": "transformers",
    "lstm": "torch",
}
LANGUAGE = ("tiny-transformer", "lstm")


def write_safetensors(path, tensors):
    names = {"torch.float32": "F32", "torch.int64": "I64"}
    header, parts, end = {}, [], 0
    for name, tensor in tensors.items():
        parts.append(tensor.contiguous().numpy().tobytes())
        begin, end = end, end + len(parts[-1])
        header[name] = {
            "dtype": names[str(tensor.dtype)],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(b"".join([struct.pack("<Q", len(text)), text, *parts]))


def make_bert(head):
    import transformers

    config = transformers.BertConfig(num_labels=CLASSES)
    if head == "question-answering":
        config.num_labels = 2
        return transformers.BertForQuestionAnswering(config)
    return transformers.BertForSequenceClassification(config)


def make_gpt2():
    """Hugging Face's GPT-2 in the size of tiny-transformer, with its random weights."""
    import transformers

    config = transformers.GPT2Config(
        vocab_size=CLASSES,
        n_positions=SEQUENCE,
        n_layer=4,
        n_embd=128,
        n_head=4,
        activation_function="gelu",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=None,
        eos_token_id=None,
    )
    return transformers.GPT2LMHeadModel(config)


def make_lstm(torch):
    class Lstm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(CLASSES, 256)
            self.lstm = torch.nn.LSTM(256, 256, 2, batch_first=True)
            self.head = torch.nn.Linear(256, CLASSES)

        def forward(self, tokens):
            return self.head(self.lstm(self.embedding(tokens))[0])

    return Lstm()


def as_ours(case, tensors):
    """Hugging Face's Conv1D has its matrices [inputs, outputs]; the tied head comes but once."""
    if case.model != "tiny-transformer":
        return tensors
    turned = (".c_attn.weight", ".c_proj.weight", ".c_fc.weight")
    return {
        name: tensor.t().contiguous() if name.endswith(turned) else tensor
        for name, tensor in tensors.items()
        if not name.endswith("lm_head.weight")
    }


def make_model(case):
    if case.model == "tiny-transformer":
        return make_gpt2()
    if case.model == "lstm":
        import torch

        return make_lstm(torch)
    if case.model == "bert-base":
        return make_bert(case.head)
    if case.model == "vit-small":
        import timm

        return timm.create_model(
            "vit_small_patch16_224", img_size=case.side, num_classes=CLASSES
        )
    import torchvision

    return getattr(torchvision.models, case.model)(num_classes=CLASSES)


def make_inputs(case, torch):
    batch = 1 if case.side == 224 else BATCH
    if case.model in LANGUAGE:
        tokens = torch.randint(CLASSES, (batch, SEQUENCE + 1))
        return {"tokens": tokens[:, :-1].contiguous(), "labels": tokens[:, 1:].contiguous()}
    if case.model != "bert-base":
        images = torch.randn(batch, 3, case.side, case.side)
        return {"images": images, "labels": torch.randint(CLASSES, (batch,))}
    labels = torch.randint(CLASSES, (batch,))
    if case.head == "question-answering":
        labels = torch.randint(SEQUENCE, (batch, 2))
    # Texts of different lengths, each of two parts.
    place = torch.arange(SEQUENCE).expand(batch, SEQUENCE)
    lengths = torch.arange(SEQUENCE, SEQUENCE - 3 * batch, -3).unsqueeze(1)
    return {
        "input_ids": torch.randint(30522, (batch, SEQUENCE)),
        "token_type_ids": (place >= 5).long(),
        "attention_mask": (place < lengths).long(),
        "labels": labels,
    }


def settle_statistics(model, inputs, torch):
    """Running averages of a batch, so that evaluation divides by variances that are not 1."""
    for part in model.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.momentum = 1.0
    model.train()
    with torch.no_grad():
        model(torch.randn(32, *inputs["images"].shape[1:]))


def predict(case, model, inputs, torch):
    """Prediction and loss."""
    entropy, labels = torch.nn.functional.cross_entropy, inputs["labels"]
    if case.model in LANGUAGE:
        outputs = model(inputs["tokens"])
        prediction = outputs.logits if hasattr(outputs, "logits") else outputs
        return prediction, entropy(prediction.flatten(0, 1), labels.flatten())
    if case.model != "bert-base":
        prediction = model(inputs["images"].to(next(model.parameters()).dtype))
        return prediction, entropy(prediction, labels)
    outputs = model(**{name: value for name, value in inputs.items() if name != "labels"})
    if case.head == "classification":
        return outputs.logits, entropy(outputs.logits, labels)
    ends = (outputs.start_logits, outputs.end_logits)
    losses = [entropy(scores, labels[:, i]) for i, scores in enumerate(ends)]
    return torch.stack(ends, 2), (losses[0] + losses[1]) / 2


def answers_of_torch(case, model, inputs, torch):
    model.train(case.mode == "train")
    model.zero_grad()
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    prediction, loss = predict(case, model, inputs, torch)
    loss.backward()
    answers = {"prediction": prediction.detach(), "loss": loss.detach()}
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    for name, gradient in as_ours(case, gradients).items():
        answers[f"gradient of {name}"] = gradient
    return {name: value.double().clone() for name, value in answers.items()}


def our_answers(case, model, inputs, read):
    build = pathlib.Path(os.environ["NARROWGAUGE_BUILD"])
    with tempfile.TemporaryDirectory() as folder:
        weights, batch, answers = (f"{folder}/{name}" for name in ("weights", "inputs", "answers"))
        write_safetensors(weights, as_ours(case, model.state_dict()))
        write_safetensors(batch, inputs)
        command = [build / "bench" / "bench_network_answers", "--model", case.model]
        command += ["--mode", case.mode, "--side", str(case.side), "--classes", str(CLASSES)]
        command += ["--sequence", str(SEQUENCE), "--head", case.head or "classification"]
        command += ["--weights", weights, "--inputs", batch, "--answers", answers]
        subprocess.run(command, check=True)
        return read(answers)


def differences(found, exact):
    """Of prediction, loss, and the worst gradient; gradients that are noise count as such."""
    gradients = [name for name in exact if name.startswith("gradient of ")]
    least = 1e-3 * max(exact[name].norm().item() for name in gradients)

    def relative(name, least=0.0):
        if found[name].shape != exact[name].shape:
            return float("inf")
        distance = (found[name].double() - exact[name]).norm().item()
        return distance / max(exact[name].norm().item(), least)

    worst = max(relative(name, least) for name in gradients)
    return relative("prediction"), relative("loss"), worst


def compare(case, torch, read):
    torch.manual_seed(1)
    model = make_model(case)
    inputs = make_inputs(case, torch)
    if "images" in inputs and case.model != "vit-small":
        settle_statistics(model, inputs, torch)
    ours = our_answers(case, model, inputs, read)
    theirs = answers_of_torch(case, model, inputs, torch)
    exact = answers_of_torch(case, model.double(), inputs, torch)
    title = " ".join(str(part) for part in case if part is not None)
    if ours.keys() != exact.keys():
        print(f"{title}: names differ: {ours.keys() ^ exact.keys()}")
        return False
    found, usual = differences(ours, exact), differences(theirs, exact)
    # Written so that NaN disagrees.
    bounds = SMOOTH_BOUNDS if case.model in PACKAGES else BOUNDS
    agree = all(
        value <= max(bound, SLACK * other) for value, bound, other in zip(found, bounds, usual)
    )
    print(f"{title}: loss {ours['loss'].item():.6f}, off by (torch's f32 by)", end="")
    for name, value, other in zip(("prediction", "loss", "worst gradient"), found, usual):
        print(f" {name} {value:.1e} ({other:.1e})", end="")
    print("" if agree else " TOO FAR", flush=True)
    return agree


def main():
    source = pathlib.Path(os.environ["NARROWGAUGE_SOURCE"])
    sys.path.insert(0, str(source / "bench"))
    failed = False
    for case in CASES:
        package = PACKAGES.get(case.model, "torchvision")
        if importlib.util.find_spec(package) is None:
            print(f"[SKIP] {case.model}: {package} is not installed")
            continue
        import torch
        from torch_steps import read_safetensors

        failed |= not compare(case, torch, read_safetensors)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
