// SPDX-License-Identifier: Apache-2.0
// Where GatherElements, GatherND and their scattering counterparts find elements.
#pragma once

#include <narrowgauge/op_record.h>

#include <vector>

#include "ops/reference.h"

namespace narrowgauge {

// The row-major index in data of each element of indices, taken along the axis.
std::vector<std::int64_t> element_places(std::string_view op, const ReferenceView& indices,
                                         const Dims& data, std::int64_t axis);

// The row-major index in data of each element of the slices that rows of indices name, after
// batch_dims axes that data and indices share.
std::vector<std::int64_t> slice_places(std::string_view op, const ReferenceView& indices,
                                       const Dims& data, std::int64_t batch_dims);

// The shape of indices without the last axis, followed by that of the slices; UsageError where
// indices and data do not fit.
Shape slices_shape(const Inference& in, const Shape& data, const Shape& indices,
                   std::int64_t batch_dims);

// UsageError unless indices has the rank of data and fits inside it beside the axis.
void require_element_places(const Inference& in, std::int64_t axis);

}  // namespace narrowgauge
