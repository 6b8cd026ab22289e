// SPDX-License-Identifier: Apache-2.0
#include "passes/training/differentiate.h"

#include <algorithm>
#include <map>
#include <new>
#include <set>

#include "base/enumerate.h"
#include "base/indexed_vector.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

namespace {

NodeScope backward_of(const Node& node) {
  return {node.name + ".gradient/", node.full_name(), Phase::backward, node.autocast};
}

class Differentiator {
 public:
  // Nodes before `first_node` are not differentiated: their values count as independent.
  Differentiator(Graph& graph, std::span<const Value> with_respect_to, int first_node = 0)
      : graph_(graph),
        first_node_(first_node),
        forward_nodes_(static_cast<int>(graph.nodes().size())),
        depends_(forward_nodes_),
        wanted_(with_respect_to.begin(), with_respect_to.end()) {
    mark_dependents();
  }

  void seed(Value output, Value gradient) {
    require(graph_.type(output) == graph_.type(gradient), "gradient: the seed of '",
            graph_.value_name(output), "' must be ", graph_.type(output), ", got ",
            graph_.type(gradient));
    if (depends(output)) contribute(output, gradient);
  }

  void run() {
    for (int i = forward_nodes_ - 1; i >= first_node_; --i) visit(i);
    graph_.set_scope({});
  }

  // The sum of all gradients of a value so far; absent if there are none.
  Value total(Value value) {
    const auto found = contributions_.find(value);
    if (found == contributions_.end()) return absent;
    Values& parts = found->second;
    Value sum = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) {
      graph_.set_scope(backward_of(graph_.producer(value)));
      sum = graph_.add(Add{}, {sum, parts[i]});
    }
    parts = {sum};
    return sum;
  }

 private:
  // Marks the values that change when the wanted ones do.
  void mark_dependents() {
    for (int i = first_node_; i < forward_nodes_; ++i) {
      const std::vector<bool> flows = inputs_that_flow(graph_.node(i));
      depends_[i] = std::find(flows.begin(), flows.end(), true) != flows.end();
    }
  }

  bool depends(Value value) const {
    if (value.node >= forward_nodes_) return false;
    return depends_[value.node] || wanted_.contains(value);
  }

  // Whether gradients flow back to each input.
  std::vector<bool> inputs_that_flow(const Node& node) const {
    std::vector<bool> flows;
    for (const auto& [port, value] : enumerate(node.inputs))
      flows.push_back(!value.is_absent() && node.op->input_port(port).differentiable &&
                      is_floating(graph_.type(value).dtype) && depends(value));
    return flows;
  }

  void contribute(Value value, Value gradient) { contributions_[value].push_back(gradient); }

  void visit(int index) {
    if (!depends_[index]) return;
    Values output_gradients;
    bool any = false;
    for (int o = 0; o < static_cast<int>(graph_.node(index).outputs.size()); ++o) {
      output_gradients.push_back(total({index, o}));
      any = any || !output_gradients.back().is_absent();
    }
    if (any) backward(index, std::move(output_gradients));
  }

