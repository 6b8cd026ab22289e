// SPDX-License-Identifier: Apache-2.0
// What a model file of ONNX says (onnx.proto, IR versions 1 to 14): nothing of it lost, and nothing
// interpreted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/onnx/box.h"
#include "io/onnx/devices.h"
#include "io/onnx/tensor.h"
#include "io/onnx/type.h"

namespace narrowgauge::onnx {

struct Graph;

enum class AttributeType : std::int32_t {
  undefined,
  number,
  integer,
  text,
  tensor,
  graph,
  numbers,
  integers,
  texts,
  tensors,
  graphs,
  sparse_tensor,
  sparse_tensors,
  type,
  types
};

// Each alternative stands at the place of its AttributeType. Copied, moved and destroyed in
// model.cpp alone: each source that has a node would compile that of every alternative, graphs
// among them.
struct AttributeValue
    : std::variant<std::monostate, float, std::int64_t, std::string, Box<TensorData>, Box<Graph>,
                   std::vector<float>, std::vector<std::int64_t>, std::vector<std::string>,
                   std::vector<TensorData>, std::vector<Graph>, Box<SparseTensor>,
                   std::vector<SparseTensor>, Box<Type>, std::vector<Type>> {
  using variant::variant;
  using variant::operator=;
  AttributeValue();
  AttributeValue(const AttributeValue& other);
  AttributeValue(AttributeValue&& other) noexcept;
  AttributeValue& operator=(const AttributeValue& other);
  AttributeValue& operator=(AttributeValue&& other) noexcept;
  ~AttributeValue();
};

struct Attribute {
  std::string name, doc_string;
  std::string ref_attr_name;  // inside a function: the attribute of the function to take
  // As the file states it: undefined in the first version of the format, which had no such field.
  AttributeType type = AttributeType::undefined;
  AttributeValue value;  // nothing where ref_attr_name says whose it is
  Stated stated = 0;
  bool operator==(const Attribute&) const;
};

// "float", "list of ints", "graph", for messages. The type must be one of those above.
std::string_view name_of(AttributeType type);
std::string_view name_of(const AttributeValue& value);

struct Node {
  std::vector<std::string> inputs, outputs;  // names of values; "" for an optional one left out
  std::string name, op_type, domain, overload, doc_string;
  std::vector<Attribute> attributes;
  Entries metadata;
  std::vector<NodeDevices> devices;
  Stated stated = 0;
  bool operator==(const Node&) const = default;

  // The op with its domain, as the table of ops has it: "Conv", "com.microsoft.Gelu".
  std::string full_name() const;
  const Attribute* find(std::string_view attribute) const;  // nullptr if there is none
  // The attribute's value, one of the alternatives of AttributeValue; nullptr if there is no such
  // attribute. Throws ModelError naming node and attribute where it holds something else.
  template <class T>
  const T* get(std::string_view attribute) const {
    const Attribute* const found = find(attribute);
    if (!found) return nullptr;
    if (!std::holds_alternative<T>(found->value)) refuse(*found, T{});
    return &std::get<T>(found->value);
  }

 private:
  [[noreturn]] void refuse(const Attribute& attribute, const AttributeValue& expected) const;
};

// "node 'conv1' (Conv)", or by its first output where it has no name, for messages.
std::string description(const Node& node);

struct ValueInfo {
  std::string name, doc_string;
  std::optional<Type> type;
  Entries metadata;
  Stated stated = 0;
  bool operator==(const ValueInfo&) const = default;
};

struct QuantizationAnnotation {  // TensorAnnotation
  std::string tensor;
  Entries parameters;  // keys such as SCALE_TENSOR; values are names of tensors
  Stated stated = 0;
  bool operator==(const QuantizationAnnotation&) const = default;
};

struct Graph {
  std::vector<Node> nodes;
  std::string name, doc_string;
  std::vector<TensorData> initializers;
  std::vector<SparseTensor> sparse_initializers;
  std::vector<ValueInfo> inputs, outputs, value_infos;
  std::vector<QuantizationAnnotation> quantization_annotations;
  Entries metadata;
  Stated stated = 0;
  bool operator==(const Graph&) const;
};

struct OpsetImport {
  std::string domain;
  std::int64_t version = 0;
  Stated stated = 0;
  bool operator==(const OpsetImport&) const = default;
};

struct Function {
  std::string name, domain, overload, doc_string;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes;        // those that a node must give
  std::vector<Attribute> default_attributes;  // those that it may leave out
  std::vector<Node> nodes;
  std::vector<OpsetImport> opset_imports;
  std::vector<ValueInfo> value_infos;
  Entries metadata;
  Stated stated = 0;
  bool operator==(const Function&) const = default;

  std::string full_name() const;  // as Node's
};

struct TrainingInfo {
  std::optional<Graph> initialization, algorithm;
  Entries initialization_bindings, update_bindings;
  bool operator==(const TrainingInfo&) const = default;
};

struct Model {
  std::int64_t ir_version = 0, model_version = 0;
  std::vector<OpsetImport> opset_imports;
  std::string producer_name, producer_version, domain, doc_string;
  Graph graph;
  Entries metadata;
  std::vector<TrainingInfo> training_infos;
  std::vector<Function> functions;
  std::vector<DeviceConfiguration> device_configurations;
  Stated stated = 0;
  bool operator==(const Model&) const = default;

  // Empty for a domain that is not imported. "" and "ai.onnx" are one domain.
  std::optional<std::int64_t> opset_version(std::string_view domain = {}) const;
};

}  // namespace narrowgauge::onnx
