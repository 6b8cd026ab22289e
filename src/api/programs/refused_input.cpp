// SPDX-License-Identifier: Apache-2.0
#include "api/programs/refused_input.h"

#include <algorithm>

#include "ops/loss/negative_log_likelihood.h"
#include "ops/loss/softmax_cross_entropy.h"

namespace narrowgauge {

namespace {

// ", where N is 8 by input 'images'", of the symbols that other inputs before it have decided.
std::string sizes_of_others(const Graph& graph, const TensorTypes& given, std::size_t input) {
  std::string text;
  const Shape& wanted = graph.type(graph.inputs()[input]).shape;
  for (std::size_t axis = 0; axis < wanted.size(); ++axis) {
    if (wanted[axis].is_known()) continue;
    for (std::size_t other = 0; other < input; ++other) {
      const Shape& shape = graph.type(graph.inputs()[other]).shape;
      const auto found = std::ranges::find(shape, wanted[axis]);
      if (found == shape.end() || given[other].shape.size() != shape.size()) continue;
      const auto place = static_cast<std::size_t>(found - shape.begin());
      text += concat(text.empty() ? ", where " : " and ", wanted[axis], " is ",
                     given[other].shape[place], " by input '",
                     graph.value_name(graph.inputs()[other]), '\'');
      break;
    }
  }
  return text;
}

bool is_loss_of_classes(const Node& node) {
  return node.is<SoftmaxCrossEntropyLoss>() || node.is<NegativeLogLikelihoodLoss>();
}

// How scores [N, classes, ...] must lie for labels that lie otherwise.
std::string axis_of_classes(const Graph& graph, const TensorTypes& given, std::size_t input) {
  for (const Node& node : graph.nodes()) {
    if (!is_loss_of_classes(node) || node.input(1) != graph.inputs()[input]) continue;
    const TensorType& scores = graph.type(node.input(0));
    if (scores.shape.size() < 3 || !is_integer(given[input].dtype)) continue;
    return concat("; classes are axis 1 of the scores ", scores,
                  ": where they are the last, as in [N,T,classes], put them there by ",
                  "op(\"Transpose\", {scores}, \"perm=[0,2,1]\"), or take ",
                  "next_token_cross_entropy()");
  }
  return "";
}

}  // namespace

void refuse_input(const Graph& graph, const TensorTypes& given, std::size_t input) {
  const Value value = graph.inputs()[input];
  throw UsageError(concat("input '", graph.value_name(value), "': expected ", graph.type(value),
                          sizes_of_others(graph, given, input), ", got ", given[input],
                          axis_of_classes(graph, given, input)));
}

}  // namespace narrowgauge
