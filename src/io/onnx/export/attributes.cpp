// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/export/attributes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ops/table.h"

namespace narrowgauge::onnx {

namespace {

struct OpAttribute {
  std::string_view op, attribute;
  bool operator==(const OpAttribute&) const = default;
};

// Attributes to write even where their value is our default: ONNX demands them, or the function by
// which it defines the op reads them without a default.
constexpr OpAttribute demanded[] = {{"BitCast", "to"},
                                    {"Cast", "to"},
                                    {"Concat", "axis"},
                                    {"Constant", "value"},
                                    {"DepthToSpace", "blocksize"},
                                    {"GroupNormalization", "num_groups"},
                                    {"LRN", "size"},
                                    {"LinearAttention", "kv_num_heads"},
                                    {"LinearAttention", "q_num_heads"},
                                    {"MeanVarianceNormalization", "axes"},
                                    {"RandomNormal", "shape"},
                                    {"RandomUniform", "shape"},
                                    {"Scan", "num_scan_inputs"},
                                    {"SpaceToDepth", "blocksize"},
                                    {"TfIdfVectorizer", "max_gram_length"},
                                    {"TfIdfVectorizer", "max_skip_count"},
                                    {"TfIdfVectorizer", "min_gram_length"},
                                    {"TfIdfVectorizer", "mode"},
                                    {"TfIdfVectorizer", "ngram_counts"},
                                    {"TfIdfVectorizer", "ngram_indexes"}};

// Attributes that only we have: what a closed region captures, which random numbers it draws, and a
// variance of training.
constexpr OpAttribute ours[] = {{"BatchNormalization", "unbiased"},
                                {"If", "stream"},
                                {"Loop", "carried"},
                                {"Scan", "captured"},
                                {"Scan", "stream"},
                                {"Scan", "stream_backwards"}};

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::vector<float> list_of_floats(const Tensor& tensor) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    numbers.push_back(static_cast<float>(tensor.at(i)));
  return numbers;
}

struct Collected {
  Attribute attribute;
  double exact = 0;  // of a real number: a file states its default rounded to f32
  bool operator==(const Collected&) const = default;
};

class Collector : public AttributeVisitor {
 public:
  explicit Collector(bool built_in) : built_in_(built_in) {}

  void operator()(std::string_view name, bool& value) override {
    add(name, static_cast<std::int64_t>(value));
  }
  void operator()(std::string_view name, std::int64_t& value) override { add(name, value); }
  void operator()(std::string_view name, double& value) override {
    add(name, static_cast<float>(value));
    collected.back().exact = value;
  }
  // ONNX has one list of texts, that of recurrent ops; it stands here separated by commas.
  void operator()(std::string_view name, std::string& value) override {
    if (built_in_ && name == "activations")
      add(name, split_at_commas(value));
    else
      add(name, value);
  }
  // b1 stands for the dtype of an input, which is ONNX's 0.
  void operator()(std::string_view name, DType& value) override {
    add(name, value == DType::b1 ? 0 : static_cast<std::int64_t>(data_type_of(value)));
  }
  void operator()(std::string_view name, Dims& value) override { add(name, value); }
  void operator()(std::string_view name, Shape& value) override { add(name, known_dims(value)); }
  // ONNX calls its tensors "value", its other arrays are lists of numbers. The tensor has a name,
  // as only the bytes of such a one are written aligned.
  void operator()(std::string_view name, Tensor& value) override {
    if (name == "value" || !built_in_)
      add(name, Box<TensorData>(tensor_data_of(value, std::string(name))));
    else
      add(name, list_of_floats(value));
  }
  void operator()(std::string_view name, TensorType&) override {
    throw ModelError(concat("the attribute '", name, "' has no counterpart in ONNX"));
  }
  void operator()(std::string_view, Region&) override {}

  std::vector<Collected> collected;

 private:
  void add(std::string_view name, AttributeValue value) {
    collected.push_back({attribute_of(name, std::move(value))});
  }

  bool built_in_;
};

std::vector<Collected> collect(const OpRecord& op, Attributes attributes) {
  Collector collector(is_built_in(op));
  op.visit(attributes.mutate(), collector);
  return std::move(collector.collected);
}

}  // namespace

Attribute attribute_of(std::string_view name, AttributeValue value) {
  Attribute attribute;
  attribute.name = name;
  attribute.type = static_cast<AttributeType>(value.index());
  attribute.value = std::move(value);
  return attribute;
}

std::vector<Attribute> attributes_of(const OpRecord& op, const Attributes& attributes) {
  const std::vector<Collected> defaults = collect(op, op.make_default());
  std::vector<Attribute> written;
  for (const Collected& each : collect(op, op.clone(attributes))) {
    const OpAttribute key{op.info.name, each.attribute.name};
    if (std::ranges::count(ours, key)) continue;
    const bool is_default = is_built_in(op) && std::ranges::count(defaults, each) > 0;
    if (!is_default || std::ranges::count(demanded, key)) written.push_back(each.attribute);
  }
  return written;
}

}  // namespace narrowgauge::onnx
