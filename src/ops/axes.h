// SPDX-License-Identifier: Apache-2.0
// Axes and constant integer inputs, checked the same way by all ops that have them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "narrowgauge/op.h"

namespace narrowgauge {

// An axis in [-rank, rank) as one in [0, rank). Throws UsageError naming the op.
std::int64_t normalize_axis(std::string_view op, std::int64_t axis, std::int64_t rank);
// Several, in the order given; throws UsageError when one occurs twice.
Dims normalize_axes(std::string_view op, std::span<const std::int64_t> axes, std::int64_t rank);
// mask[axis] for each axis in `axes`.
std::vector<bool> axis_mask(const Dims& axes, std::size_t rank);

// The values of an input that must be known when the graph is built: integers of rank 0 or 1.
// Throws UsageError naming op and port. Empty where the input is absent.
Dims constant_integers(const Inference& in, int input, std::string_view port);
Dims integers_of(const Tensor& tensor);
// The values as a tensor i64[n], for inputs of that kind.
Tensor list_of(std::span<const std::int64_t> values);

}  // namespace narrowgauge