  void backward(int index, Values output_gradients) {
    const Node node = graph_.node(index);  // a copy: the graph grows
    if (!node.op->gradient && !node.op->decompose)
      throw ModelError(concat("node '", node.full_name(), "': op ", node.op->full_name(),
                              " has no gradient", advice_to_freeze(index)));
    const std::vector<bool> wanted = inputs_that_flow(node);
    Values outputs;
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o) outputs.push_back({index, o});
    graph_.set_scope(backward_of(node));
    if (!node.op->gradient) {
      through_decomposition(node, output_gradients, wanted);
      return;
    }
    Gradient context(graph_, node.inputs, outputs, output_gradients, wanted, differentiate_region);
    accept(node, gradient_of(node, context), wanted);
  }

  // An op of the program may throw anything.
  static Values gradient_of(const Node& node, Gradient& context) {
    if (is_built_in(*node.op)) return node.op->gradient(node.attributes.get(), context);
    try {
      return node.op->gradient(node.attributes.get(), context);
    } catch (const UnknownValueError&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      throw UsageError(concat("node '", node.full_name(), "': gradient() of ", node.op->full_name(),
                              " failed: ", error.what()));
    }
  }

  // Which of the wanted values reach the node: without these, the others have gradients.
  std::string advice_to_freeze(int index) const {
    std::vector<bool> reaches(static_cast<std::size_t>(index) + 1);
    reaches.back() = true;
    std::vector<std::string> names;
    for (int i = index; i >= first_node_; --i) {
      const auto place = static_cast<std::size_t>(i);
      if (!reaches[place]) continue;
      for (const Value input : graph_.node(i).inputs)
        if (!input.is_absent()) reaches[static_cast<std::size_t>(input.node)] = true;
      if (wanted_.contains(Value{i, 0})) names.push_back(graph_.value_name({i, 0}));
    }
    if (names.empty()) return "";
    const std::string others = names.size() > 1 ? concat(" to '", names.front(), '\'') : "";
    return concat("; freezing what it is computed from, '", names.back(), '\'', others, " (",
                  names.size(), "), would let the others train");
  }

  // The gradient of an op without its own, through its primitives. Its inputs are independent here,
  // whatever computed them; an input given twice gets the whole gradient once.
  void through_decomposition(const Node& node, const Values& output_gradients,
                             const std::vector<bool>& wanted) {
    Values sources;
    for (std::size_t k = 0; k < wanted.size(); ++k)
      if (wanted[k]) sources.push_back(node.inputs[k]);
    const int first_primitive = static_cast<int>(graph_.nodes().size());
    Rewriting rewriting(graph_, node.inputs, {});
    const Values primitives = node.op->decompose(node.attributes.get(), rewriting);
    require(primitives.size() == node.outputs.size() || is_built_in(*node.op), "node '",
            node.full_name(), "': decompose() of ", node.op->full_name(), " gives ",
            primitives.size(), " values for ", node.outputs.size(), " outputs");
    Differentiator inner(graph_, sources, first_primitive);
    for (std::size_t o = 0; o < output_gradients.size(); ++o)
      if (!output_gradients[o].is_absent()) inner.seed(primitives.at(o), output_gradients[o]);
    inner.run();
    Values all(node.inputs.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const auto before = node.inputs.begin() + static_cast<std::ptrdiff_t>(k);
      const bool again = std::find(node.inputs.begin(), before, *before) != before;
      if (wanted[k] && !again) all[k] = inner.total(*before);
    }
    accept(node, all, wanted);
  }

  void accept(const Node& node, const Values& gradients, const std::vector<bool>& wanted) {
    const auto check = [&](bool holds, const auto&... message) {
      require(holds, "node '", node.full_name(), "': gradient() of ", node.op->full_name(),
              " gives ", message...);
    };
    const std::size_t most = std::max(node.inputs.size(), node.op->inputs.size());
    check(gradients.size() >= node.inputs.size() && gradients.size() <= most, gradients.size(),
          " values for ", node.inputs.size(), " inputs");
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (!wanted[k] || gradients[k].is_absent()) continue;
      graph_.require_own(gradients[k], concat("node '", node.full_name(), "': gradient() of ",
                                              node.op->full_name(), " gives for input ", k));
      const TensorType &given = graph_.type(gradients[k]), &type = graph_.type(node.inputs[k]);
      check(given == type, given, " for input ", k, ", which is ", type);
      contribute(node.inputs[k], gradients[k]);
    }
  }

  Graph& graph_;
  int first_node_, forward_nodes_;
  IndexedVector<int, bool> depends_;
  std::set<Value> wanted_;
  std::map<Value, Values> contributions_;
};

