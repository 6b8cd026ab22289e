// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/import/dense.h"

#include <algorithm>

namespace narrowgauge::onnx {

namespace {

constexpr std::int64_t always_dense_elements = 65536;
constexpr std::int64_t most_elements_a_value = 4096;

// The place of a value, by its row of indices.
std::int64_t place_of(std::span<const std::int64_t> row, const Dims& dims, std::int64_t elements) {
  if (row.size() == 1 && dims.size() != 1) {
    require<ModelError>(row[0] >= 0 && row[0] < elements, "index ", row[0],
                        " of a sparse tensor is outside its ", elements, " elements");
    return row[0];
  }
  std::int64_t place = 0;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    require<ModelError>(row[axis] >= 0 && row[axis] < dims[axis], "index ", row[axis],
                        " of a sparse tensor is outside axis ", axis, " of size ", dims[axis]);
    place = place * dims[axis] + row[axis];
  }
  return place;
}

}  // namespace

Tensor dense(const SparseTensor& sparse) {
  const Tensor values = tensor_of(sparse.values), indices = tensor_of(sparse.indices);
  const std::int64_t elements = element_count(sparse.dims);
  require<ModelError>(
      elements <= std::max(always_dense_elements, values.size() * most_elements_a_value),
      "a sparse tensor of ", elements, " elements has no more than ", values.size(), " values");
  const auto width = indices.dims().size() == 2 ? std::ssize(sparse.dims) : 1;
  require<ModelError>(indices.dtype() == DType::i64 && indices.size() == values.size() * width,
                      "a sparse tensor of ", values.size(), " values and rank ", sparse.dims.size(),
                      " has indices ", indices.type());
  Tensor tensor(values.dtype(), sparse.dims);
  const std::span<const std::int64_t> rows = indices.values<std::int64_t>();
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const auto row =
        rows.subspan(static_cast<std::size_t>(i * width), static_cast<std::size_t>(width));
    tensor.set(place_of(row, sparse.dims, elements), values.at(i));
  }
  return tensor;
}

}  // namespace narrowgauge::onnx
