// SPDX-License-Identifier: Apache-2.0
#include "passes/layout/assign_layout.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/enumerate.h"
#include "base/indexed_vector.h"
#include "ir/readers.h"
#include "kernels/cpu/images/image_window.h"
#include "ops/convolution/conv.h"
#include "ops/shape/relayout.h"
#include "passes/core/operands.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

namespace {

class LayoutAssigner {
 public:
  LayoutAssigner(const Graph& graph, std::vector<Layout> layouts, const Target& target)
      : graph_(graph),
        layouts_(std::move(layouts)),
        target_(target),
        rebuild_(graph),
        read_(values_read(graph)),
        rank_(graph.nodes().size()),
        chosen_(graph.nodes().size()),
        reads_plain_images_(graph.nodes().size()) {}

  Graph run() {
    choose_nodes();
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) place(i);
    // Outputs of the graph and values of states are plain.
    for (const State& state : graph_.states()) restore(state.next);
    for (const GraphOutput& output : graph_.outputs()) restore(output.value);
    return rebuild_.finish();
  }

 private:
  // Only operands of the node's highest rank take the layout; others stay plain.
  static bool takes_layout(Layout layout, const Port& port, const TensorType& type,
                           std::size_t rank) {
    if (port.plain || type.shape.size() != rank) return false;
    if (layout != Layout::batch_inner) return true;
    const auto whole = [](const Dim& dim) { return dim.value() > 0 && dim.value() % 32 == 0; };
    return rank == 4 && whole(type.shape[0]) && whole(type.shape[1]);
  }

  // The highest rank among the operands that may change their layout.
  std::size_t activation_rank(const Node& node) const {
    std::size_t rank = 0;
    const auto see = [&](const Port& port, const TensorType& type) {
      if (!port.plain && type.shape.size() >= 3 && type.shape.size() <= 5)
        rank = std::max(rank, type.shape.size());
    };
    for (std::size_t o = 0; o < node.outputs.size(); ++o)
      see(node.op->output_port(static_cast<int>(o)), node.outputs[o].type);
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (!node.inputs[k].is_absent())
        see(node.op->input_port(static_cast<int>(k)), graph_.type(node.inputs[k]));
    return rank;
  }

  static Storage storage_for(Layout layout, std::size_t rank) {
    const auto axes = static_cast<std::int64_t>(rank);
    if (layout == Layout::batch_inner) return Storage::batch_inner();
    return Storage::channels_last(axes);
  }

  void set_storage(Operand& operand, const Storage& storage) const {
    operand.storage = storage;
    operand.strides.clear();
    if (storage.blocks.empty()) operand.strides = strides_of(operand.dims, storage);
  }

  static bool is_image(const TensorType& type) {
    return type.shape.size() == 4 && type.shape[1].value() <= cpu::most_image_channels;
  }

  // Whether an input takes the layout of its node.
  bool is_moved(Layout layout, int index, std::size_t port) const {
    const Node& node = graph_.node(index);
    if (node.inputs[port].is_absent()) return false;
    const TensorType& type = graph_.type(node.inputs[port]);
    return takes_layout(layout, node.op->input_port(static_cast<int>(port)), type, rank_[index]) &&
           !(reads_plain_images_[index] && is_image(type));
  }

  // The first of its fast kernels that takes the node in a layout; -1: none.
  int first_kernel(Layout layout, int index) const {
    const Node& node = graph_.node(index);
    const std::size_t rank = rank_[index];
    std::vector<Operand> inputs = input_operands(graph_, node);
    std::vector<Operand> outputs = output_operands(graph_, index, read_);
    bool any = false;
    const auto place = [&](Operand& operand) {
      set_storage(operand, storage_for(layout, rank));
      any = true;
    };
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (is_moved(layout, index, k)) place(inputs[k]);
    for (std::size_t o = 0; o < outputs.size(); ++o)
      if (takes_layout(layout, node.op->output_port(static_cast<int>(o)), node.outputs[o].type,
                       rank))
        place(outputs[o]);
    if (!any) return -1;
    const Request request{*node.op, node.attributes, inputs,   outputs,
                          target_,  node.math,       node.name};
    const auto kernels = node.op->kernels();
    const auto found = std::find_if(kernels.begin(), kernels.end() - 1, [&](const Kernel& kernel) {
      return static_cast<bool>(kernel.offer(request));
    });
    return found == kernels.end() - 1 ? -1 : static_cast<int>(found - kernels.begin());
  }

