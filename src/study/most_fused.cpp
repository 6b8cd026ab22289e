// SPDX-License-Identifier: Apache-2.0
#include "study/most_fused.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/indexed_vector.h"

namespace narrowgauge {
namespace {

// How to compute a value that is not stored.
struct Recipe {
  std::set<Value> sources;
  bool reduces = false;  // needs all of its sources before the first element is known
};

class Counter {
 public:
  explicit Counter(const Graph& graph) : graph_(graph), readers_(graph.nodes().size()) {
    for (int i = 0; i < node_count(); ++i)
      for (const Value& value : graph.node(i).inputs)
        if (!value.is_absent()) add_reader(value.node, i);
    for (const GraphOutput& output : graph.outputs()) kept_.insert(output.value);
    for (const State& state : graph.states())
      if (state.next != state.current) kept_.insert(state.next);
    for (int i = 0; i < node_count(); ++i)
      for (int o = 0; o < static_cast<int>(graph.node(i).outputs.size()); ++o)
        if (is_read({i, o})) read_.insert({i, o});
  }

  MostFused run() {
    for (int i = 0; i < node_count(); ++i) visit(i);
    return std::move(result_);
  }

 private:
  void add_reader(int node, int reader) {
    std::vector<int>& readers = readers_[node];
    if (readers.empty() || readers.back() != reader) readers.push_back(reader);
  }

  int node_count() const { return static_cast<int>(graph_.nodes().size()); }

  bool is_read(Value value) const {
    const auto& readers = readers_[value.node];
    return kept_.contains(value) || std::any_of(readers.begin(), readers.end(), [&](int reader) {
             const Values& inputs = graph_.node(reader).inputs;
             return std::find(inputs.begin(), inputs.end(), value) != inputs.end();
           });
  }

  std::int64_t bytes(Value value) const {
    const TensorType& type = graph_.type(value);
    return bytes_for(element_count(known_dims(type.shape)), type.dtype);
  }

  std::int64_t bytes(const std::set<Value>& values) const {
    std::int64_t sum = 0;
    for (const Value& value : values) sum += bytes(value);
    return sum;
  }

  std::int64_t written_by(int index) const {
    std::int64_t sum = 0;
    for (int o = 0; o < static_cast<int>(graph_.node(index).outputs.size()); ++o)
      if (read_.contains({index, o})) sum += bytes(Value{index, o});
    return sum;
  }

  std::int64_t input_bytes(int index) const {
    std::int64_t sum = 0;
    for (const Value& value : graph_.node(index).inputs)
      if (!value.is_absent()) sum += bytes(value);
    return sum;
  }

  // Transpose, Concat and their kin only move values about: of class clear, as many out as in.
  bool moves(int index) const {
    const Node& node = graph_.node(index);
    if (node.op->info.fusion != Fusion::opaque) return false;
    if (node.op->info.precision.bf16 != PrecisionClass::clear) return false;
    const std::int64_t in = input_bytes(index), out = written_by(index);
    return out <= 2 * in && in <= 2 * out;
  }

  // Whether the result is tiny: checks and norms of gradients are made where the gradients are.
  bool condenses(int index) const {
    constexpr std::int64_t far_smaller = 1000;
    return graph_.node(index).op->info.fusion == Fusion::opaque &&
           far_smaller * written_by(index) < input_bytes(index);
  }

  bool fuses(int index) const {
    const Fusion fusion = graph_.node(index).op->info.fusion;
    return fusion == Fusion::elementwise || fusion == Fusion::reduction || fusion == Fusion::view ||
           moves(index) || condenses(index);
  }

  // The stored tensors that the node's inputs are computed from.
  Recipe recipe_of(int index) const {
    Recipe recipe;
    for (const Value& value : graph_.node(index).inputs) {
      if (value.is_absent()) continue;
      const auto known = recipes_.find(value);
      if (known == recipes_.end()) {
        recipe.sources.insert(value);
        continue;
      }
      recipe.sources.insert(known->second.sources.begin(), known->second.sources.end());
      recipe.reduces |= known->second.reduces;
    }
    return recipe;
  }

