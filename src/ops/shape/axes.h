// SPDX-License-Identifier: Apache-2.0
// Axes and constant integer inputs, checked alike by all ops that have them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// Turns an axis in [-rank, rank) into one in [0, rank). Throws UsageError naming the op.
std::size_t normalize_axis(std::string_view op, std::int64_t axis, std::size_t rank);
// Normalizes several axes, in their order; throws UsageError if one occurs twice.
std::vector<std::size_t> normalize_axes(std::string_view op, std::span<const std::int64_t> axes,
                                        std::size_t rank);
// A mask that is true for the axes in `axes`.
std::vector<bool> axis_mask(const Dims& axes, std::size_t rank);

// Whether all sizes are 1.
bool is_one(const Shape& shape);

// The values of an input that must be known when the graph is built: integers of rank 0 or 1.
// Throws UnknownValueError naming op and port. Empty if the input is absent.
Dims constant_integers(const Inference& in, int input, std::string_view port);
// The same for numbers that may hold symbols while they are not bound; UsageError for sizes below
// 0.
Shape known_numbers(const Inference& in, int input, std::string_view port);
Shape known_sizes(const Inference& in, int input, std::string_view port);
// The numbers of input 0, for an op that only changes its shape.
std::optional<Shape> same_numbers(const Inference& in);
Dims integers_of(const Tensor& tensor);
// The values as a tensor i64[n], for such an input.
Tensor list_of(std::span<const std::int64_t> values);

}  // namespace narrowgauge
