// SPDX-License-Identifier: Apache-2.0
#include "ops/axes/places.h"

#include "narrowgauge/op_record.h"
#include "ops/axes/axes.h"
#include "ops/axes/lines.h"
#include "ops/indexing.h"

namespace narrowgauge {

std::vector<std::int64_t> element_places(std::string_view op, const ReferenceView& indices,
                                         const Dims& data, std::int64_t axis) {
  const auto along = static_cast<std::size_t>(axis);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < indices.size(); ++i) {
    Dims position = position_of(i, indices.dims());
    position[along] = settled_index(op, indices.integer(i), data[along]);
    places.push_back(index_of(position, data));
  }
  return places;
}

std::vector<std::int64_t> slice_places(std::string_view op, const ReferenceView& indices,
                                       const Dims& data, std::int64_t batch_dims) {
  const auto batch = static_cast<std::size_t>(batch_dims);
  const auto depth = static_cast<std::size_t>(indices.dims().back());
  const std::int64_t slice = element_count(std::span(data).subspan(batch + depth));
  const Dims rows(indices.dims().begin(), indices.dims().end() - 1);
  std::vector<std::int64_t> places;
  for (std::int64_t row = 0; row < element_count(rows); ++row) {
    const Dims position = position_of(row, rows);
    std::int64_t start = 0;
    for (std::size_t i = 0; i < batch; ++i) start = start * data[i] + position[i];
    for (std::size_t k = 0; k < depth; ++k) {
      const std::int64_t at = row * static_cast<std::int64_t>(depth) + static_cast<std::int64_t>(k);
      start = start * data[batch + k] + settled_index(op, indices.integer(at), data[batch + k]);
    }
    for (std::int64_t i = 0; i < slice; ++i) places.push_back(start * slice + i);
  }
  return places;
}

Shape slices_shape(const Inference& in, const Shape& data, const Shape& indices,
                   std::int64_t batch_dims) {
  const std::string_view op = in.op_name();
  const auto rank = static_cast<std::int64_t>(data.size());
  const auto index_rank = static_cast<std::int64_t>(indices.size());
  require(batch_dims >= 0 && batch_dims < index_rank && batch_dims <= rank, op, ": batch_dims ",
          batch_dims, " does not fit data ", data, " and indices ", indices);
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch_dims); ++i)
    require(data[i] == indices[i], op, ": data ", data, " and indices ", indices,
            " differ in one of ", batch_dims, " batch axes");
  require(indices.back().is_known(), op, ": the last axis of indices must be known, got ", indices);
  const std::int64_t depth = indices.back().value();
  require(depth >= 0 && depth <= rank - batch_dims, op, ": places along ", depth,
          " axes do not fit data ", data, " with ", batch_dims, " batch axes");
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), data.begin() + batch_dims + depth, data.end());
  return shape;
}

void require_element_places(const Inference& in, std::int64_t axis) {
  const Shape &data = in.shape(0), &indices = in.shape(1);
  const std::int64_t along = normalize_axis(in.op_name(), axis, in.rank(0));
  bool fits = data.size() == indices.size();
  for (std::size_t i = 0; fits && i < data.size(); ++i)
    fits = static_cast<std::int64_t>(i) == along || data[i] == indices[i] || !data[i].is_known() ||
           !indices[i].is_known() || indices[i].value() <= data[i].value();
  require(fits, in.op_name(), ": indices ", in.type(1), " do not fit inside data ", in.type(0),
          " beside axis ", axis);
}

}  // namespace narrowgauge
