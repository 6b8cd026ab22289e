// SPDX-License-Identifier: Apache-2.0
// One sample of one op, made concrete: its dtype chosen, its tensors filled with values that
// depend on nothing but names.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "groups/fused.h"
#include "ir/attributes.h"
#include "ir/ports.h"
#include "narrowgauge/graph.h"
#include "ops/table.h"
#include "samples/samples.h"

namespace narrowgauge::testing_support {

struct CaseInput {
  Tensor tensor;
  bool present = true, constant = false;
};

struct SampleCase {
  const OpRecord* op = nullptr;
  Attributes attributes;
  std::vector<CaseInput> inputs;
  std::string text;  // for messages

  // A graph of this one node: its values come from inputs, or from constants where the sample says
  // so. Throws what Graph::add throws.
  Graph graph() const {
    Graph graph;
    graph.add(*op, attributes, add_inputs(graph), {.name = "tested"});
    for (std::size_t o = 0; o < graph.nodes().back().outputs.size(); ++o)
      graph.output(concat("out", o), Value{graph.find_node("tested"), static_cast<int>(o)});
    return graph;
  }
  Values add_inputs(Graph& graph) const {
    Values values;
    for (const CaseInput& input : inputs) {
      const std::string name = concat("in", values.size());
      if (!input.present)
        values.push_back(absent);
      else if (input.constant)
        values.push_back(graph.constant(input.tensor, name));
      else
        values.push_back(graph.input(name, input.tensor.type()));
    }
    return values;
  }
  std::vector<Tensor> fed() const {
    std::vector<Tensor> tensors;
    for (const CaseInput& input : inputs)
      if (input.present && !input.constant) tensors.push_back(input.tensor);
    return tensors;
  }
};

// Uniform in [low, high]; whole numbers unless floating.
inline Tensor random_tensor(const SampleInput& input, DType dtype, const std::string& name) {
  Tensor tensor(dtype, known_dims(input.type.shape));
  const RandomStream stream(17, name);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double u = stream.uniform(static_cast<std::uint64_t>(i));
    const double value = is_floating(dtype)
                             ? input.low + u * (input.high - input.low)
                             : std::floor(input.low + u * (input.high - input.low + 1));
    tensor.set(i, value);
  }
  return tensor;
}

// f32 in attributes and regions becomes another dtype. Inside a fused group narrow values are f32.
class Retyper : public IgnoringVisitor {
 public:
  explicit Retyper(DType dtype) : dtype_(dtype) {}
  using IgnoringVisitor::operator();
  void operator()(std::string_view name, std::string& value) override {
    if (name != "dtypes") return;  // of Fused: "f32,f32"
    std::string renamed;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const bool here = value.compare(i, 3, "f32") == 0;
      renamed += here ? std::string(narrowgauge::name(dtype_)) : std::string(1, value[i]);
      i += here ? 2 : 0;
    }
    value = renamed;
    dtype_ = inside_dtype(dtype_);
  }
  void operator()(std::string_view, TensorType& value) override {
    if (value.dtype == DType::f32) value.dtype = dtype_;
  }
  void operator()(std::string_view, Tensor& value) override {
    if (value.dtype() == DType::f32) value = value.cast(dtype_);
  }
  void operator()(std::string_view, Region& value) override {
    if (value) value = std::make_shared<const Graph>(retyped(*value));
  }
  Attributes apply(const OpRecord& op, const Attributes& attributes) {
    Attributes copy = op.clone(attributes);
    op.visit(copy.mutate(), *this);
    return copy;
  }

 private:
  Graph retyped(const Graph& body) const {
    Graph result(body.name());
    for (const Node& node : body.nodes()) {
      const Attributes attributes = Retyper(dtype_).apply(*node.op, node.attributes);
      if (node.is<Input>())
        result.input(node.name, attributes.as<Input>().type);
      else
        result.add(*node.op, attributes, node.inputs, {.name = node.name});
    }
    for (const GraphOutput& output : body.outputs()) result.output(output.name, output.value);
    return result;
  }
  DType dtype_;
};

// Which inputs follow the dtype under test: in f64 all, else those of the variable T (or of an op
// without one), as precision colours them.
inline bool follows(const OpRecord& op, const Port& port, DType dtype) {
  if (!port_accepts(op, port, dtype)) return false;
  if (dtype == DType::f64 || port.type == "T" || port.type == "any") return true;
  for (const auto* ports : {&op.inputs, &op.outputs})
    for (const Port& other : *ports)
      if (other.type == "T") return false;
  return is_type_variable(port.type);
}

// The sample in `dtype`; empty where the op does not take it, or the sample has no f32 to replace.
inline std::optional<SampleCase> make_case(const OpRecord& op, std::size_t index, DType dtype) {
  const ErasedSample sample = samples_of(op).at(index);
  SampleCase result{&op, Retyper(dtype).apply(op, sample.attributes), {}, {}};
  bool any = dtype == DType::f32;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const SampleInput& input = sample.inputs[i];
    CaseInput made{{}, input.present, input.constant.has_value()};
    const bool follow = input.present && input.type.dtype == DType::f32 &&
                        follows(op, op.input_port(static_cast<int>(i)), dtype);
    any = any || follow;
    const DType chosen = follow ? dtype : input.type.dtype;
    if (made.constant)
      made.tensor = input.constant->cast(chosen);
    else if (input.present)
      made.tensor = random_tensor(input, chosen, concat(op.full_name(), index, '/', i));
    result.inputs.push_back(std::move(made));
  }
  if (!any) return std::nullopt;
  result.text = concat(op.full_name(), " sample ", index, " in ", dtype, ", ",
                       print_attributes(op, result.attributes));
  try {
    result.graph();
  } catch (const UsageError&) {
    if (dtype == DType::f32) throw;
    return std::nullopt;
  }
  return result;
}

// Calls use(case) for every sample that exists in `dtype`; returns how many there are.
inline int for_each_case(const OpRecord& op, DType dtype,
                         const std::function<void(const SampleCase&)>& use) {
  int count = 0;
  for (std::size_t i = 0; i < samples_of(op).size(); ++i)
    if (const auto made = make_case(op, i, dtype)) {
      SCOPED_TRACE(made->text);
      use(*made);
      ++count;
    }
  return count;
}

// A test per op: INSTANTIATE_TEST_SUITE_P(AllOps, Suite, ops_where(holds), op_name).
using OpTest = ::testing::TestWithParam<const OpRecord*>;
inline auto ops_where(bool (*holds)(const OpRecord&)) {
  std::vector<const OpRecord*> chosen;
  for (const OpRecord* op : op_table().all())
    if (holds(*op)) chosen.push_back(op);
  return ::testing::ValuesIn(chosen);
}
// All but those that stand for what comes from outside.
inline auto all_ops() {
  return ops_where([](const OpRecord& op) { return !op.kernels().empty(); });
}
inline std::string op_name(const ::testing::TestParamInfo<const OpRecord*>& info) {
  std::string name = info.param->full_name();
  for (char& c : name)
    if (c == '.') c = '_';
  return name;
}

}  // namespace narrowgauge::testing_support
