// SPDX-License-Identifier: Apache-2.0
// Losses: what a network is trained to make small. Each is the mean over a batch; its value and
// gradient are those of PyTorch's loss of this kind.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

class Network;

// Where a loss has labels i64, a batch may hold them in any format of whole numbers. A loss takes
// the prediction, makes the input "labels" it needs, and returns a scalar f32. UsageError where the
// prediction has not the shape that it takes.
using Loss = std::function<Value(Network& network, Value prediction)>;

// How labels of classes count.
struct LabelOptions {
  // The share of each label that is spread evenly over all classes (Szegedy et al. 2016), from 0 to
  // 1.
  double smoothing = 0;
  std::vector<double> weights{};          // of each class, not negative; empty: all 1
  std::optional<std::int64_t> ignored{};  // examples with this label do not count
};

// Takes logits [N, classes, ...] and labels i64 [N, ...]. The mean is weighted by the weights of
// the labels.
NG_API Loss softmax_cross_entropy(LabelOptions options = {});
// The cross entropy of logarithms of probabilities instead of logits; without smoothing.
NG_API Loss negative_log_likelihood(LabelOptions options = {});
// Takes logits [N, positions, 2] for the first and the last token of a span, and labels i64 [N, 2],
// their positions: the mean of both cross entropies.
NG_API Loss span_cross_entropy();

// The others take labels f32 of the prediction's shape.

// Mean of the squared differences.
NG_API Loss mean_squared_error();
// Mean of the absolute differences (L1).
NG_API Loss mean_absolute_error();
// Mean of d^2 / 2 for differences below `delta`, of delta (|d| - delta / 2) for others (Huber
// 1964); delta is above 0.
NG_API Loss huber(double delta = 1);
// huber(beta) / beta (Girshick 2015); beta is above 0.
NG_API Loss smooth_l1(double beta = 1);
// Kullback and Leibler's divergence of the prediction, logarithms of probabilities [N, ...], from
// the labels, probabilities: the sum of labels * (log(labels) - prediction) over N.
NG_API Loss kl_divergence();
// Logits of any shape, labels in [0, 1]; stable for large logits.
NG_API Loss binary_cross_entropy();
// The binary cross entropy times alpha_t (1 - p_t)^gamma, where p_t is the probability of the label
// and alpha_t is alpha for label 1 and 1 - alpha for label 0 (Lin et al. 2017). A negative alpha
// leaves alpha_t out; gamma is 0, or 1 and above.
NG_API Loss focal(double gamma = 2, double alpha = 0.25);
// 1 - (2 sum(p y) + epsilon) / (sum(p^2) + sum(y^2) + epsilon) with p = sigmoid(logits), over all
// axes but the first, and the mean over that (Milletari et al. 2016).
NG_API Loss dice(double epsilon = 1);

// An output of the network (Network::output()) that is the loss already, a f32 of one element. What
// it is computed from are inputs of the network.
NG_API Loss loss_output(std::string name);

// A loss by its name, with numbers in parentheses where it has some: "huber(delta=0.5)",
// "softmax_cross_entropy(smoothing=0.1, weights=[1, 2, 5], ignored=-1)". Throws UsageError that
// lists the names, or the parameters of the loss.
NG_API Loss parse_loss(std::string_view text);
NG_API std::vector<std::string> loss_names();  // "binary_cross_entropy", ...

}  // namespace narrowgauge
