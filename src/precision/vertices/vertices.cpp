// SPDX-License-Identifier: Apache-2.0
#include "precision/vertices/vertices.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/enumerate.h"
#include "base/indexed_vector.h"
#include "ir/attributes.h"
#include "ir/inference.h"
#include "ir/ports.h"
#include "ops/pointwise/cast.h"
#include "ops/table.h"
#include "ops/units/unit_choice.h"
#include "precision/vertices/kernels_take.h"
#include "precision/vertices/region_links.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {

// The types of the node with T of another dtype; nothing where it does not exist so.
std::optional<PlannedTypes> types_with(const PrecisionVertex& vertex, DType other) {
  const Node& node = *vertex.node;
  PlannedTypes planned{types_of(*vertex.graph, node.inputs), {}, math_contract(vertex, other, {})};
  for (const auto& [i, type] : enumerate(planned.inputs))
    if (type && node.op->input_port(i).format == PortFormat::chosen) type->dtype = other;
  const Inference inference = inference_of(*vertex.graph, *node.op, node.inputs, planned.inputs);
  try {
    check_inputs(*node.op, inference);
    planned.outputs = node.op->infer(node.attributes.get(), inference);
  } catch (const UsageError&) {
    return {};
  }
  if (planned.outputs.size() != node.outputs.size()) return {};
  for (const auto& [o, type] : enumerate(planned.outputs)) {
    TensorType expected = node.output(o).type;
    if (node.op->output_port(o).format == PortFormat::chosen) expected.dtype = other;
    if (type != expected) return {};
  }
  return planned;
}

}  // namespace

bool PrecisionVertex::takes(DType other) const {
  return kind != Kind::node || (types_with(*this, other) && why_no_kernel(other).empty());
}

std::string PrecisionVertex::why_no_kernel(DType other) const {
  if (kind != Kind::node || is_built_in(*node->op)) return "";
  const std::optional<PlannedTypes> planned = types_with(*this, other);
  return planned ? narrowgauge::why_no_kernel(*graph, *node, *planned) : "";
}

std::optional<PrecisionRule> nothing_to_choose(const PrecisionVertex& vertex) {
  using Kind = PrecisionVertex::Kind;
  if (vertex.kind == Kind::source) return PrecisionRule::source;
  if (vertex.kind == Kind::region) return PrecisionRule::region;
  if (!vertex.dtype) return PrecisionRule::pinned_type;
  if (*vertex.dtype != DType::f32) return PrecisionRule::not_f32;
  return {};
}

namespace {

bool is_simulated_dtype(Math math, DType dtype) {
  if (dtype == DType::f64) return multiplies_f64(math);
  return is_f32_or_narrow(dtype);
}

}  // namespace

Math math_contract(const PrecisionVertex& vertex, std::optional<DType> dtype, Math f32_math) {
  if (vertex.kind != PrecisionVertex::Kind::node) return Math::none;
  if (vertex.node->op->info.fusion != Fusion::contraction) return Math::none;
  if (!dtype) dtype = vertex.dtype;
  if (is_simulated(f32_math) && dtype && is_simulated_dtype(f32_math, *dtype)) {
    unit_model(f32_math, *dtype);  // throws where the unit has no such format
    return f32_math;
  }
  if (dtype == DType::f32) return f32_math;
  if (dtype == DType::f16) return Math::f16;
  if (dtype == DType::bf16) return Math::bf16;
  return dtype == DType::f64 ? Math::ieee : Math::none;
}

namespace {

class VertexBuilder {
 public:
  using Makers = std::map<Value, int>;  // the vertex behind a value; no entry: none

  explicit VertexBuilder(bool with_other_types) : with_other_types_(with_other_types) {}

  std::vector<PrecisionVertex> build(const Graph& graph) {
    const Makers makers = add_graph(graph, "", {});
    const auto preserve = [&](Value value) {
      if (const auto maker = makers.find(value); maker != makers.end())
        at(maker->second).preserved = true;
    };
    for (const GraphOutput& output : graph.outputs()) preserve(output.value);
    for (const State& state : graph.states()) preserve(state.next);
    check_names();
    return std::move(vertices_).release();
  }

 private:
  using OtherTypes = std::map<std::string, int>;  // vertices of a node's types other than T

  PrecisionVertex& at(int vertex) { return vertices_[vertex]; }

  int add_vertex(std::string name, PrecisionVertex::Kind kind, const Graph& graph,
                 const Node& node) {
    PrecisionVertex vertex;
    vertex.graph = &graph;
    vertex.name = std::move(name);
    vertex.kind = kind;
    vertex.node = &node;
    return vertices_.add(std::move(vertex));
  }

  void connect(const Makers& makers, Value value, int consumer) {
    const auto maker = makers.find(value);
    if (maker == makers.end() || maker->second == consumer) return;
    at(maker->second).consumers.push_back(consumer);
    at(consumer).producers.push_back(maker->second);
  }

  void use(const Makers& makers, Value value) {
    if (const auto maker = makers.find(value); maker != makers.end())
      at(maker->second).used_otherwise = true;
  }

