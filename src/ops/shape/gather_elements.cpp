// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/gather_elements.h"

#include <numeric>

#include "narrowgauge/graph.h"
#include "ops/shape/axes.h"
#include "ops/shape/concat.h"
#include "ops/shape/places.h"
#include "ops/shape/reshape.h"
#include "ops/shape/scatter.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

void copy_from(const std::vector<std::int64_t>& places, const ReferenceView& data,
               const ReferenceView& out) {
  for (std::int64_t i = 0; i < out.size(); ++i)
    out.copy(i, data, places[static_cast<std::size_t>(i)]);
}

Offer gather_elements_reference(const Request& request) {
  const auto rank = static_cast<std::int64_t>(request.inputs[0].dims.size());
  const std::int64_t axis =
      normalize_axis("GatherElements", request.as<GatherElements>().axis, rank);
  return reference_offer(request, [axis](const auto& in, const auto& out, const KernelCall&) {
    copy_from(element_places("GatherElements", in[1], in[0].dims(), axis), in[0], out[0]);
  });
}

Offer gather_nd_reference(const Request& request) {
  const std::int64_t batch_dims = request.as<GatherND>().batch_dims;
  return reference_offer(request, [batch_dims](const auto& in, const auto& out, const KernelCall&) {
    copy_from(slice_places("GatherND", in[1], in[0].dims(), batch_dims), in[0], out[0]);
  });
}

constexpr Kernel gather_elements_kernels[] = {{"reference", gather_elements_reference}};
constexpr Kernel gather_nd_kernels[] = {{"reference", gather_nd_reference}};

Value zeros_like(Gradient& g, Value x) {
  return g.add(ExpandTo{g.shape(x)}, {g.scalar(0, g.type(x).dtype)});
}

// Indices with the place in each of the batch axes in front, so that no batch axis is left.
Value with_batch_places(Gradient& g, Value indices, std::int64_t batch_dims) {
  Shape column = g.shape(indices);
  column.back() = 1;
  Values parts;
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch_dims); ++i) {
    Dims line(column.size(), 1), places(static_cast<std::size_t>(column[i].value()));
    line[i] = column[i].value();
    std::iota(places.begin(), places.end(), 0);
    const Tensor numbers = list_of(places).reshaped(line).cast(g.type(indices).dtype);
    parts.push_back(g.add(ExpandTo{column}, {g.constant(numbers)}));
  }
  parts.push_back(indices);
  return g.add(Concat{.axis = -1}, parts);
}

}  // namespace

TensorTypes GatherElements::infer(const Inference& in) const {
  require_element_places(in, axis);
  return {{in.dtype(0), in.shape(1)}};
}

Values GatherElements::gradient(Gradient& g) const {
  const ScatterElements add{.axis = axis, .reduction = "add"};
  return {g.add(add, {zeros_like(g, g.input(0)), g.input(1), g.output_gradient()}), absent};
}

TensorTypes GatherND::infer(const Inference& in) const {
  return {{in.dtype(0), slices_shape(in, in.shape(0), in.shape(1), batch_dims)}};
}

Values GatherND::gradient(Gradient& g) const {
  Value indices = g.input(1);
  if (batch_dims > 0) indices = with_batch_places(g, indices, batch_dims);
  const ScatterND add{.reduction = "add"};
  return {g.add(add, {zeros_like(g, g.input(0)), indices, g.output_gradient()}), absent};
}

std::span<const Kernel> GatherElements::kernels() { return gather_elements_kernels; }
std::span<const Kernel> GatherND::kernels() { return gather_nd_kernels; }

}  // namespace narrowgauge

NG_OPS(gather_elements, narrowgauge::GatherElements, narrowgauge::GatherND)