  // How often a value would be read: by nodes that do not fuse and by nodes that join it with
  // others, also through nodes that only compute on it.
  int reads_of(Value value) const {
    int reads = kept_.contains(value);
    for (const int reader : readers_[value.node]) {
      const Node& node = graph_.node(reader);
      if (std::find(node.inputs.begin(), node.inputs.end(), value) == node.inputs.end()) continue;
      if (!fuses(reader) || joins(reader)) {
        ++reads;
        continue;
      }
      for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o)
        if (is_large({reader, o}, value)) reads += reads_of({reader, o});
    }
    return reads;
  }

  // Whether a value is too large to be made in passing, unlike means and sums over rows.
  bool is_large(Value value, Value beside) const {
    constexpr std::int64_t much_smaller = 8;
    return much_smaller * bytes(value) >= bytes(beside);
  }

  // Whether two different large values meet in the node.
  bool joins(int index) const {
    std::set<Value> large;
    std::int64_t most = 0;
    for (const Value& value : graph_.node(index).inputs)
      if (!value.is_absent()) most = std::max(most, bytes(value));
    for (const Value& value : graph_.node(index).inputs)
      if (!value.is_absent() && 8 * bytes(value) >= most) large.insert(value);
    return large.size() > 1;
  }

  void visit(int index) {
    const Node& node = graph_.node(index);
    if (is_source(node)) return;
    Recipe recipe = recipe_of(index);
    if (!fuses(index)) {
      const std::int64_t written = written_by(index);
      const std::int64_t needed = bytes(recipe.sources);
      const bool picks = node.op->info.precision.bf16 == PrecisionClass::clear;
      result_.read += picks ? std::min(needed, written) : needed;
      store(index, written);
      return;
    }
    const std::int64_t behind = bytes(recipe.sources);
    recipe.reduces |= node.op->info.fusion == Fusion::reduction || condenses(index);
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o)
      if (read_.contains({index, o})) settle({index, o}, recipe, behind);
  }

  void store(int index, std::int64_t written) {
    result_.written += written;
    for (int o = 0; o < static_cast<int>(graph_.node(index).outputs.size()); ++o)
      if (read_.contains({index, o})) result_.stored.insert({index, o});
  }

  // Stores a value that fuses, or notes how to compute it, whichever moves fewer bytes.
  void settle(Value value, const Recipe& recipe, std::int64_t behind) {
    const std::int64_t own = bytes(value), reads = reads_of(value);
    std::int64_t largest = 0;
    for (const Value& source : recipe.sources)
      if (!is_source(graph_.producer(source))) largest = std::max(largest, bytes(source));
    // A value made in the epilogue of the node that makes one of its sources need not read that
    // source; a value made by its first reader is not read there.
    const std::int64_t by_reader = behind - (reads > 0 ? own : 0);
    const std::int64_t to_make = recipe.reduces ? by_reader : std::min(behind - largest, by_reader);
    const bool small = 8 * own < largest;  // made in passing
    const std::int64_t when_stored = (small ? 0 : to_make) + own + reads * own;
    if (!kept_.contains(value) && !small && reads * behind <= when_stored) {
      recipes_[value] = recipe;
      return;
    }
    result_.read += small ? 0 : to_make;
    result_.written += own;
    result_.stored.insert(value);
  }

  const Graph& graph_;
  IndexedVector<int, std::vector<int>> readers_;  // of each node's outputs
  std::set<Value> kept_, read_;      // outputs and next values of states; what anybody reads
  std::map<Value, Recipe> recipes_;  // of values that are not stored
  MostFused result_;
};

}  // namespace

MostFused most_fused(const Graph& graph) { return Counter(graph).run(); }

}  // namespace narrowgauge
