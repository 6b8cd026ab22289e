// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/model.h"

#include <algorithm>
#include <array>

#include "base/text/printable.h"
#include "narrowgauge/error.h"

namespace narrowgauge::onnx {
namespace {

bool is_default_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

std::string joined(const std::string& domain, const std::string& name) {
  return is_default_domain(domain) ? name : domain + '.' + name;
}

}  // namespace

AttributeValue::AttributeValue() = default;
AttributeValue::AttributeValue(const AttributeValue&) = default;
AttributeValue::AttributeValue(AttributeValue&&) noexcept = default;
AttributeValue& AttributeValue::operator=(const AttributeValue&) = default;
AttributeValue& AttributeValue::operator=(AttributeValue&&) noexcept = default;
AttributeValue::~AttributeValue() = default;

bool Attribute::operator==(const Attribute&) const = default;
bool Graph::operator==(const Graph&) const = default;

std::string_view name_of(AttributeType type) {
  constexpr std::array<std::string_view, 15> names{"nothing",
                                                   "float",
                                                   "int",
                                                   "string",
                                                   "tensor",
                                                   "graph",
                                                   "list of floats",
                                                   "list of ints",
                                                   "list of strings",
                                                   "list of tensors",
                                                   "list of graphs",
                                                   "sparse tensor",
                                                   "list of sparse tensors",
                                                   "type",
                                                   "list of types"};
  static_assert(names.size() == std::variant_size_v<AttributeValue::variant>);
  return names.at(static_cast<std::size_t>(type));
}

std::string_view name_of(const AttributeValue& value) {
  return name_of(static_cast<AttributeType>(value.index()));
}

std::string Node::full_name() const { return joined(domain, op_type); }
std::string Function::full_name() const { return joined(domain, name); }

const Attribute* Node::find(std::string_view attribute) const {
  const auto found = std::ranges::find(attributes, attribute, &Attribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

void Node::refuse(const Attribute& attribute, const AttributeValue& expected) const {
  throw ModelError(concat(description(*this), ", attribute '",
                          printable(attribute.name, most_of_a_name), "': expected ",
                          name_of(expected), ", found ", name_of(attribute.value)));
}

std::string description(const Node& node) {
  const std::string op = concat(" (", printable(node.full_name(), most_of_a_name), ")");
  if (!node.name.empty()) return concat("node '", printable(node.name, most_of_a_name), "'", op);
  if (node.outputs.empty()) return "node" + op;
  return concat("node", op, " for '", printable(node.outputs[0], most_of_a_name), "'");
}

std::optional<std::int64_t> Model::opset_version(std::string_view wanted) const {
  const auto same = [&](const OpsetImport& import) {
    return import.domain == wanted ||
           (is_default_domain(import.domain) && is_default_domain(wanted));
  };
  const auto found = std::ranges::find_if(opset_imports, same);
  if (found == opset_imports.end()) return {};
  return found->version;
}

}  // namespace narrowgauge::onnx