// Zeros of a type whose shape may contain symbols.
Value zeros(Graph& graph, const TensorType& type) {
  return graph.add(ExpandTo{type.shape}, {graph.constant(Tensor::scalar(type.dtype, 0))});
}

}  // namespace

Values append_gradients(Graph& graph, std::span<const Value> outputs, std::span<const Value> seeds,
                        std::span<const Value> with_respect_to) {
  NG_INVARIANT(outputs.size() == seeds.size());
  const NodeScope around = graph.scope();
  Differentiator differentiator(graph, with_respect_to);
  for (std::size_t i = 0; i < outputs.size(); ++i) differentiator.seed(outputs[i], seeds[i]);
  differentiator.run();
  Values gradients;
  for (const Value& value : with_respect_to) gradients.push_back(differentiator.total(value));
  graph.set_scope(around);
  return gradients;
}

namespace {

// The nodes from which a value is computed.
IndexedVector<int, bool> nodes_behind(const Graph& graph, Value output) {
  IndexedVector<int, bool> used(graph.nodes().size());
  used[output.node] = true;
  for (int i = output.node; i >= 0; --i)
    for (const Value input : graph.node(i).inputs)
      if (used[i] && !input.is_absent()) used[input.node] = true;
  return used;
}

bool is_step(const Node& node) {
  return node.op->info.fusion == Fusion::elementwise && is_floating(node.outputs[0].type.dtype);
}

}  // namespace

Blocked why_blocked(const Graph& graph, Value output, Value wanted) {
  const IndexedVector<int, bool> used = nodes_behind(graph, output);
  Blocked blocked{.reaches = used[wanted.node]};
  IndexedVector<int, bool> computed(graph.nodes().size());
  computed[wanted.node] = true;
  for (int i = wanted.node + 1; i <= output.node; ++i) {
    const Node& node = graph.node(i);
    for (const auto& [port, input] : enumerate(node.inputs)) {
      if (!used[i] || input.is_absent() || !computed[input.node]) continue;
      computed[i] = true;
      const bool flows = node.op->input_port(static_cast<int>(port)).differentiable;
      if (!flows && !is_step(node) && blocked.node < 0) blocked.node = i;
    }
  }
  return blocked;
}

Graph differentiate(const Graph& source) {
  Graph graph = source;
  const Value output = graph.outputs().at(0).value;
  Values wanted;
  for (const Value& input : graph.inputs())
    if (is_floating(graph.type(input).dtype)) wanted.push_back(input);
  const Value seed = graph.input("gradient", graph.type(output));
  const Value outputs[] = {output}, seeds[] = {seed};
  const Values gradients = append_gradients(graph, outputs, seeds, wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    graph.output("gradient/" + graph.value_name(wanted[i]),
                 gradients[i].is_absent() ? zeros(graph, graph.type(wanted[i])) : gradients[i]);
  return graph;
}

Region differentiate_region(const Region& body, std::span<const int> outputs,
                            std::span<const int> inputs) {
  Rebuild rebuild(*body);
  for (int i = 0; i < static_cast<int>(body->nodes().size()); ++i) rebuild.copy(i);
  Graph& graph = rebuild.graph();
  Values of, seeds, wanted;
  for (const int o : outputs) {
    of.push_back(rebuild.mapped(body->outputs().at(static_cast<std::size_t>(o)).value));
    seeds.push_back(graph.input(graph.unique_name(concat("gradient.", o)), graph.type(of.back())));
  }
  for (const int i : inputs)
    wanted.push_back(rebuild.mapped(body->inputs().at(static_cast<std::size_t>(i))));
  const Values gradients = append_gradients(graph, of, seeds, wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    graph.output(concat("gradient.", inputs[i]),
                 gradients[i].is_absent() ? zeros(graph, graph.type(wanted[i])) : gradients[i]);
  graph.set_name(body->name() + ".gradient");
  return std::make_shared<const Graph>(std::move(graph));
}

}  // namespace narrowgauge
