// SPDX-License-Identifier: Apache-2.0
// Models and tensors in ONNX's files, as far as its test cases need them. Field numbers are those
// of onnx.proto.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "conformance/protobuf.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge::testing {

// Something of ONNX that this program has no counterpart for: dtypes, sequences, ops.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline DType dtype_of_onnx(std::int64_t number) {
  static const std::map<std::int64_t, DType> known{
      {1, DType::f32},  {2, DType::u8},    {3, DType::i8},        {5, DType::i16},
      {6, DType::i32},  {7, DType::i64},   {9, DType::boolean},   {10, DType::f16},
      {11, DType::f64}, {16, DType::bf16}, {17, DType::f8e4m3fn}, {19, DType::f8e5m2},
      {21, DType::u4},  {22, DType::i4},   {23, DType::f4e2m1},   {24, DType::f8e8m0}};
  static const std::map<std::int64_t, std::string> foreign{
      {0, "undefined"},       {4, "uint16"},   {8, "string"},   {12, "uint32"},
      {13, "uint64"},         {14, "complex"}, {15, "complex"}, {18, "float8e4m3fnuz"},
      {20, "float8e5m2fnuz"}, {25, "uint2"},   {26, "int2"}};
  if (const auto found = known.find(number); found != known.end()) return found->second;
  const auto found = foreign.find(number);
  throw Unsupported("dtype " + (found == foreign.end() ? std::to_string(number) : found->second));
}

// The numbers of a TensorProto that are not raw bytes.
struct TypedData {
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int64_t> integers;
};

inline Tensor tensor_from(DType dtype, Dims dims, const TypedData& data) {
  Tensor tensor(dtype, std::move(dims));
  const auto size = static_cast<std::size_t>(tensor.size());
  if (dtype == DType::f32 && data.floats.size() == size)
    std::copy(data.floats.begin(), data.floats.end(), tensor.values<float>().begin());
  else if (dtype == DType::f64 && data.doubles.size() == size)
    std::copy(data.doubles.begin(), data.doubles.end(), tensor.values<double>().begin());
  else
    for (std::size_t i = 0; i < data.integers.size(); ++i) {
      // The low bytes are the element's bits; two elements of 4 bits share one entry.
      const auto width = static_cast<std::size_t>(std::max(8, bits(dtype)) / 8);
      require<DataError>((i + 1) * width <= static_cast<std::size_t>(tensor.bytes()),
                         "onnx: a tensor has too many numbers");
      std::memcpy(tensor.data() + i * width, &data.integers[i], width);
    }
  return tensor;
}

// A size that nothing fills must not take memory.
inline void require_filled(DType dtype, const Dims& dims, const TypedData& data,
                           const std::optional<std::string_view>& raw) {
  const std::size_t numbers =
      std::max({data.floats.size(), data.doubles.size(), data.integers.size()});
  const auto width = static_cast<std::size_t>(bits(dtype));
  const std::size_t held =
      raw ? raw->size() * 8 / width : numbers * std::max<std::size_t>(1, 8 / width);
  require<DataError>(element_count(dims) <= static_cast<std::int64_t>(held), "onnx: a tensor of ",
                     dims, " has ", held, " numbers");
}

inline Tensor parse_tensor(Message message, std::string* tensor_name = nullptr) {
  std::int64_t type = 0;
  Dims dims;
  TypedData data;
  std::optional<std::string_view> raw;
  while (message.next()) {
    const int field = message.number();
    if (field == 1) message.append_integers(dims);
    if (field == 2) type = message.integer();
    if (field == 4) message.append_fixed(data.floats);
    if (field == 5 || field == 7) message.append_integers(data.integers);
    if (field == 8 && tensor_name) *tensor_name = message.text();
    if (field == 9) raw = message.bytes();
    if (field == 10) message.append_fixed(data.doubles);
  }
  const DType dtype = dtype_of_onnx(type);
  require_filled(dtype, dims, data, raw);
  if (!raw) return tensor_from(dtype, std::move(dims), data);
  Tensor tensor(dtype, std::move(dims));
  require<DataError>(static_cast<std::int64_t>(raw->size()) == tensor.bytes(), "onnx: a tensor of ",
                     tensor.bytes(), " bytes has ", raw->size());
  std::ranges::copy(std::as_bytes(std::span(*raw)), tensor.data());
  return tensor;
}

struct OnnxAttribute {
  float number = 0;
  std::int64_t integer = 0;
  std::string text;
  std::optional<Tensor> tensor;
  std::vector<float> numbers;
  Dims integers;
  int type = 0;  // AttributeProto.AttributeType: 1 float, 2 int, 3 string, 4 tensor, 5 graph, ...
};

struct OnnxNode {
  std::string op, domain;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, OnnxAttribute> attributes;
  std::string full_name() const {
    return domain.empty() || domain == "ai.onnx" ? op : domain + "." + op;
  }
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes;
  std::map<std::string, Tensor> initializers;
  std::vector<std::string> inputs, outputs;
};

inline std::pair<std::string, OnnxAttribute> parse_attribute(Message message) {
  std::string key;
  OnnxAttribute attribute;
  while (message.next()) {
    const int field = message.number();
    if (field == 1) key = message.text();
    if (field == 2) attribute.number = message.single();
    if (field == 3) attribute.integer = message.integer();
    if (field == 4) attribute.text = message.text();
    if (field == 5) attribute.tensor = parse_tensor(message.message());
    if (field == 7) message.append_fixed(attribute.numbers);
    if (field == 8) message.append_integers(attribute.integers);
    if (field == 20) attribute.type = static_cast<int>(message.integer());
  }
  return {key, attribute};
}

inline OnnxNode parse_node(Message message) {
  OnnxNode node;
  while (message.next()) {
    const int field = message.number();
    if (field == 1) node.inputs.push_back(message.text());
    if (field == 2) node.outputs.push_back(message.text());
    if (field == 4) node.op = message.text();
    if (field == 5) node.attributes.insert(parse_attribute(message.message()));
    if (field == 7) node.domain = message.text();
  }
  return node;
}

// The name of a graph's input or output, which must be a tensor.
inline std::string parse_value(Message message) {
  std::string value_name;
  while (message.next()) {
    if (message.number() == 1) value_name = message.text();
    if (message.number() != 2) continue;
    for (Message type = message.message(); type.next();)
      if (type.number() != 1 && type.number() != 6) throw Unsupported("sequences and optionals");
  }
  return value_name;
}

inline OnnxGraph parse_graph(Message message) {
  OnnxGraph graph;
  while (message.next()) {
    const int field = message.number();
    if (field == 1) graph.nodes.push_back(parse_node(message.message()));
    if (field == 11) graph.inputs.push_back(parse_value(message.message()));
    if (field == 12) graph.outputs.push_back(parse_value(message.message()));
    if (field != 5) continue;
    std::string initializer;
    Tensor tensor = parse_tensor(message.message(), &initializer);
    graph.initializers.emplace(initializer, std::move(tensor));
  }
  return graph;
}

inline OnnxGraph parse_model(std::string_view bytes) {
  for (Message model(bytes); model.next();)
    if (model.number() == 7) return parse_graph(model.message());
  throw DataError("onnx: a model without a graph");
}

}  // namespace narrowgauge::testing
