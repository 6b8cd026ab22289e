// SPDX-License-Identifier: Apache-2.0
#include "ops/composition/interpret.h"

#include <algorithm>

#include "base/indexed_vector.h"
#include "ops/composition/check_offer.h"
#include "ops/composition/composite.h"

namespace narrowgauge {

Offer ask_kernels(const Request& request, bool reference, std::string_view only) {
  const auto kernels = is_composite(request.op) ? composite_kernels() : request.op.kernels();
  std::string reasons;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Kernel& kernel = kernels[reference ? kernels.size() - 1 - i : i];
    if (!only.empty() && kernel.name != only) continue;
    Offer offer = kernel.offer(request);
    if (offer) {
      if (offer.implementation.empty()) offer.implementation = kernel.name;
      return offer;
    }
    reasons += concat(reasons.empty() ? "" : "; ", kernel.name, ": ", offer.reason);
  }
  throw UsageError(concat("node '", request.name, "': no kernel of ", request.op.full_name(),
                          " takes it: ", reasons.empty() ? "it has none" : reasons));
}

Offer choose_kernel(const Request& request, bool reference, std::string_view only) {
  Offer offer = ask_kernels(request, reference, only);
  offer.get_ready();
  check_offer(request, offer);
  return offer;
}

namespace {

class Interpreter {
 public:
  Interpreter(const Graph& graph, std::span<const Tensor> inputs, const InterpretOptions& options)
      : graph_(graph), options_(options), values_(graph.nodes().size()) {
    require(inputs.size() == graph.inputs().size(), "graph ", graph.name(), ": takes ",
            graph.inputs().size(), " inputs, got ", inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Value value = graph.inputs()[i];
      require(inputs[i].type() == graph.type(value), "graph ", graph.name(), ": input '",
              graph.value_name(value), "' is ", graph.type(value), ", got ", inputs[i].type());
      values_[value.node] = {inputs[i]};
    }
  }

  std::vector<Tensor> run() {
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) run_node(i);
    if (options_.states)
      for (const State& state : graph_.states())
        (*options_.states)[state.name] = tensor_of(state.next).clone();
    std::vector<Tensor> results;
    for (const GraphOutput& output : graph_.outputs()) results.push_back(tensor_of(output.value));
    return results;
  }

 private:
  Tensor& tensor_of(Value value) {
    return values_[value.node].at(static_cast<std::size_t>(value.output));
  }

  Operand operand_of(Value value) const {
    const ValueInfo& info = graph_.info(value);
    Operand operand{info.type.dtype,
                    known_dims(info.type.shape),
                    {},
                    info.storage,
                    true,
                    graph_.constant_value(value)};
    if (info.storage.blocks.empty()) operand.strides = strides_of(operand.dims, info.storage);
    return operand;
  }

  void run_node(int index) {
    const Node& node = graph_.node(index);
    auto& made = values_[index];
    if (node.is<Input>()) return;
    if (node.is<Constant>()) {
      made = {node.as<Constant>().value};
      return;
    }
    if (node.is<StateValue>()) {
      const bool known = options_.states && options_.states->contains(node.name);
      require(known, "graph ", graph_.name(), ": state '", node.name, "' has no value");
      made = {options_.states->at(node.name)};
      return;
    }
    run_kernel(node, index, made);
  }

  void run_kernel(const Node& node, int index, std::vector<Tensor>& made) {
    std::vector<Operand> inputs, outputs;
    std::vector<View> in_views, out_views;
    for (const Value& value : node.inputs) {
      inputs.push_back(value.is_absent() ? Operand{.present = false} : operand_of(value));
      in_views.push_back({value.is_absent() ? nullptr : tensor_of(value).data()});
    }
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o) {
      outputs.push_back(operand_of({index, o}));
      const Operand& operand = outputs.back();
      const bool plain = operand.storage.is_plain();
      const Dims dims = plain ? operand.dims : Dims{stored_elements(operand.dims, operand.storage)};
      made.emplace_back(operand.dtype, dims);
      out_views.push_back({made.back().data()});
    }
    const Request request{*node.op, node.attributes, inputs,    outputs,
                          target_,  node.math,       node.name, options_.deterministic};
    const Offer offer = choose_kernel(request, options_.reference);
    for (const auto& [input, output] : offer.aliases) {
      const auto& source = tensor_of(node.input(input));
      Tensor& target = made[static_cast<std::size_t>(output)];
      std::copy_n(source.data(), source.bytes(), target.data());
    }
    if (!offer.aliases.empty()) return;
    Tensor workspace(DType::u8, {offer.workspace});
    offer.run({in_views, out_views, workspace.data(), {}, options_.context});
  }

  const Graph& graph_;
  const InterpretOptions& options_;
  const Target target_ = Target::machine();
  IndexedVector<int, std::vector<Tensor>> values_;  // the outputs of each node
};

}  // namespace

std::vector<Tensor> interpret(const Graph& graph, std::span<const Tensor> inputs,
                              const InterpretOptions& options) {
  return Interpreter(graph, inputs, options).run();
}

std::vector<Tensor> interpret_node(const Graph& graph, const Node& node,
                                   const InterpretOptions& options) {
  Graph single("constant");
  Values inputs;
  for (const Value& value : node.inputs)
    inputs.push_back(value.is_absent() ? absent : single.constant(*graph.constant_value(value)));
  const Value made = single.add(*node.op, node.attributes, inputs, {.name = node.name});
  for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o)
    single.output(concat(o), {made.node, o});
  return interpret(single, {}, options);
}

}  // namespace narrowgauge
