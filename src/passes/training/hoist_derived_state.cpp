// SPDX-License-Identifier: Apache-2.0
#include "passes/training/hoist_derived_state.h"

#include <map>
#include <utility>

#include "ir/attributes.h"
#include "ops/pointwise/cast.h"
#include "passes/core/rebuild.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {

// The output of a node that can hold a rounded copy of its output 0; -1 if the op has none.
int narrow_port(const OpRecord& op) {
  for (std::size_t i = 0; i < op.outputs.size(); ++i)
    if (op.outputs[i].name == "narrow_weight") return static_cast<int>(i);
  return -1;
}

struct Copy {
  int cast = -1;  // the first Cast of this parameter to this dtype
  const State* source = nullptr;
  DType dtype = DType::f16;
  std::string name() const { return concat(source->name, '.', dtype); }
};

const State* state_of(const Graph& graph, Value value) {
  return graph.producer(value).is<StateValue>() ? graph.find_state(graph.producer(value).name)
                                                : nullptr;
}

std::vector<Copy> find_copies(const Graph& graph, std::map<int, std::size_t>& copy_of_cast) {
  std::vector<Copy> copies;
  std::map<std::pair<const State*, DType>, std::size_t> known;
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    if (!node.is<Cast>()) continue;
    const State* state = state_of(graph, node.inputs[0]);
    if (!state || state->role != Role::parameter) continue;
    const DType to = node.outputs[0].type.dtype;
    // Updates round their copy to nearest even, as a Cast does only for these two formats.
    if (!is_narrow(to)) continue;
    const auto [place, is_new] = known.try_emplace({state, to}, copies.size());
    copy_of_cast[i] = place->second;
    if (is_new) copies.push_back({i, state, to});
  }
  return copies;
}

Region derivation_of(const Copy& copy) {
  Graph body(copy.name());
  const Value source = body.input("source", copy.source->type);
  body.output("copy", body.add(Cast{.to = copy.dtype}, {source}));
  return std::make_shared<const Graph>(std::move(body));
}

State state_of_copy(const Copy& copy) {
  State state;
  state.name = copy.name();
  state.role = Role::derived;
  state.type = {copy.dtype, copy.source->type.shape};
  state.derivation = derivation_of(copy);
  state.derived_from = {copy.source->name};
  return state;
}

// The update nodes that also write a copy, with its dtype; one copy for each update.
std::map<int, DType> find_writers(const Graph& graph, const std::vector<Copy>& copies) {
  std::map<int, DType> writers;
  for (const Copy& copy : copies) {
    const Value next = copy.source->next;
    if (next != copy.source->current && narrow_port(*graph.producer(next).op) >= 0)
      writers.try_emplace(next.node, copy.dtype);
  }
  return writers;
}

void connect_next(Rebuild& rebuild, const Copy& copy, const std::map<int, DType>& writers) {
  const Value next = copy.source->next;
  if (next == copy.source->current) return;
  const Value updated = rebuild.mapped(next);
  const auto writer = writers.find(next.node);
  const bool written = writer != writers.end() && writer->second == copy.dtype;
  const Value narrow = written
                           ? Value{updated.node, narrow_port(*rebuild.graph().producer(updated).op)}
                           : rebuild.graph().add(Cast{.to = copy.dtype}, {updated},
                                                 {.name = copy.name() + ".next",
                                                  .origin = copy.source->name,
                                                  .phase = Phase::update});
  rebuild.graph().set_next(copy.name(), narrow);
}

}  // namespace

Graph hoist_derived_state(const Graph& graph) {
  std::map<int, std::size_t> copy_of_cast;
  const std::vector<Copy> copies = find_copies(graph, copy_of_cast);
  const std::map<int, DType> writers = find_writers(graph, copies);
  Rebuild rebuild(graph);
  std::map<std::size_t, Value> made;
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    if (const auto cast = copy_of_cast.find(i); cast != copy_of_cast.end()) {
      Value& state = made[cast->second];
      if (state.is_absent()) state = rebuild.graph().state(state_of_copy(copies[cast->second]));
      rebuild.map({i, 0}, state);
      continue;
    }
    const Node& node = graph.node(i);
    const auto writer = writers.find(i);
    rebuild.copy(i,
                 writer == writers.end()
                     ? node.attributes
                     : with_dtype(*node.op, node.attributes, "narrow", writer->second),
                 rebuild.mapped(node.inputs));
  }
  for (const Copy& copy : copies) connect_next(rebuild, copy, writers);
  return rebuild.finish();
}

}  // namespace narrowgauge