  bool is_accepted(Layout layout, int index) const { return first_kernel(layout, index) >= 0; }

  // Images of few channels stay plain for a node that has a faster kernel then.
  void choose_images() {
    for (const auto& [i, node] : enumerate(graph_.nodes())) {
      const bool reads_images = std::ranges::any_of(node.inputs, [&](Value value) {
        return !value.is_absent() && is_image(graph_.type(value));
      });
      if (rank_[i] != 4 || !reads_images || is_image(node.outputs[0].type)) continue;
      const int moved = first_kernel(Layout::channels_last, i);
      reads_plain_images_[i] = true;
      const int plain = first_kernel(Layout::channels_last, i);
      reads_plain_images_[i] = plain >= 0 && (moved < 0 || plain < moved);
    }
  }

  // Chooses contractions that take the layout, and nodes connected to them through nodes that do.
  void choose_nodes() {
    for (const auto& [i, node] : enumerate(graph_.nodes()))
      rank_[i] = is_source(node) || node.op->kernels().empty() ? 0 : activation_rank(node);
    choose_images();
    const Readers readers(graph_);
    for (const Layout layout : layouts_) {
      spread(layout, readers);
      if (layout != layouts_.back()) give_back(layout, readers);
    }
    narrow_first();
  }

  // A border costs least where values are narrowest: what narrows a plain value stays plain.
  void narrow_first() {
    for (const auto& [i, node] : enumerate(graph_.nodes())) {
      if (!chosen_[i] || node.op->info.fusion == Fusion::contraction || node.outputs.size() != 1)
        continue;
      bool narrows = false, plain = true;
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        if (!is_moved(*chosen_[i], i, k)) continue;
        const Value value = node.inputs[k];
        plain = plain && !chosen_[value.node];
        narrows = bits(node.outputs[0].type.dtype) < bits(graph_.type(value).dtype);
      }
      if (narrows && plain) chosen_[i].reset();
    }
  }

  // Where neighbours take only the next layout, as depthwise convolutions do, each border is
  // another pass over memory: a region with more than one for two contractions is left to the next
  // layout.
  void give_back(Layout layout, const Readers& readers) {
    IndexedVector<int, bool> seen(graph_.nodes().size());
    for (const auto& [i, node] : enumerate(graph_.nodes())) {
      if (chosen_[i] != layout || seen[i]) continue;
      std::vector<int> region{i};
      seen[i] = true;
      int contractions = 0, borders = 0;
      for (std::size_t k = 0; k < region.size(); ++k) {
        const int member = region[k];
        contractions += graph_.node(member).op->info.fusion == Fusion::contraction ? 1 : 0;
        for (const int next : neighbours(member, readers)) {
          if (chosen_[next] != layout) {
            borders += rank_[next] > 0 && is_accepted(layouts_.back(), next) ? 1 : 0;
          } else if (!seen[next]) {
            seen[next] = true;
            region.push_back(next);
          }
        }
      }
      if (borders == 0 || 2 * borders < contractions) continue;
      for (const int member : region) chosen_[member].reset();
    }
  }

  void spread(Layout layout, const Readers& readers) {
    std::vector<int> open;
    IndexedVector<int, bool> capable(graph_.nodes().size());
    for (const auto& [i, node] : enumerate(graph_.nodes())) {
      capable[i] = rank_[i] > 0 && !chosen_[i] && is_accepted(layout, i);
      const bool seed = node.op->info.fusion == Fusion::contraction;
      if (capable[i] && seed) open.push_back(i);
    }
    while (!open.empty()) {
      const int i = open.back();
      open.pop_back();
      if (chosen_[i]) continue;
      chosen_[i] = layout;
      for (const int next : neighbours(i, readers))
        if (capable[next] && !chosen_[next]) open.push_back(next);
    }
  }

  // Nodes that share a value of the layout.
  std::vector<int> neighbours(int index, const Readers& readers) const {
    std::vector<int> found;
    const std::size_t rank = rank_[index];
    const auto is_shared = [&](Value value, int reader) {
      const TensorType& type = graph_.type(value);
      return type.shape.size() == rank && !(reads_plain_images_[reader] && is_image(type));
    };
    for (const Value& value : graph_.node(index).inputs)
      if (!value.is_absent() && is_shared(value, index)) found.push_back(value.node);
    for (int o = 0; o < static_cast<int>(graph_.node(index).outputs.size()); ++o)
      for (const int reader : readers.of({index, o}))
        if (is_shared({index, o}, reader)) found.push_back(reader);
    return found;
  }

  // The value in the wanted storage, by one Relayout for all nodes that want it.
  Value in_storage(Value old, const Storage& wanted) {
    const Value now = rebuild_.mapped(old);
    if (rebuild_.graph().info(now).storage == wanted) return now;
    auto& made = relayouts_[{now, concat(wanted)}];
    if (made.is_absent()) {
      const std::string name = graph_.value_name(old) + ".relayout";
      const Node& producer = graph_.producer(old);
      made = rebuild_.graph().add(Relayout{}, {now},
                                  {.name = rebuild_.graph().unique_name(name),
                                   .origin = producer.full_name(),
                                   .phase = producer.phase,
                                   .storages = {wanted}});
    }
    return made;
  }

  void place(int index) {
    const Node& node = graph_.node(index);
    const std::optional<Layout> layout = chosen_[index];
    const std::size_t rank = rank_[index];
    Values inputs;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const Value value = node.inputs[k];
      const bool moved = layout && is_moved(*layout, index, k);
      inputs.push_back(value.is_absent()
                           ? absent
                           : in_storage(value, moved ? storage_for(*layout, rank) : Storage{}));
    }
    if (!layout) {
      rebuild_.copy(index, node.attributes, inputs);
      return;
    }
    NodeOptions options = options_of(node);
    for (std::size_t o = 0; o < node.outputs.size(); ++o)
      if (takes_layout(*layout, node.op->output_port(static_cast<int>(o)), node.outputs[o].type,
                       rank))
        options.storages[o] = storage_for(*layout, rank);
    const Value made = rebuild_.graph().add(*node.op, node.attributes, inputs, std::move(options));
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o)
      rebuild_.map({index, o}, {made.node, o});
  }

  void restore(Value old) {
    const Value plain = in_storage(old, Storage{});
    rebuild_.map(old, plain);
  }

  const Graph& graph_;
  std::vector<Layout> layouts_;
  const Target& target_;
  Rebuild rebuild_;
  std::set<Value> read_;
  IndexedVector<int, std::size_t> rank_;
  IndexedVector<int, std::optional<Layout>> chosen_;
  IndexedVector<int, bool> reads_plain_images_;
  std::map<std::pair<Value, std::string>, Value> relayouts_;
};

// Whether all convolutions are of bf16 by constant weights, which are packed for images in channels
// last. f32 and f16 are split faster in batch-inner blocks.
bool prefers_channels_last(const Graph& graph) {
  bool any = false;
  for (const Node& node : graph.nodes()) {
    if (!node.is<Conv>()) continue;
    if (graph.type(node.inputs[0]).dtype != DType::bf16 || !is_lasting(graph, node.inputs[1]))
      return false;
    any = true;
  }
  return any;
}

}  // namespace

Graph assign_layout(const Graph& graph, Layout layout, const Target& target) {
  if (layout == Layout::plain) return graph;
  std::vector<Layout> layouts{layout};
  if (layout == Layout::fastest) layouts = {Layout::batch_inner, Layout::channels_last};
  if (layout == Layout::fastest && prefers_channels_last(graph)) layouts = {Layout::channels_last};
  return LayoutAssigner(graph, std::move(layouts), target).run();
}

}  // namespace narrowgauge
