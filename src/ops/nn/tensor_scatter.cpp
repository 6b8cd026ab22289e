// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/tensor_scatter.h"

#include <functional>

#include "ops/reference.h"
#include "ops/shape/axes.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

template <class Op>
void check_tensor_scatter(const Op& op, const Shape& cache, const Shape& update) {
  constexpr std::string_view name = Op::info.name;
  require(op.mode == "linear" || op.mode == "circular", name,
          ": mode must be linear or circular, got '", op.mode, "'");
  const std::size_t axis = normalize_axis(name, op.axis, cache.size());
  require(axis != 0, name, ": axis must not be that of the batch, got ", op.axis);
  Shape expected = cache;
  if (update.size() == cache.size()) expected[axis] = update[axis];
  require(update == expected, name, ": expected an update like the cache ", cache,
          " but along axis ", axis, ", got ", update);
  const Dim &steps = update[axis], &length = cache[axis];
  require(!steps.is_known() || !length.is_known() || steps.value() <= length.value(), name, ": ",
          steps, " steps do not fit into a cache of ", length);
}

void check_indices(const Inference& in, int input, const Dim& batch) {
  require(!in.has(input) || in.shape(input) == Shape{batch}, in.op_name(),
          ": expected write_indices of ", batch, " values, got ",
          in.has(input) ? in.type(input) : TensorType{});
}

// Calls visit(element of the cache, element of the update) for each element that is written.
struct Writes {
  Dims cache, update;
  std::size_t axis;
  bool circular;
  template <class Visit>
  void each(const ReferenceView* indices, const Visit& visit) const {
    const std::int64_t inner = element_count(std::span(cache).subspan(axis + 1));
    const std::int64_t steps = update[axis], length = cache[axis];
    const std::int64_t of_batch = element_count(std::span(update).subspan(1));
    for (std::int64_t i = 0; i < element_count(update); ++i) {
      const std::int64_t outer = i / (steps * inner), step = i / inner % steps;
      std::int64_t at = step + (indices ? indices->integer(i / of_batch) : 0);
      if (circular) at = (at % length + length) % length;
      require<DataError>(at >= 0 && at < length, "TensorScatter: step ", at,
                         " is outside a cache of ", length);
      visit((outer * length + at) * inner + i % inner, i);
    }
  }
};

const ReferenceView* present(const std::vector<ReferenceView>& in, std::size_t i) {
  return i < in.size() && in[i].present() ? &in[i] : nullptr;
}

template <class Op>
Writes writes_of(const Op& op, const Operand& cache, const Operand& update) {
  return {cache.dims, update.dims, normalize_axis(Op::info.name, op.axis, cache.dims.size()),
          op.mode == "circular"};
}

Offer tensor_scatter_reference(const Request& request) {
  const Writes writes =
      writes_of(request.as<TensorScatter>(), request.inputs[0], request.inputs[1]);
  return reference_offer(request, [writes](const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t i = 0; i < out[0].size(); ++i) out[0].copy(i, in[0], i);
    writes.each(present(in, 2),
                [&](std::int64_t to, std::int64_t from) { out[0].copy(to, in[1], from); });
  });
}

Offer tensor_scatter_gradient_reference(const Request& request) {
  const Writes writes =
      writes_of(request.as<TensorScatterGradient>(), request.outputs[0], request.outputs[1]);
  return reference_offer(request, [writes](const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t i = 0; i < out[0].size(); ++i) out[0].copy(i, in[0], i);
    writes.each(present(in, 1), [&](std::int64_t from, std::int64_t to) {
      out[1].copy(to, in[0], from);
      out[0].set(from, 0);
    });
  });
}

constexpr Kernel tensor_scatter_kernels[] = {{"reference", tensor_scatter_reference}};
constexpr Kernel tensor_scatter_gradient_kernels[] = {
    {"reference", tensor_scatter_gradient_reference}};

}  // namespace

TensorTypes TensorScatter::infer(const Inference& in) const {
  check_tensor_scatter(*this, in.shape(0), in.shape(1));
  check_indices(in, 2, in.shape(0)[0]);
  return {in.type(0)};
}

TensorTypes TensorScatterGradient::infer(const Inference& in) const {
  check_tensor_scatter(*this, in.shape(0), shape);
  check_indices(in, 1, in.shape(0)[0]);
  return {in.type(0), {in.dtype(0), shape}};
}

Values TensorScatter::gradient(Gradient& g) const {
  const Value first = g.add(TensorScatterGradient{axis, mode, g.shape(g.input(1))},
                            {g.output_gradient(), g.input(2)});
  return {first, {first.node, 1}, absent};
}

std::span<const Kernel> TensorScatter::kernels() { return tensor_scatter_kernels; }
std::span<const Kernel> TensorScatterGradient::kernels() { return tensor_scatter_gradient_kernels; }

}  // namespace narrowgauge

NG_OPS(tensor_scatter, narrowgauge::TensorScatter, narrowgauge::TensorScatterGradient)
