# SPDX-License-Identifier: Apache-2.0
"""Writes the values of metrics_values_test.cpp with scikit-learn (1.5 or newer) and numpy:
python tests/train/metric_values.py. Scores are made by a formula that the test repeats."""
import numpy as np
from sklearn.metrics import confusion_matrix, f1_score, jaccard_score, log_loss, roc_auc_score
from sklearn.metrics import mean_absolute_error, mean_squared_error


def scores_of(rows, classes):
    i = np.arange(rows * classes)
    return (((i * 7919 + 13) % 101) % 17 / 4.0 - 2.0).reshape(rows, classes)


def softmax(scores):
    e = np.exp(scores - scores.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def show(name, value):
    print(f"{name}: " + ", ".join(f"{v:.15g}" for v in np.atleast_1d(value).ravel()))


rows = 60
for classes in (2, 5):
    scores = scores_of(rows, classes)
    labels = (np.arange(rows) * 5 + np.arange(rows) // 7) % classes
    taken = scores.argmax(1)
    print(f"-- {classes} classes")
    show("confusion", confusion_matrix(labels, taken))
    show("f1", f1_score(labels, taken, average="macro"))
    show("f1_micro", f1_score(labels, taken, average="micro"))
    show("f1_by_class", f1_score(labels, taken, average=None))
    show("iou", jaccard_score(labels, taken, average="macro"))
    show("iou_by_class", jaccard_score(labels, taken, average=None))
    show("iou_foreground", jaccard_score(labels > 0, taken > 0))
    show("perplexity", np.exp(log_loss(labels, softmax(scores))))
    if classes == 2:
        show("auc", roc_auc_score(labels, scores[:, 1] - scores[:, 0]))
    else:
        show("auc", roc_auc_score(labels, softmax(scores), multi_class="ovr", average="macro"))
        show("auc_by_class", [roc_auc_score(labels == c, softmax(scores)[:, c])
                              for c in range(classes)])

print("-- class 4 of 5 is absent from the labels, class 0 from the predictions")
scores = scores_of(rows, 5)
scores[:, 0] = -9
labels = np.arange(rows) % 4
taken = scores.argmax(1)
show("f1", f1_score(labels, taken, average="macro"))
show("iou", jaccard_score(labels, taken, average="macro"))
predicted, wanted = scores_of(rows, 3), scores_of(rows, 3)[::-1] / 2
print("-- numbers")
show("mse", mean_squared_error(wanted, predicted))
show("mae", mean_absolute_error(wanted, predicted))
