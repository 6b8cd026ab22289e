// SPDX-License-Identifier: Apache-2.0
#include "precision/apply.h"

#include <map>

#include "base/enumerate.h"
#include "base/indexed_vector.h"
#include "ir/attributes.h"
#include "ir/inference.h"
#include "ir/ports.h"
#include "ops/pointwise/cast.h"
#include "passes/training/drop_masters.h"
#include "precision/casting.h"
#include "precision/plan_reader.h"
#include "precision/plans/parameters.h"
#include "precision/vertices/kernels_take.h"
#include "precision/vertices/region_links.h"

namespace narrowgauge {

namespace {

using Entries = std::map<std::string_view, const PlanEntry*>;
using Formats = std::map<int, DType>;  // of some inputs or outputs, by index

// Rewrites one graph; a new Applier handles each region.
class Applier {
 public:
  Applier(const Graph& from, const Entries& entries, std::string prefix)
      : from_(from),
        entries_(entries),
        prefix_(std::move(prefix)),
        to_(from.name()),
        casting_(to_, from) {}

  // Rewrites with the formats of inputs and outputs that differ from the graph's own.
  Graph run(const Formats& inputs, const Formats& outputs) {
    for (const auto& [i, input] : enumerate(from_.inputs()))
      if (const auto found = inputs.find(i); found != inputs.end())
        input_formats_[input.node] = found->second;
    for (int i = 0; i < static_cast<int>(from_.nodes().size()); ++i) rewrite(i);
    for (const State& state : from_.states())
      to_.set_next(state.name, casting_.as(mapped(state.next), state.type.dtype));
    for (const auto& [o, output] : enumerate(from_.outputs())) {
      const auto found = outputs.find(o);
      const DType dtype = found == outputs.end() ? from_.type(output.value).dtype : found->second;
      to_.output(output.name, casting_.as(mapped(output.value), dtype));
    }
    return std::move(to_);
  }

 private:
  Value mapped(Value value) const { return {map_[value.node], value.output}; }

  const PlanEntry& entry(const std::string& name) const {
    const auto found = entries_.find(name);
    require<ModelError>(found != entries_.end(), "precision: the plan has no line for '", name,
                        "'");
    return *found->second;
  }

  void rewrite(int index) {
    const Node& node = from_.node(index);
    if (node.is<Input>())
      map_.add(rewrite_input(index).node);
    else if (node.is<StateValue>())
      map_.add(rewrite_state(index).node);
    else if (node.op->region_ports)
      map_.add(rewrite_region_op(node).node);
    else
      map_.add(rewrite_node(node).node);
  }

  Value rewrite_input(int index) {
    TensorType type = from_.node(index).outputs[0].type;
    if (const auto found = input_formats_.find(index); found != input_formats_.end())
      type.dtype = found->second;
    return to_.input(from_.node(index).name, type);
  }

  Value rewrite_state(int index) {
    const Node& node = from_.node(index);
    State state = *from_.find_state(node.name);
    const Value made = to_.state(std::move(state));
    if (const auto dtype = entry(prefix_ + node.full_name()).dtype)
      seen_[index] = casting_.as(made, *dtype);
    return made;
  }

  // What a node reads: a parameter as its network sees it, whole in the update.
  Value read(Value value, const Node& reader) const {
    const auto seen = seen_.find(value.node);
    return seen == seen_.end() || reader.phase == Phase::update ? mapped(value) : seen->second;
  }

  Value rewrite_node(const Node& node) {
    const PlanEntry& plan = entry(prefix_ + node.full_name());
    NodeOptions options = options_of(node);
    if (plan.math != Math::none) options.math = plan.math;
    options.autocast.reset();  // the plan has settled it
    Attributes attributes = node.attributes;
    if (node.is<Cast>() && plan.dtype) {
      Cast cast = node.as<Cast>();
      cast.to = *plan.dtype;
      attributes = Attributes::of(std::move(cast));
    }
    Values inputs = as_planned(node, plan, true);
    if (!keeps_outputs(node, attributes, inputs, options.math))
      inputs = as_planned(node, plan, false);
    const Value made = to_.add(*node.op, std::move(attributes), std::move(inputs), options);
    check_outputs(node, plan, made);
    return made;
  }

