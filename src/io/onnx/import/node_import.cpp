// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/import/node_import.h"

#include <algorithm>

#include "io/onnx/import/importer.h"
#include "ops/axes/axes.h"

namespace narrowgauge::onnx {

NodeImport::NodeImport(Importer& importer, Scope& scope, Node node, std::int64_t version)
    : importer_(importer), scope_(scope), node_(std::move(node)), version_(version) {
  for (const std::string& name : node_.inputs) inputs_.push_back({name});
}

const std::string& NodeImport::name() const { return own_name(node_); }

bool NodeImport::has_input(int input) const {
  if (input >= input_count()) return false;
  const InputOfNode& entry = inputs_[static_cast<std::size_t>(input)];
  return !entry.name.empty() || !entry.made.is_absent();
}

bool NodeImport::reads_texts() {
  for (int i = 0; i < input_count(); ++i)
    if (item(i).kind == Item::Kind::texts) return true;
  return false;
}

Item NodeImport::item(int input, bool constant) {
  if (!has_input(input)) return {};
  const InputOfNode& entry = inputs_[static_cast<std::size_t>(input)];
  return entry.name.empty() ? Item::of(entry.made) : scope_.find(entry.name, constant);
}

Value NodeImport::value(int input, bool constant) {
  const Item found = item(input, constant);
  require<ModelError>(found.kind != Item::Kind::sequence, "input ", input,
                      " must be a tensor, got a sequence");
  require<ModelError>(found.kind != Item::Kind::texts, "input ", input,
                      " must be numbers, got texts");
  require<ModelError>(found.kind == Item::Kind::value || !has_input(input), "input ", input,
                      " is an optional without content");
  return found.value;
}

Value NodeImport::needed(int input) {
  const Value found = value(input);
  require<ModelError>(!found.is_absent(), "input ", input, " is missing");
  return found;
}

const Tensor& NodeImport::constant(int input) {
  const Value found = value(input, true);
  require<ModelError>(!found.is_absent(), "input ", input, " is missing");
  const Tensor* const known = graph().constant_value(found);
  if (!known)
    throw UnknownValueError(concat(node_.op_type, ": input ", input, " must be constant"));
  return *known;
}

void NodeImport::set_input(int input, Value value) {
  if (input >= input_count()) inputs_.resize(static_cast<std::size_t>(input) + 1);
  inputs_[static_cast<std::size_t>(input)] = {"", value};
}

void NodeImport::drop(std::string_view name) {
  std::erase_if(node_.attributes,
                [&](const Attribute& attribute) { return attribute.name == name; });
}

void NodeImport::set(std::string_view name, AttributeValue value) {
  drop(name);
  Attribute attribute;
  attribute.name = name;
  attribute.type = static_cast<AttributeType>(value.index());
  attribute.value = std::move(value);
  node_.attributes.push_back(std::move(attribute));
}

Values NodeImport::add(const OpRecord& op, const Attributes& attributes, const Values& inputs) {
  const bool is_its_own = node_.op_type.ends_with(op.info.name);
  return importer_.add(scope_, op, attributes, inputs, is_its_own ? name() : "");
}

Value NodeImport::list(const Dims& values) { return constant(list_of(values)); }

}  // namespace narrowgauge::onnx
