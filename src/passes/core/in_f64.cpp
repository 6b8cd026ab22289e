// SPDX-License-Identifier: Apache-2.0
#include "passes/core/in_f64.h"

#include <map>
#include <memory>

#include "ir/attributes.h"
#include "ops/pointwise/cast.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

namespace {

class AttributeWidener : public IgnoringVisitor {
 public:
  using IgnoringVisitor::operator();
  void operator()(std::string_view, DType& value) override {
    if (value == DType::f32) value = DType::f64;
  }
  void operator()(std::string_view, TensorType& value) override {
    if (value.dtype == DType::f32) value.dtype = DType::f64;
  }
  void operator()(std::string_view, Tensor& value) override {
    if (value.dtype() == DType::f32) value = value.cast(DType::f64);
  }
  void operator()(std::string_view, Region& value) override {
    if (value) value = std::make_shared<const Graph>(in_f64(*value));
  }
};

Attributes widened(const Node& node) {
  Attributes copy = node.op->clone(node.attributes);
  AttributeWidener widener;
  node.op->visit(copy.mutate(), widener);
  return copy;
}

class Widening {
 public:
  Widening(const Graph& graph, InputsInF64 inputs)
      : source_(graph), inputs_(inputs), rebuild_(graph) {}

  Graph run() {
    for (int i = 0; i < static_cast<int>(source_.nodes().size()); ++i) {
      const Node& node = source_.node(i);
      if (node.is<StateValue>())
        rebuild_.map({i, 0}, rebuild_.graph().state(state_of(node)));
      else if (node.is<Input>() && inputs_ == InputsInF64::kept)
        keep(i);
      else if (is_source(node))
        rebuild_.copy(i, widened(node), {});
      else
        add(i);
    }
    return rebuild_.finish();
  }

 private:
  void keep(int input) {
    rebuild_.copy(input, source_.node(input).attributes, {});
    widen_outputs(input);
  }

  State state_of(const Node& node) const {
    State state = *source_.find_state(node.name);
    if (state.type.dtype == DType::f32) state.type.dtype = DType::f64;
    if (state.initial.kind == Initial::Kind::data && state.initial.data.dtype() == DType::f32)
      state.initial.data = state.initial.data.cast(DType::f64);
    if (state.derivation)
      state.derivation = std::make_shared<const Graph>(in_f64(*state.derivation));
    return state;
  }

  // Adds the node in f64, or in f32 if its op cannot compute it otherwise.
  void add(int index) {
    const Node& node = source_.node(index);
    try {
      Values inputs;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const bool pinned = node.op->input_port(static_cast<int>(i)).type == "f32";
        inputs.push_back(pinned ? in_f32(node.inputs[i]) : rebuild_.mapped(node.inputs[i]));
      }
      rebuild_.copy(index, widened(node), std::move(inputs));
    } catch (const UsageError&) {
      Values inputs;
      for (const Value& input : node.inputs) inputs.push_back(in_f32(input));
      rebuild_.copy(index, node.attributes, std::move(inputs));
    }
    widen_outputs(index);
  }

  void widen_outputs(int index) {
    const Node& node = source_.node(index);
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o) {
      const Value made = rebuild_.mapped(Value{index, o});
      if (rebuild_.graph().type(made).dtype == DType::f32)
        rebuild_.map({index, o}, cast(made, DType::f64));
    }
  }

  // The value as it was in the source: f32 where it was that.
  Value in_f32(Value old) {
    const Value now = rebuild_.mapped(old);
    if (now.is_absent() || source_.type(old).dtype != DType::f32) return now;
    Value& narrow = narrow_[old];
    if (!narrow.is_absent()) return narrow;
    const Tensor* const constant = source_.constant_value(old);
    return narrow = constant ? rebuild_.graph().constant(*constant, name_of(now, DType::f32))
                             : cast(now, DType::f32);
  }

  std::string name_of(Value value, DType dtype) {
    Graph& graph = rebuild_.graph();
    return graph.unique_name(concat(graph.value_name(value), '/', dtype));
  }

  Value cast(Value value, DType dtype) {
    NodeOptions options = options_of(rebuild_.graph().producer(value));
    options.name = name_of(value, dtype);
    options.storages = {rebuild_.graph().info(value).storage};
    return rebuild_.graph().add(Cast{.to = dtype}, {value}, std::move(options));
  }

  const Graph& source_;
  InputsInF64 inputs_;
  Rebuild rebuild_;
  std::map<Value, Value> narrow_;
};

}  // namespace

Graph in_f64(const Graph& graph, InputsInF64 inputs) { return Widening(graph, inputs).run(); }

}  // namespace narrowgauge
