// SPDX-License-Identifier: Apache-2.0
#include "quantize/byte_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ir/readers.h"
#include "ops/activation/relu.h"
#include "ops/convolution/conv.h"
#include "ops/math/gemm.h"
#include "ops/math/matmul.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/min_max.h"
#include "ops/pool/average_pool.h"
#include "ops/pool/max_pool.h"
#include "ops/quantized/quantize_linear.h"
#include "ops/shape/concat.h"
#include "ops/shape/slice.h"
#include "ops/shape/transpose.h"

namespace narrowgauge {

namespace {

bool is_constant(const Graph& graph, Value value) { return graph.constant_value(value) != nullptr; }

// A bias that can become whole numbers: none, or one number for each channel.
bool has_plain_bias(const Graph& graph, const Node& node, const Dim& channels) {
  if (node.inputs.size() < 3 || node.input(2).is_absent()) return true;
  return is_constant(graph, node.input(2)) && graph.type(node.input(2)).shape == Shape{channels};
}

bool is_plain_gemm(const Gemm& gemm) {
  return gemm.transA == 0 && gemm.alpha == 1 && gemm.beta == 1;
}

// Whether a node's results hold the numbers of its first input, or of all, in other places.
bool only_moves(const Node& node) {
  return node.op->info.fusion == Fusion::view || node.is<Transpose>() || node.is<Concat>() ||
         node.is<MaxPool>();
}

bool averages(const Node& node) { return node.is<AveragePool>() || node.is<GlobalAveragePool>(); }

// How much coarser than its own a value's scale may be, for bytes that all its readers share.
constexpr double most_coarser = 1.25;
// How much coarser it may be where a part of a value, or its maxima, are made from its bytes. They
// are made faster than from f32, and a pool that drops the negative half of its input alone makes
// it 2.
constexpr double most_coarser_whole = 3;

bool is_activation(const Node& node) { return node.is<Relu>() || node.is<Clip>(); }

class Finder {
 public:
  Finder(const Graph& graph, const std::set<int>& contractions, const OwnScale& own_scale)
      : graph_(graph), readers_(graph), contractions_(contractions), own_scale_(own_scale) {}

  ByteValues find() {
    for (const int node : contractions_) read_as_bytes(node, 0);
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i)
      if (averages(graph_.node(i)) && group_of_.contains(graph_.node(i).input(0)))
        read_as_bytes(i, 0);
    join_concatenated();
    ByteValues found{{}, ports_};
    std::map<int, std::size_t> place;
    for (const auto& [value, group] : group_of_) {
      const auto [at, is_new] = place.try_emplace(root(group), found.groups.size());
      if (is_new) found.groups.emplace_back();
      found.groups[at->second].push_back(value);
    }
    return found;
  }

 private:
  void read_as_bytes(int node, int port) {
    ports_.emplace(node, port);
    add(graph_.node(node).input(port));
  }

  void add(Value value) {
    if (!group_of_.try_emplace(value, static_cast<int>(joined_.size())).second) return;
    joined_.push_back(static_cast<int>(joined_.size()));
    const Node& producer = graph_.producer(value);
    if (only_moves(producer))
      look_behind(value);
    else if (averages(producer))
      read_as_bytes(value.node, 0);
    else
      look_behind_activation(value);
  }

  void look_behind(Value value) {
    const Node& node = graph_.producer(value);
    if (!node.is<Concat>() && is_much_finer(value, node.input(0))) return;
    if (has_much_finer_part(value, value)) return;
    const int data = node.is<Concat>() ? static_cast<int>(node.inputs.size()) : 1;
    for (int port = 0; port < data; ++port) {
      if (is_constant(graph_, node.input(port))) continue;
      read_as_bytes(value.node, port);
      if (node.is<Concat>())
        concatenated_.emplace_back(node.input(port), value);
      else
        join(root_of(node.input(port)), root_of(value));
    }
  }

  bool is_much_finer(Value part, Value whole) const {
    const double own = own_scale_ ? own_scale_(part) : 0;  // 0: nothing finite was seen
    return own > 0 && own_scale_(whole) > most_coarser_whole * own;
  }

  // Whether one is made of a value, directly or by way of views, that could not tell its numbers
  // apart if the value were made from bytes.
  bool has_much_finer_part(Value value, Value whole) const {
    return own_scale_ && std::ranges::any_of(readers_.of(value), [&](int reader) {
             const Node& node = graph_.node(reader);
             const bool takes_parts =
                 (only_moves(node) && !node.is<Concat>()) || node.is<Slice>() || node.is<Split>();
             if (!takes_parts || node.input(0) != value) return false;
             for (int o = 0; o < std::ssize(node.outputs); ++o)
               if (is_much_finer({reader, o}, whole) || has_much_finer_part({reader, o}, whole))
                 return true;
             return false;
           });
  }

  // What groups need before any of them are joined by a Concat.
  struct Need {
    double coarsest = 0;                                      // own scale of its values
    double finest = std::numeric_limits<double>::infinity();  // of those that are read as they are
    bool is_read() const { return std::isfinite(finest); }
  };