  // `makers` comes with the links behind the graph's inputs and is returned with all values.
  Makers add_graph(const Graph& graph, const std::string& prefix, Makers makers) {
    for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
      const Node& node = graph.node(i);
      if (node.op->region_ports)
        add_region_op(graph, i, prefix, makers);
      else
        add_node(graph, i, prefix, makers);
    }
    return makers;
  }

  static PrecisionVertex::Kind kind_of(const Node& node) {
    using Kind = PrecisionVertex::Kind;
    if (node.is<Cast>()) return Kind::cast;
    return is_source(node) ? Kind::source : Kind::node;
  }

  void add_node(const Graph& graph, int index, const std::string& prefix, Makers& makers) {
    const Node& node = graph.node(index);
    const int self = add_vertex(prefix + node.full_name(), kind_of(node), graph, node);
    OtherTypes others;
    for (const auto& [i, value] : enumerate(node.inputs)) {
      if (value.is_absent()) continue;
      const Port& port = node.op->input_port(i);
      if (at(self).kind == PrecisionVertex::Kind::node && port.format == PortFormat::chosen) {
        at(self).dtype = graph.type(value).dtype;
        connect(makers, value, self);
      } else if (has_other_vertex(self, graph.type(value).dtype)) {
        connect(makers, value, other_vertex(self, port.type, others));
      } else {
        use(makers, value);
      }
    }
    if (at(self).kind == PrecisionVertex::Kind::cast) {
      at(self).dtype = node.outputs[0].type.dtype;
      makers[{index, 0}] = self;
    }
    if (at(self).kind != PrecisionVertex::Kind::node) return;
    for (const auto& [o, output] : enumerate(node.outputs)) {
      const Port& port = node.op->output_port(o);
      const bool chosen = port.format == PortFormat::chosen;
      if (chosen && at(self).dtype)
        makers[{index, o}] = self;
      else if (!chosen && has_other_vertex(self, output.type.dtype))
        makers[{index, o}] = other_vertex(self, port.type, others);
    }
  }

  bool has_other_vertex(int node, DType dtype) {
    return with_other_types_ && at(node).kind == PrecisionVertex::Kind::node && is_floating(dtype);
  }

  // The vertex of the ports of this type, made if the node has none.
  int other_vertex(int node, const std::string& type, OtherTypes& others) {
    const auto [found, is_new] = others.emplace(type, vertices_.size());
    if (is_new) {
      const PrecisionVertex& owner = at(node);
      add_vertex(owner.name, owner.kind, *owner.graph, *owner.node);
      vertices_.back().owner = node;
    }
    return found->second;
  }

  void add_region_op(const Graph& graph, int index, const std::string& prefix, Makers& makers) {
    const Node& node = graph.node(index);
    add_vertex(prefix + node.full_name(), PrecisionVertex::Kind::region, graph, node);
    const auto links = links_of(node);
    const auto regions = regions_of(node);
    std::vector<Makers> inside(regions.size());
    std::vector<int> vertices;
    std::set<int> linked;
    for (const RegionLink& link : links) {
      const int self =
          add_vertex(link_name(prefix, node, link), PrecisionVertex::Kind::link, graph, node);
      vertices.push_back(self);
      at(self).dtype = link_dtype(graph, node, link);
      linked.insert(link.inputs.begin(), link.inputs.end());
      for (const int i : link.inputs) connect(makers, node.input(i), self);
      for (const RegionLink::End& end : link.body_inputs)
        inside[end.region][regions[end.region]->inputs()[end.index]] = self;
      for (const int o : link.outputs) makers[{index, o}] = self;
    }
    for (const auto& [i, value] : enumerate(node.inputs))
      if (!linked.contains(i)) use(makers, value);
    const auto names = region_names(node);
    for (std::size_t r = 0; r < regions.size(); ++r)
      inside[r] =
          add_graph(*regions[r], region_prefix(prefix, node, names[r]), std::move(inside[r]));
    for (std::size_t l = 0; l < links.size(); ++l)
      for (const RegionLink::End& end : links[l].body_outputs)
        connect(inside[end.region], regions[end.region]->outputs()[end.index].value, vertices[l]);
  }

  static std::optional<DType> link_dtype(const Graph& graph, const Node& node,
                                         const RegionLink& link) {
    if (!link.inputs.empty()) {
      const Value value = node.input(link.inputs.front());
      return value.is_absent() ? std::nullopt : std::optional(graph.type(value).dtype);
    }
    return node.output(link.outputs.front()).type.dtype;
  }

  void check_names() const {
    std::set<std::string_view> names;
    for (const PrecisionVertex& vertex : vertices_)
      require<ModelError>(vertex.owner >= 0 || names.insert(vertex.name).second,
                          "precision: two places of the model ", "are called '", vertex.name, "'");
  }

  bool with_other_types_;
  IndexedVector<int, PrecisionVertex> vertices_;
};

}  // namespace

std::vector<PrecisionVertex> precision_vertices(const Graph& graph) {
  return VertexBuilder(false).build(graph);
}

std::vector<PrecisionVertex> colouring_vertices(const Graph& graph) {
  return VertexBuilder(true).build(graph);
}

}  // namespace narrowgauge
