// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.h"

#include <algorithm>

#include "narrowgauge/graph.h"
#include "ops/elementwise/elementwise_reference.h"
#include "ops/elementwise/strip_program.h"

namespace narrowgauge {

Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  const Dim one = 1;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Dim& x = i < a.size() ? a[a.size() - 1 - i] : one;
    const Dim& y = i < b.size() ? b[b.size() - 1 - i] : one;
    require(x == y || x == one || y == one, op, ": shapes ", a, " and ", b, " do not broadcast");
    result[result.size() - 1 - i] = x == one ? y : x;
  }
  return result;
}

TensorTypes elementwise_types(const Inference& in, std::optional<DType> result) {
  Shape shape;
  DType dtype = DType::f32;
  for (int i = 0; i < in.count(); ++i) {
    if (!in.has(i)) continue;
    shape = broadcast_shapes(in.op_name(), shape, in.shape(i));
    // The condition of Where comes first; the last input gives the value's dtype.
    dtype = in.dtype(i);
  }
  return {{result.value_or(dtype), std::move(shape)}};
}

TensorTypes same_shape_types(const Inference& in) {
  for (int i = 1; i < in.count(); ++i)
    require(in.shape(i) == in.shape(0), in.op_name(), ": inputs must have one shape, got ",
            in.type(0), " and ", in.type(i));
  return {in.type(0)};
}

namespace {

Offer offer_strips(const Request& request) {
  return offer_strip_program(request, StripProgram::of_single(request));
}

constexpr Kernel kernel_list[] = {{"strips", offer_strips},
                                  {"reference", offer_elementwise_reference}};

}  // namespace

std::span<const Kernel> elementwise_kernels() { return kernel_list; }

}  // namespace narrowgauge