  // The inputs: chosen ones in the planned format, others in their old format. With `as_it_comes`,
  // ports with that format get the value unchanged.
  Values as_planned(const Node& node, const PlanEntry& plan, bool as_it_comes) {
    Values inputs;
    for (const auto& [i, value] : enumerate(node.inputs)) {
      const PortFormat format = node.op->input_port(i).format;
      const bool chosen = plan.dtype && format == PortFormat::chosen;
      if (value.is_absent())
        inputs.push_back(value);
      else if (as_it_comes && format == PortFormat::as_it_comes)
        inputs.push_back(read(value, node));
      else
        inputs.push_back(
            casting_.as(read(value, node), chosen ? *plan.dtype : from_.type(value).dtype));
    }
    return inputs;
  }

  std::optional<TensorTypes> infer(const Node& node, const Attributes& attributes,
                                   const Graph& graph, const Values& inputs) const {
    const Inference inference = inference_of(graph, *node.op, inputs);
    try {
      check_inputs(*node.op, inference);
      return node.op->infer(attributes.get(), inference);
    } catch (const UsageError&) {
      return {};
    }
  }

  static bool is_chosen(const Node& node, int output) {
    return node.is<Cast>() || node.op->output_port(output).format == PortFormat::chosen;
  }

  // Whether outputs whose format is not chosen keep their types, and a kernel takes the inputs.
  bool keeps_outputs(const Node& node, const Attributes& attributes, const Values& inputs,
                     Math math) const {
    const auto made = infer(node, attributes, to_, inputs);
    if (!made || made->size() != node.outputs.size()) return false;
    for (const auto& [o, type] : enumerate(*made))
      if (!is_chosen(node, o) && type != node.output(o).type) return false;
    return why_no_kernel(from_, node, {types_of(to_, inputs), *made, math}).empty();
  }

  void check_outputs(const Node& node, const PlanEntry& plan, Value made) const {
    for (const auto& [o, output] : enumerate(node.outputs)) {
      const DType before = output.type.dtype;
      const bool chosen = plan.dtype && is_chosen(node, o);
      const DType expected = chosen ? *plan.dtype : before;
      const DType got = to_.type({made.node, o}).dtype;
      require(got == expected, "precision: node '", node.full_name(), "': output ", o, " of ",
              node.op->full_name(), " is ", got, ", its plan says ", expected);
    }
  }

  struct RegionFormats {
    Formats inputs;
    std::vector<Formats> body_inputs, body_outputs;
  };

  RegionFormats region_formats(const Node& node, std::size_t regions) const {
    RegionFormats result{{}, std::vector<Formats>(regions), std::vector<Formats>(regions)};
    for (const RegionLink& link : links_of(node)) {
      const auto dtype = entry(link_name(prefix_, node, link)).dtype;
      if (!dtype) continue;
      for (const int i : link.inputs) result.inputs[i] = *dtype;
      for (const auto& [region, i] : link.body_inputs)
        result.body_inputs[region][static_cast<int>(i)] = *dtype;
      for (const auto& [region, o] : link.body_outputs)
        result.body_outputs[region][static_cast<int>(o)] = *dtype;
    }
    return result;
  }

  Value rewrite_region_op(const Node& node) {
    const auto names = region_names(node);
    const RegionFormats formats = region_formats(node, names.size());
    Values inputs;
    for (const auto& [i, value] : enumerate(node.inputs)) {
      const auto found = formats.inputs.find(i);
      const bool chosen = found != formats.inputs.end();
      inputs.push_back(
          value.is_absent()
              ? value
              : casting_.as(read(value, node), chosen ? found->second : from_.type(value).dtype));
    }
    std::size_t r = 0;
    Attributes attributes = map_regions(*node.op, node.attributes, [&](const Region& body) {
      Applier inside(*body, entries_, region_prefix(prefix_, node, names[r]));
      Graph changed = inside.run(formats.body_inputs[r], formats.body_outputs[r]);
      ++r;
      return std::make_shared<const Graph>(std::move(changed));
    });
    return to_.add(*node.op, std::move(attributes), std::move(inputs), options_of(node));
  }

  const Graph& from_;
  const Entries& entries_;
  std::string prefix_;
  Graph to_;
  Casting casting_;
  IndexedVector<int, int> map_;  // from_'s nodes to to_'s
  std::map<int, DType> input_formats_;
  std::map<int, Value> seen_;  // of from_'s parameters that have a format of their own
};

}  // namespace

Graph apply(const Graph& f32_graph, const PrecisionPlan& plan) {
  require_same_model(plan, f32_graph);
  Entries entries;
  for (const PlanEntry& entry : plan.entries) entries.emplace(entry.name, &entry);
  Graph applied = Applier(f32_graph, entries, "").run({}, {});
  const StateFormats kept = kept_formats(plan);
  return kept.empty() ? applied : drop_masters(applied, kept, plan.rounding);
}

}  // namespace narrowgauge
