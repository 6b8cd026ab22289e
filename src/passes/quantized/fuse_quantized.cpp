// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized/fuse_quantized.h"

#include <algorithm>
#include <map>

#include "base/enumerate.h"
#include "ops/quantized/conv_integer.h"
#include "ops/quantized/matmul_integer.h"
#include "ops/quantized/quantize_linear.h"
#include "passes/core/rebuild.h"
#include "passes/quantized/channel_scales.h"
#include "passes/quantized/expand_quantized.h"
#include "passes/quantized/move_quantization.h"
#include "passes/quantized/quantized_average.h"
#include "passes/quantized/quantized_contraction.h"
#include "passes/quantized/quantized_values.h"
#include "passes/simplify/merge_duplicates.h"
#include "passes/simplify/remove_dead_code.h"

namespace narrowgauge {

namespace {

bool is_quantized(const Node& node) {
  return node.is<QuantizeLinear>() || node.is<DequantizeLinear>() || node.is<QLinearConv>() ||
         node.is<QLinearMatMul>() || node.is<MatMulInteger>() || node.is<ConvInteger>();
}

Graph fuse_contractions(const Graph& graph) {
  const Readers readers(graph);
  std::map<int, QuantizedContraction> fused;  // by the last node
  std::set<int> taken;
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    auto found = find_quantized(graph, readers, i, taken);
    if (!found) continue;
    taken.insert(found->members.begin(), found->members.end());
    fused.emplace(found->members.back(), std::move(*found));
  }
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const auto here = fused.find(i);
    if (here != fused.end())
      add_quantized(rebuild, here->second);
    else if (!taken.contains(i))
      rebuild.copy(i);
  }
  return rebuild.finish();
}

}  // namespace

Graph fuse_quantized(const Graph& graph) {
  if (std::ranges::none_of(graph.nodes(), is_quantized) || !only_predicts(graph)) return graph;
  const Graph said = merge_duplicates(absorb_channel_scales(expand_quantized(graph)));
  const Graph moved = remove_dead_code(move_quantization(said));
  return remove_dead_code(fuse_averages(fuse_contractions(moved)));
}

}  // namespace narrowgauge
