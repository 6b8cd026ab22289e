// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_normalization.h"

#include <algorithm>

#include "kernels/cpu/tiles/batch_inner.h"
#include "ops/activation/relu.h"
#include "ops/math/arithmetic.h"
#include "ops/nn/batch_normalization.h"
#include "ops/nn/conv.h"
#include "passes/slope_chain.h"

namespace narrowgauge {

namespace {

using Members = GroupFormer::Members;

// The choices of groups, the largest first.
std::vector<Members> forward_groups(const GroupFormer& former, int norm) {
  Members tail;
  int next = former.only_reader({norm, 0});
  if (former.is<Add>(next)) {
    tail.push_back(next);
    next = former.only_reader({next, 0});
  }
  if (former.is<Relu>(next))
    tail.push_back(next);
  else
    tail.clear();
  const int source = former.graph().node(norm).inputs[0].node;
  std::vector<Members> choices;
  const auto choose = [&](Members members) {
    members.insert(members.end(), tail.begin(), tail.end());
    if (members.size() > 1) choices.push_back(std::move(members));
  };
  if (former.is<Conv>(source)) choose({source, norm});
  choose({norm});
  if (former.is<Conv>(source) && !tail.empty()) choices.push_back({source, norm});
  return choices;
}

// Groups that end in a normalization's gradient: the chain before it, other such gradients with the
// same input, and an Add to its result.
std::vector<Members> backward_groups(const GroupFormer& former, int norm) {
  const Value slope = former.graph().node(norm).inputs[0];
  Members normalizations;
  for (const int reader : former.readers(slope))
    if (former.is<BatchNormalizationGradient>(reader) &&
        former.graph().node(reader).inputs[0] == slope && normalizations.size() < cpu::Slopes::most)
      normalizations.push_back(reader);
  const int sum = former.only_reader({norm, 0});
  Members chain = slope_chain(former, slope);
  std::vector<Members> choices;
  const auto choose = [&](Members members, bool with_sum) {
    members.insert(members.end(), normalizations.begin(), normalizations.end());
    if (with_sum) members.push_back(sum);
    if (members.size() > 1) choices.push_back(std::move(members));
  };
  const bool adds = normalizations.size() == 1 && former.is<Add>(sum);
  for (;; chain.erase(chain.begin())) {
    if (adds) choose(chain, true);
    choose(chain, false);
    if (chain.empty()) return choices;
  }
}

std::vector<Members> weight_gradient_groups(const GroupFormer& former, int gradient) {
  Members members = normalized_again(former, former.graph().node(gradient).inputs[0], gradient);
  if (members.empty()) return {};
  members.push_back(gradient);
  return {members};
}

}  // namespace

Graph fuse_normalization(const Graph& graph, const Target& target) {
  GroupFormer former(graph, target);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    if (former.is<BatchNormalization>(i)) former.form(forward_groups(former, i));
    if (former.is<BatchNormalizationGradient>(i)) former.form(backward_groups(former, i));
    if (former.is<ConvWeightGradient>(i)) former.form(weight_gradient_groups(former, i));
  }
  return former.finish();
}

}  // namespace narrowgauge
