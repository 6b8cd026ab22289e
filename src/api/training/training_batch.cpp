// SPDX-License-Identifier: Apache-2.0
#include "api/training/training_batch.h"

#include <limits>

namespace narrowgauge {

namespace {

bool becomes_i64(const Graph& graph, std::size_t input, DType given) {
  return input < graph.inputs().size() && graph.type(graph.inputs()[input]).dtype == DType::i64 &&
         given != DType::i64 && is_integer(given);
}

// "'images', 'labels'".
std::string input_names_text(const Graph& graph) {
  std::string names;
  for (const Value input : graph.inputs())
    names += concat(names.empty() ? "" : ", ", '\'', graph.value_name(input), '\'');
  return names;
}

Tensor as_i64(std::string_view who, const std::string& input, const Tensor& given) {
  if (given.dtype() == DType::u64)
    for (const std::uint64_t number : given.values<std::uint64_t>())
      require(number <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}, who, ": input '",
              input, "' holds ", number, ", which i64 does not reach");
  return given.cast(DType::i64);
}

}  // namespace

// Every step makes one: it asks the heap for nothing where all tensors stay as they are.
TrainingBatch::TrainingBatch(std::string_view who, const Graph& graph,
                             std::span<const Tensor> given)
    : given_(given) {
  if (given.size() != graph.inputs().size())
    throw UsageError(concat(who, ": takes ", graph.inputs().size(), " tensors, ",
                            input_names_text(graph), ", got ", given.size()));
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Value input = graph.inputs()[i];
    const Shape& shape = graph.type(input).shape;
    const Dims& dims = given[i].dims();
    const bool open = !shape.empty() && !shape[0].is_known();
    if (open && !dims.empty() && dims[0] == 0)
      throw UsageError(concat(who, ": expected a batch of at least one sample, got input '",
                              graph.value_name(input), "' ", given[i].type()));
    if (!becomes_i64(graph, i, given[i].dtype())) continue;
    if (converted_.empty()) converted_.assign(given.begin(), given.end());
    converted_[i] = as_i64(who, graph.value_name(input), given[i]);
  }
}

TensorTypes training_types(const Graph& graph, TensorTypes types) {
  for (std::size_t i = 0; i < types.size(); ++i)
    if (becomes_i64(graph, i, types[i].dtype)) types[i].dtype = DType::i64;
  return types;
}

}  // namespace narrowgauge
