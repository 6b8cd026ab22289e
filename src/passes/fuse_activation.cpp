// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_activation.h"

#include "ops/activation/relu.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/nn/conv.h"
#include "passes/slope_chain.h"

namespace narrowgauge {

namespace {

using Members = GroupFormer::Members;

std::vector<Members> backward_groups(const GroupFormer& former, int relu) {
  Members sums;
  for (const int reader : former.readers({relu, 0}))
    if (former.is<BroadcastGradient>(reader) && sums.empty()) sums.push_back(reader);
  Members chain = slope_chain(former, {relu, 0});
  std::vector<Members> choices;
  const auto choose = [&](const Members& more) {
    Members members = chain;
    members.insert(members.end(), more.begin(), more.end());
    if (members.size() > 1) choices.push_back(std::move(members));
  };
  for (; !chain.empty(); chain.erase(chain.begin())) {
    choose(sums);
    if (!sums.empty()) choose({});
  }
  return choices;
}

}  // namespace

Graph fuse_activation(const Graph& graph, const Target& target) {
  GroupFormer former(graph, target);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    if (former.is<Conv>(i)) {
      const int relu = former.only_reader({i, 0});
      if (former.is<Relu>(relu)) former.form({{i, relu}});
    }
    if (former.is<ReluGradient>(i)) former.form(backward_groups(former, i));
  }
  return former.finish();
}

}  // namespace narrowgauge
