#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Metrics against scikit-learn's: what `evaluate` prints of classifiers with 2, 3, 5 and 40 classes and
of a regression, and what scikit-learn makes of the outputs and labels that `predict` saved."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper
from sklearn import metrics

PROGRAM = os.environ["NARROWGAUGE_PROGRAM"]
CLASSIFICATION = ("accuracy,top1,top3,f1,f1_by_class,f1_micro,auc,auc_by_class,confusion,iou,"
                  "iou_by_class,iou_foreground,perplexity,loss")


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def of_classes(scores, labels):
    """The metrics by their names, and as `name[class]` those of single classes."""
    classes = scores.shape[1]
    every = np.arange(classes)
    shares, guesses = softmax(scores.astype(np.float64)), scores.argmax(axis=1)
    f1 = metrics.f1_score(labels, guesses, labels=every, average=None, zero_division=0)
    iou = metrics.jaccard_score(labels, guesses, labels=every, average=None, zero_division=0)
    present = [c for c in every if 0 < (labels == c).sum() < len(labels)]
    auc = {c: metrics.roc_auc_score(labels == c, shares[:, c]) for c in present}
    loss = metrics.log_loss(labels, shares, labels=every)
    found = {
        "accuracy": metrics.accuracy_score(labels, guesses),
        "f1_micro": metrics.f1_score(labels, guesses, average="micro"),
        "auc": np.mean(list(auc.values())), "loss": loss, "perplexity": np.exp(loss),
        "iou_foreground": metrics.jaccard_score(labels != 0, guesses != 0),
        "f1": f1, "iou": iou, "auc_by_class": list(auc.values())}
    for k in (1, 3):
        if k < classes:
            ranks = metrics.top_k_accuracy_score(labels, scores, k=k, labels=every) \
                if classes > 2 else found["accuracy"]
            found[f"top{k}"] = ranks
    return found


def make_classes(folder, classes, dice):
    """Overlapping clouds of points of unequal sizes, so that no metric is 0 or 1."""
    centres = dice.normal(size=(classes, 6)) * (1.2 if classes < 10 else 2)
    chances = dice.dirichlet(np.full(classes, 3.0))
    arrays = {}
    for part, count in (("train", 600), ("test", 1537)):
        labels = dice.choice(classes, size=count, p=chances)
        labels[:classes] = np.arange(classes)
        points = centres[labels] + dice.normal(size=(count, 6))
        arrays[f"x_{part}"], arrays[f"y_{part}"] = points.astype(np.float32), labels
    np.savez(folder / "set.npz", **arrays)


def nearly(a, b):
    return abs(a - b) <= 2e-6 * max(1, abs(b))


def compare(ours, theirs):
    """Lines about what differs."""
    lines = []
    for name, value in theirs.items():
        values = ours[f"test_{name}_values"] if f"test_{name}_values" in ours else None
        if name in ("f1", "iou"):
            values = ours[f"test_{name}_by_class_values"]
            if not nearly(ours[f"test_{name}"], np.mean(value)):
                lines.append(f"{name}: {ours[f'test_{name}']}, scikit-learn has {np.mean(value)}")
        elif values is None:
            values, value = [ours[f"test_{name}"]], [np.mean(value)]
        if len(values) != len(value) or not all(map(nearly, values, value)):
            lines.append(f"{name}: {values}, scikit-learn has {value}")
    return lines


def check_classes(folder, classes, dice):
    make_classes(folder, classes, dice)
    run("train", "--model", "mlp", "--data", folder / "set.npz", "--epochs", 2, "--batch", 32,
        "--output", folder / "run", "--quiet")
    wanted = CLASSIFICATION if classes > 3 else CLASSIFICATION.replace("top3,", "")
    ours = json.loads(run("evaluate", folder / "run", "--metrics", wanted, "--json"))
    run("predict", folder / "run", "--save", folder / "out.npz", "--quiet")
    saved = np.load(folder / "out.npz")
    matrix = metrics.confusion_matrix(saved["labels"], saved["outputs"].argmax(axis=1))
    lines = compare(ours, of_classes(saved["outputs"], saved["labels"]))
    if ours["test_confusion_matrix"]["counts"] != list(matrix.ravel()):
        lines.append("confusion: other counts")
    return lines


def check_regression(folder, dice):
    x = dice.normal(size=(900, 4)).astype(np.float32)
    y = (x @ dice.normal(size=(4, 2)) + 0.3 * dice.normal(size=(900, 2))).astype(np.float32)
    np.savez(folder / "set.npz", x=x, y=y)
    weight = numpy_helper.from_array(dice.normal(size=(4, 2)).astype(np.float32), "weight")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "weight"], ["guess"])], "line",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("guess", onnx.TensorProto.FLOAT, ["n", 2])], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              folder / "line.onnx")
    run("train", folder / "line.onnx", "--data", folder / "set.npz", "--loss", "mean_squared_error", "--epochs", 1,
        "--batch", 32, "--output", folder / "run", "--quiet")
    ours = json.loads(run("evaluate", folder / "run", "--metrics", "mse,mae,loss", "--json"))
    run("predict", folder / "run", "--save", folder / "out.npz", "--quiet")
    saved = np.load(folder / "out.npz")
    truth = y[4::5]  # one row in five is for the test
    error = metrics.mean_squared_error(truth, saved["outputs"])
    return compare(ours, {"mse": error, "loss": error,
                          "mae": metrics.mean_absolute_error(truth, saved["outputs"])})


def main():
    dice = np.random.default_rng(7)
    failures = []
    for name, check in [(f"{c} classes", lambda f, c=c: check_classes(f, c, dice))
                        for c in (2, 3, 5, 40)] + [("regression",
                                                    lambda f: check_regression(f, dice))]:
        with tempfile.TemporaryDirectory() as folder:
            lines = check(pathlib.Path(folder))
        print(f"{name}: {'equal' if not lines else '; '.join(lines)}")
        failures += lines
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
