// SPDX-License-Identifier: Apache-2.0
// Which values of a network are bytes once some of its contractions compute on bytes.
#pragma once

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "narrowgauge/graph.h"
#include "quantize/bias_correction.h"

namespace narrowgauge {

// Whether a node can compute on bytes: a convolution, or a product, of an f32 activation and
// constant weights.
bool may_be_quantized(const Graph& graph, int node);

// Where the channels of a contraction's weights lie.
WeightAxes weight_axes(const Node& node);

// Whether a node of a quantized graph is a convolution or product that reads bytes.
bool reads_bytes(const Graph& graph, int node);

struct ByteValues {
  // Values that share a format, since ops that only move numbers lead from one to the other.
  std::vector<std::vector<Value>> groups;
  // Ports (node, input) that read their value through bytes. The other readers of it read f32.
  std::set<std::pair<int, int>> ports;
};

// The scale that a value would have by itself, 0 where it is not known.
using OwnScale = std::function<double(Value)>;

// The values that are bytes where these contractions, which may be quantized, compute on bytes.
// Bytes are what contractions read, and what the pools, averages and additions before them read. A
// contraction whose result an addition alone reads hands it on in f32, as that addition belongs to
// its kernel's epilogue. What a Concat joins shares the format of the result, but for a value that
// others read too and whose own scale, or that of these others, is much finer: it keeps its own,
// and its bytes are quantized again for the Concat. A view or a pool whose result's own scale is
// many times finer than its input's reads f32, and so does what makes that input. Without scales
// all that is joined shares a format.
ByteValues byte_values(const Graph& graph, const std::set<int>& contractions,
                       const OwnScale& own_scale = {});

}  // namespace narrowgauge
