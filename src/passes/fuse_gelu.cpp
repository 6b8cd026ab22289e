// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_gelu.h"

#include "ops/activation/gelu.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/math/gemm.h"
#include "ops/shape/reshape.h"
#include "passes/group_former.h"

namespace narrowgauge {

namespace {

using Members = GroupFormer::Members;

// The Gemm that computes a value, and the reshape after it if there is one; empty if there is no
// Gemm. The value may have several readers.
Members product_before(const GroupFormer& former, Value value) {
  Members members;
  if (former.is<ReshapeTo>(value.node)) {
    members.push_back(value.node);
    const Value source = former.graph().node(value.node).inputs[0];
    if (former.only_reader(source) != value.node) return {};
    value = source;
  }
  if (!former.is<Gemm>(value.node)) return {};
  members.insert(members.begin(), value.node);
  return members;
}

std::vector<Members> forward_groups(const GroupFormer& former, int gelu) {
  Members members = product_before(former, former.graph().node(gelu).inputs[0]);
  if (members.empty()) return {};
  members.push_back(gelu);
  return {members};
}

std::vector<Members> backward_groups(const GroupFormer& former, int gradient) {
  const Value dy = former.graph().node(gradient).inputs[1];
  Members members = product_before(former, dy);
  if (members.empty() || former.only_reader(dy) != gradient) return {};
  members.push_back(gradient);
  std::vector<Members> choices{members};
  Value rows{gradient, 0};
  const int reshape = former.only_reader(rows);
  if (former.is<ReshapeTo>(reshape)) {
    members.push_back(reshape);
    choices.push_back(members);
    rows = {reshape, 0};
  }
  for (const int reader : former.readers(rows))
    if (former.is<BroadcastGradient>(reader)) {
      members.push_back(reader);
      choices.push_back(members);
      break;
    }
  return {choices.rbegin(), choices.rend()};
}

}  // namespace

Graph fuse_gelu(const Graph& graph, const Target& target) {
  GroupFormer former(graph, target);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    if (former.is<Gelu>(i)) former.form(forward_groups(former, i));
    if (former.is<GeluGradient>(i)) former.form(backward_groups(former, i));
  }
  return former.finish();
}

}  // namespace narrowgauge
