// SPDX-License-Identifier: Apache-2.0
// Ops on texts, computed while a model is imported.
#include "io/onnx/texts.h"

#include <algorithm>
#include <functional>

#include "io/onnx/import/attributes.h"
#include "io/onnx/import/handlers.h"
#include "ops/elementwise/elementwise.h"

namespace narrowgauge::onnx {

namespace {

const Texts& texts(NodeImport& node, int input) {
  const Item item = node.item(input);
  require<ModelError>(item.kind == Item::Kind::texts, "input ", input, " must be texts");
  return *item.texts;
}

// The element of a broadcast tensor that stands at place `index` of the whole.
std::size_t source(std::int64_t index, const Dims& whole, const Dims& part) {
  std::int64_t place = 0, stride = 1;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const std::int64_t size = whole[whole.size() - 1 - i], own = part[part.size() - 1 - i];
    if (own != 1) place += index % size * stride;
    index /= size;
    stride *= own;
  }
  return static_cast<std::size_t>(place);
}

// Calls use(a, b) for each pair of the broadcast inputs 0 and 1, and returns their shape.
Dims for_each_pair(NodeImport& node,
                   const std::function<void(const std::string&, const std::string&)>& use) {
  const Texts a = texts(node, 0), b = texts(node, 1);
  const Dims dims =
      known_dims(broadcast_shapes(node.node().op_type, Shape(a.dims.begin(), a.dims.end()),
                                  Shape(b.dims.begin(), b.dims.end())));
  for (std::int64_t i = 0; i < element_count(dims); ++i)
    use(a.values[source(i, dims, a.dims)], b.values[source(i, dims, b.dims)]);
  return dims;
}

Items string_concat(NodeImport& node) {
  Texts joined;
  joined.dims = for_each_pair(
      node, [&](const std::string& a, const std::string& b) { joined.values.push_back(a + b); });
  return {Item::of(std::move(joined))};
}

Items equal(NodeImport& node) {
  std::vector<bool> same;
  const Dims dims = for_each_pair(
      node, [&](const std::string& a, const std::string& b) { same.push_back(a == b); });
  Tensor tensor(DType::boolean, dims);
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, same[static_cast<std::size_t>(i)]);
  return {Item::of(node.constant(tensor))};
}

// Python's str.split(): at each delimiter, or at runs of blanks where there is none.
std::vector<std::string> split(const std::string& text, const std::string& delimiter,
                               std::int64_t most) {
  constexpr std::string_view blanks = " \t\n\r\v\f";
  std::vector<std::string> parts;
  std::size_t begin = delimiter.empty() ? text.find_first_not_of(blanks) : 0;
  while (begin != text.npos) {
    const bool last = std::ssize(parts) == most;
    const std::size_t end = last                ? text.npos
                            : delimiter.empty() ? text.find_first_of(blanks, begin)
                                                : text.find(delimiter, begin);
    parts.push_back(text.substr(begin, end == text.npos ? end : end - begin));
    if (end == text.npos) break;
    begin = delimiter.empty() ? text.find_first_not_of(blanks, end) : end + delimiter.size();
  }
  return parts;
}

Items string_split(NodeImport& node) {
  const std::string delimiter = node.take<std::string>("delimiter").value_or("");
  const std::int64_t most = node.take<std::int64_t>("maxsplit").value_or(-1);
  const Texts x = texts(node, 0);
  std::vector<std::vector<std::string>> rows;
  std::size_t longest = 0;
  for (const std::string& text : x.values) {
    rows.push_back(split(text, delimiter, most));
    longest = std::max(longest, rows.back().size());
  }
  Texts parts{x.dims, {}};
  parts.dims.push_back(static_cast<std::int64_t>(longest));
  std::vector<std::int64_t> lengths;
  for (std::vector<std::string>& row : rows) {
    lengths.push_back(std::ssize(row));
    row.resize(longest);
    parts.values.insert(parts.values.end(), row.begin(), row.end());
  }
  const Value length = node.constant(Tensor::from<std::int64_t>(x.dims, lengths));
  return {Item::of(std::move(parts)), Item::of(length)};
}

// Letters beyond ASCII stay as they are.
std::string with_case(std::string text, const std::string& action) {
  for (char& c : text) {
    if (action == "LOWER" && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (action == "UPPER" && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

// Leaves out stop words, and changes the case of the rest. Where nothing is left, one empty text.
Items string_normalizer(NodeImport& node) {
  const std::string action = node.take<std::string>("case_change_action").value_or("NONE");
  const bool exact = node.take<std::int64_t>("is_case_sensitive").value_or(0) != 0;
  const auto stops = node.take<std::vector<std::string>>("stopwords").value_or(Texts{}.values);
  const auto key = [&](const std::string& text) { return exact ? text : with_case(text, "LOWER"); };
  const Texts x = texts(node, 0);
  require<ModelError>(!x.dims.empty(), "expected a list of texts");
  Texts kept{x.dims, {}};
  for (const std::string& text : x.values)
    if (std::ranges::none_of(stops,
                             [&](const std::string& stop) { return key(stop) == key(text); }))
      kept.values.push_back(with_case(text, action));
  if (kept.values.empty()) kept.values.emplace_back();
  kept.dims.back() = std::ssize(kept.values);
  return {Item::of(std::move(kept))};
}

// The numbers that stand for the keys of a LabelEncoder, and the one for all other texts.
struct Labels {
  Tensor values, otherwise;
};

Labels labels_of(NodeImport& node) {
  if (auto values = node.take<std::vector<std::int64_t>>("values_int64s"))
    return {tensor_of(*values),
            tensor_of(std::vector{node.take<std::int64_t>("default_int64").value_or(-1)})};
  if (auto values = node.take<std::vector<float>>("values_floats"))
    return {tensor_of(*values),
            tensor_of(std::vector{node.take<float>("default_float").value_or(0)})};
  const auto values = node.take<Box<TensorData>>("values_tensor");
  require<ModelError>(values.has_value(), "texts as values are not supported");
  const Tensor tensor = tensor_of(**values);
  const auto otherwise = node.take<Box<TensorData>>("default_tensor");
  return {tensor, otherwise ? tensor_of(**otherwise) : Tensor::full(tensor.dtype(), {1}, -1)};
}

Items label_encoder(NodeImport& node) {
  std::vector<std::string> keys;
  if (auto given = node.take<std::vector<std::string>>("keys_strings")) keys = *given;
  if (auto given = node.take<Box<TensorData>>("keys_tensor")) keys = texts_of(**given).values;
  const Labels labels = labels_of(node);
  require<ModelError>(labels.values.size() == std::ssize(keys) && labels.otherwise.size() == 1,
                      "expected a value for each of ", keys.size(), " keys, got ",
                      labels.values.size());
  const Texts x = texts(node, 0);
  Tensor result(labels.values.dtype(), x.dims);
  for (std::int64_t i = 0; i < result.size(); ++i) {
    const auto found = std::ranges::find(keys, x.values[static_cast<std::size_t>(i)]);
    result.set(
        i, found == keys.end() ? labels.otherwise.at(0) : labels.values.at(found - keys.begin()));
  }
  return {Item::of(node.constant(result))};
}

constexpr NamedHandler texts_table[] = {{"Equal", equal, "texts"},
                                        {"StringConcat", string_concat, "texts"},
                                        {"StringNormalizer", string_normalizer, "texts"},
                                        {"StringSplit", string_split, "texts"},
                                        {"ai.onnx.ml.LabelEncoder", label_encoder, "texts"}};

}  // namespace

std::span<const NamedHandler> text_handlers() { return texts_table; }

}  // namespace narrowgauge::onnx