  // A part that only one Concat reads has no reader that could lose. Others are joined with the
  // result as long as nobody in the new group gets a scale much coarser than its own.
  void join_concatenated() {
    if (concatenated_.empty()) return;
    std::map<int, Need> needs = own_scale_ ? needs_of_groups() : std::map<int, Need>{};
    for (const auto& [part, whole] : concatenated_) {
      const int from = root_of(part), to = root_of(whole);
      if (from == to) continue;
      const Need &one = needs[from], &other = needs[to];
      if (one.is_read()) {
        const Need both{std::max(one.coarsest, other.coarsest), std::min(one.finest, other.finest)};
        if (both.coarsest > most_coarser * both.finest) continue;
        needs[to] = both;
      }
      join(from, to);
    }
  }

  // A group is read as it is by what does not only move it, and where several Concats read it.
  std::map<int, Need> needs_of_groups() const {
    std::set<int> read;
    for (const auto& [node, port] : ports_)
      if (!only_moves(graph_.node(node))) read.insert(root_of(graph_.node(node).input(port)));
    std::set<int> concatenated;
    for (const auto& [part, whole] : concatenated_)
      if (!concatenated.insert(root_of(part)).second) read.insert(root_of(part));
    std::map<int, Need> needs;
    for (const auto& [value, group] : group_of_) {
      Need& need = needs[root(group)];
      need.coarsest = std::max(need.coarsest, own_scale_(value));
      if (read.contains(root(group))) need.finest = need.coarsest;
    }
    return needs;
  }

  int root_of(Value value) const { return root(group_of_.at(value)); }
  void join(int group, int to) { joined_[static_cast<std::size_t>(group)] = to; }

  void look_behind_activation(Value value) {
    while (is_activation(graph_.producer(value))) {
      const Value before = graph_.producer(value).input(0);
      if (readers_.only(before) < 0) return;
      value = before;
    }
    const Node& node = graph_.producer(value);
    if (!node.is<Add>() || !adds_alike(node)) return;
    const bool first_is_kept = belongs_to_reader(node.input(0));
    const bool second_is_kept = !first_is_kept && belongs_to_reader(node.input(1));
    if (!first_is_kept) read_as_bytes(value.node, 0);
    if (!second_is_kept) read_as_bytes(value.node, 1);
  }

  bool adds_alike(const Node& node) const {
    return graph_.type(node.input(0)).shape == graph_.type(node.input(1)).shape &&
           !is_constant(graph_, node.input(0)) && !is_constant(graph_, node.input(1));
  }

  // Whether the addition that reads a value can run in the epilogue of the kernel that makes it.
  bool belongs_to_reader(Value value) const {
    return contractions_.contains(value.node) && readers_.only(value) >= 0;
  }

  int root(int group) const {
    while (joined_[static_cast<std::size_t>(group)] != group)
      group = joined_[static_cast<std::size_t>(group)];
    return group;
  }

  const Graph& graph_;
  const Readers readers_;
  const std::set<int>& contractions_;
  const OwnScale& own_scale_;
  std::map<Value, int> group_of_;
  std::vector<int> joined_;  // the group that a group is part of, itself where it is a root
  std::set<std::pair<int, int>> ports_;
  std::vector<std::pair<Value, Value>> concatenated_;  // a part and the result
};

}  // namespace

bool may_be_quantized(const Graph& graph, int index) {
  const Node& node = graph.node(index);
  const bool product = node.is<Gemm>() || node.is<MatMul>();
  if (!product && !node.is<Conv>()) return false;
  if (node.outputs[0].type.dtype != DType::f32 || is_constant(graph, node.input(0))) return false;
  const Tensor* const weights = graph.constant_value(node.input(1));
  if (!weights || weights->size() == 0) return false;
  if (node.is<Conv>()) return has_plain_bias(graph, node, weights->dims()[0]);
  if (weights->dims().size() != 2) return false;
  if (node.is<MatMul>()) return true;
  const Gemm& gemm = node.as<Gemm>();
  return is_plain_gemm(gemm) &&
         has_plain_bias(graph, node, weights->dims()[gemm.transB != 0 ? 0 : 1]);
}

WeightAxes weight_axes(const Node& node) {
  if (node.is<Conv>()) return {.output = 0, .input = 1, .groups = node.as<Conv>().group};
  const bool transposed = node.is<Gemm>() && node.as<Gemm>().transB != 0;
  return {.output = transposed ? 0 : 1, .input = transposed ? 1 : 0};
}

bool reads_bytes(const Graph& graph, int index) {
  const Node& node = graph.node(index);
  const auto dequantized = [&](int port) {
    return graph.producer(node.input(port)).is<DequantizeLinear>();
  };
  return (node.is<Conv>() || node.is<Gemm>() || node.is<MatMul>()) && dequantized(0) &&
         dequantized(1);
}

ByteValues byte_values(const Graph& graph, const std::set<int>& contractions,
                       const OwnScale& own_scale) {
  return Finder(graph, contractions, own_scale).find();
}

}  // namespace narrowgauge
