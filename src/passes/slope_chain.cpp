// SPDX-License-Identifier: Apache-2.0
#include "passes/slope_chain.h"

#include <algorithm>

#include "ops/activation/relu.h"
#include "ops/math/arithmetic.h"
#include "ops/nn/batch_normalization.h"
#include "ops/nn/conv.h"

namespace narrowgauge {

GroupFormer::Members slope_chain(const GroupFormer& former, Value slope) {
  GroupFormer::Members chain;
  int at = slope.node;
  const auto inputs = [&](int node) -> const Values& { return former.graph().node(node).inputs; };
  const auto convolution = [&](Value value, int reader) {
    const int node = former.passing_to(value, reader);
    return former.is<ConvDataGradient>(node) ? node : -1;
  };
  if (former.is<ReluGradient>(at)) {
    chain.push_back(at);
    const GroupFormer::Members again = normalized_again(former, inputs(at)[0], at);
    chain.insert(chain.end(), again.rbegin(), again.rend());
    at = former.passing_to(inputs(at)[1], at);
  }
  if (former.is<Add>(at)) {
    chain.push_back(at);
    at = std::max(convolution(inputs(at)[0], at), convolution(inputs(at)[1], at));
  }
  if (former.is<ConvDataGradient>(at)) chain.push_back(at);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

GroupFormer::Members normalized_again(const GroupFormer& former, Value value, int reader) {
  int at = former.passing_to(value, reader);
  GroupFormer::Members members;
  if (former.is<Relu>(at)) {
    members.push_back(at);
    at = former.passing_to(former.graph().node(at).inputs[0], at);
  }
  if (!former.is<NormalizeAgain>(at)) return {};
  members.insert(members.begin(), at);
  return members;
}

}  // namespace narrowgauge
