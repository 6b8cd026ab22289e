// SPDX-License-Identifier: Apache-2.0
// Sequences and optionals. How long they are, and whether there is something in them, is known
// while the model is imported, so that nothing of them is left in the graph.
#include <algorithm>

#include "base/enumerate.h"
#include "io/onnx/import/handlers.h"
#include "io/onnx/import/importer.h"
#include "ops/axes/axes.h"
#include "ops/shape/concat.h"
#include "ops/shape/views.h"

namespace narrowgauge::onnx {

namespace {

Items sequence_elements(NodeImport& node, int input) {
  Item item = node.item(input);
  require<ModelError>(item.kind == Item::Kind::sequence, "input ", input, " must be a sequence");
  return std::move(item.elements);
}

// The whole number that an input holds.
std::int64_t number(NodeImport& node, int input) {
  const Dims values = integers_of(node.constant(input));
  require<ModelError>(values.size() == 1, "input ", input, " must be one number, got ", values);
  return values[0];
}

// A place among `size`; negative ones count from the end.
std::size_t place(NodeImport& node, int input, std::size_t size) {
  return normalize_axis(node.node().op_type, number(node, input), size);
}

Item truth(NodeImport& node, bool value) {
  return Item::of(node.constant(Tensor::scalar(DType::boolean, value ? 1 : 0)));
}

Items sequence_empty(NodeImport&) { return {Item::sequence({})}; }

Items sequence_construct(NodeImport& node) {
  Items elements;
  for (int i = 0; i < node.input_count(); ++i) elements.push_back(node.item(i));
  return {Item::sequence(std::move(elements))};
}

Items sequence_insert(NodeImport& node) {
  Items elements = sequence_elements(node, 0);
  // Behind the last is a place too.
  const std::size_t at = node.has_input(2) && number(node, 2) != std::ssize(elements)
                             ? place(node, 2, elements.size())
                             : elements.size();
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(at), node.item(1));
  return {Item::sequence(std::move(elements))};
}

Items sequence_erase(NodeImport& node) {
  Items elements = sequence_elements(node, 0);
  require<ModelError>(!elements.empty(), "the sequence has no element to take away");
  const std::size_t at = node.has_input(1) ? place(node, 1, elements.size()) : elements.size() - 1;
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(at));
  return {Item::sequence(std::move(elements))};
}

Items sequence_at(NodeImport& node) {
  const Items elements = sequence_elements(node, 0);
  return {elements[place(node, 1, elements.size())]};
}

Items sequence_length(NodeImport& node) {
  const std::int64_t length = std::ssize(sequence_elements(node, 0));
  return {Item::of(node.constant(Tensor::from<std::int64_t>({}, std::vector{length})))};
}

Items concat_from_sequence(NodeImport& node) {
  const std::int64_t axis = node.take<std::int64_t>("axis").value_or(0);
  const bool along_new_axis = node.take<std::int64_t>("new_axis").value_or(0) != 0;
  Values values;
  for (const Item& element : sequence_elements(node, 0))
    values.push_back(along_new_axis ? node.add(Unsqueeze{}, {element.value, node.list({axis})})
                                    : element.value);
  require<ModelError>(!values.empty(), "the sequence is empty");
  return {Item::of(node.add(Concat{.axis = axis}, values))};
}

constexpr std::int64_t most_pieces = 65536;

// Sizes of the pieces along an axis of `size`.
Dims piece_sizes(NodeImport& node, std::int64_t size) {
  if (!node.has_input(1)) return Dims(static_cast<std::size_t>(size), 1);
  const Tensor& split = node.constant(1);
  const Dims given = integers_of(split);
  if (!split.dims().empty()) return given;
  require<ModelError>(given[0] > 0, "pieces must not be empty, got size ", given[0]);
  Dims sizes;
  for (std::int64_t rest = size; rest > 0; rest -= given[0])
    sizes.push_back(std::min(rest, given[0]));
  return sizes;
}

Items split_to_sequence(NodeImport& node) {
  const Value x = node.needed(0);
  const Shape& shape = node.graph().type(x).shape;
  const std::int64_t given = node.take<std::int64_t>("axis").value_or(0);
  const bool keeps_axis = node.take<std::int64_t>("keepdims").value_or(1) != 0;
  const std::size_t axis = normalize_axis("SplitToSequence", given, shape.size());
  if (!shape[axis].is_known())
    throw UnknownValueError(concat("SplitToSequence: the size ", shape[axis], " must be known"));
  require<ModelError>(shape[axis].value() <= most_pieces, "expected at most ", most_pieces,
                      " elements along the axis, got ", shape[axis]);
  const Dims sizes = piece_sizes(node, shape[axis].value());
  Items elements;
  if (sizes.empty()) return {Item::sequence({})};
  const Values pieces =
      node.add(record_of<Split>(), Attributes::of(Split{.axis = given}), {x, node.list(sizes)});
  for (const Value piece : pieces) {
    const bool dropped = !keeps_axis && !node.has_input(1);
    elements.push_back(
        Item::of(dropped ? node.add(Squeeze{}, {piece, node.list({given})}) : piece));
  }
  return {Item::sequence(std::move(elements))};
}

// Applies the body to each element; inputs that are no sequences go to every round.
Items sequence_map(NodeImport& node) {
  const auto* const body = node.node().get<Box<Graph>>("body");
  require<ModelError>(body, "attribute 'body' is missing");
  const std::size_t rounds = sequence_elements(node, 0).size();
  std::vector<Items> results((*body)->outputs.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    node.importer().count_node();
    Scope scope(node.graph(), &node.scope(), Scope::Outer::same_graph);
    for (const auto& [i, input] : enumerate((*body)->inputs)) {
      const Item item = node.item(i);
      scope.set(input.name, item.kind == Item::Kind::sequence ? item.elements.at(round) : item);
    }
    const Items made = node.importer().add_graph(**body, "body", scope);
    for (std::size_t o = 0; o < made.size(); ++o) results[o].push_back(made[o]);
  }
  Items items;
  for (Items& elements : results) items.push_back(Item::sequence(std::move(elements)));
  return items;
}

Items optional(NodeImport& node) { return {node.item(0)}; }

Items optional_get_element(NodeImport& node) {
  const Item item = node.item(0);
  require<ModelError>(item.kind != Item::Kind::nothing, "the optional has no content");
  return {item};
}

Items optional_has_element(NodeImport& node) {
  return {truth(node, node.item(0).kind != Item::Kind::nothing)};
}

// Values and sequences alike.
Items identity(NodeImport& node) { return {node.item(0)}; }

constexpr NamedHandler sequences_table[] = {{"ConcatFromSequence", concat_from_sequence},
                                            {"Identity", identity},
                                            {"Optional", optional},
                                            {"OptionalGetElement", optional_get_element},
                                            {"OptionalHasElement", optional_has_element, "logical"},
                                            {"SequenceAt", sequence_at},
                                            {"SequenceConstruct", sequence_construct},
                                            {"SequenceEmpty", sequence_empty, "no inputs"},
                                            {"SequenceErase", sequence_erase},
                                            {"SequenceInsert", sequence_insert},
                                            {"SequenceLength", sequence_length, "whole numbers"},
                                            {"SequenceMap", sequence_map},
                                            {"SplitToSequence", split_to_sequence}};

}  // namespace

std::span<const NamedHandler> sequence_handlers() { return sequences_table; }

}  // namespace narrowgauge::onnx
