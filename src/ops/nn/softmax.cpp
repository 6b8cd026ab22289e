// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/elementwise/expression.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/reference.h"
#include "ops/shape/axes.h"
#include "ops/shape/axis.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

using cpu::SoftmaxKind;

TensorTypes softmax_types(const Inference& in, std::int64_t axis) {
  normalize_axis(in.op_name(), axis, in.shape(0).size());
  return {in.type(0)};
}

TensorTypes softmax_gradient_types(const Inference& in, std::int64_t axis) {
  require(in.shape(0) == in.shape(1), in.op_name(), ": expected y and dy of one shape, got ",
          in.type(0), " and ", in.type(1));
  return softmax_types(in, axis);
}

}  // namespace

TensorTypes Softmax::infer(const Inference& in) const { return softmax_types(in, axis); }
TensorTypes LogSoftmax::infer(const Inference& in) const { return softmax_types(in, axis); }
TensorTypes SoftmaxGradient::infer(const Inference& in) const {
  return softmax_gradient_types(in, axis);
}
TensorTypes LogSoftmaxGradient::infer(const Inference& in) const {
  return softmax_gradient_types(in, axis);
}

Values Softmax::gradient(Gradient& g) const {
  return {g.add(SoftmaxGradient{axis}, {g.output(), g.output_gradient()})};
}
Values LogSoftmax::gradient(Gradient& g) const {
  return {g.add(LogSoftmaxGradient{axis}, {g.output(), g.output_gradient()})};
}

namespace {

// Sums along the axis, which stays with size 1.
Expression sum_along(Rewriting& r, Value value, std::int64_t axis) {
  Shape shape = r.shape(value);
  shape[normalize_axis("softmax", axis, shape.size())] = 1;
  return {r, r.add(BroadcastGradient{std::move(shape)}, {value})};
}

}  // namespace

Values SoftmaxGradient::decompose(Rewriting& r) const {
  const Expression y{r, r.input(0)}, dy{r, r.input(1)};
  return {y * (dy - sum_along(r, dy * y, axis))};
}

Values LogSoftmaxGradient::decompose(Rewriting& r) const {
  const Expression y{r, r.input(0)}, dy{r, r.input(1)};
  return {dy - exp(y) * sum_along(r, dy, axis)};
}

namespace {

template <class Op>
SharedAxis layout_of(const Request& request) {
  std::vector<const Operand*> operands;
  for (const auto all : {request.inputs, request.outputs})
    for (const Operand& operand : all) operands.push_back(&operand);
  return shared_axis(operands, normalize_axis(Op::info.name, request.as<Op>().axis,
                                              request.inputs[0].dims.size()));
}

template <class Op, SoftmaxKind kind>
Offer offer_softmax(const Request& request) {
  SharedAxis shared = layout_of<Op>(request);
  if (!shared.reason.empty()) return Offer::decline(std::move(shared.reason));
  const DType x = request.inputs[0].dtype, y = request.outputs[0].dtype;
  Offer offer;
  offer.implementation = "rows";
  offer.run = [layout = shared.layout, x, y](const KernelCall& call) {
    softmax_forward(kind, layout, {call.inputs[0].data, x},
                    {call.outputs[0].data, y, 0, call.flushed_at(0)});
  };
  return offer;
}

template <class Op, SoftmaxKind kind>
Offer offer_softmax_gradient(const Request& request) {
  SharedAxis shared = layout_of<Op>(request);
  if (!shared.reason.empty()) return Offer::decline(std::move(shared.reason));
  const DType y = request.inputs[0].dtype, dy = request.inputs[1].dtype,
              dx = request.outputs[0].dtype;
  Offer offer;
  offer.implementation = "rows";
  offer.in_place = {{1, 0}, {0, 0}};
  offer.run = [layout = shared.layout, y, dy, dx](const KernelCall& call) {
    softmax_backward(kind, layout, {call.inputs[0].data, y}, {call.inputs[1].data, dy},
                     {call.outputs[0].data, dx, 0, call.flushed_at(0)});
  };
  return offer;
}

// Walks over row-major rows along the axis: visit(index of element a) for a row.
struct Rows {
  std::int64_t axis, inner, count;
  template <class Op>
  static Rows of(const Request& request) {
    const Dims& dims = request.inputs[0].dims;
    const std::size_t split = normalize_axis(Op::info.name, request.as<Op>().axis, dims.size());
    const std::int64_t inner = element_count(std::span(dims).subspan(split + 1));
    return {dims[split], inner, element_count(std::span(dims).first(split)) * inner};
  }
  std::int64_t at(std::int64_t row, std::int64_t a) const {
    return (row / inner * axis + a) * inner + row % inner;
  }
};

template <class Op, SoftmaxKind kind>
Offer softmax_reference(const Request& request) {
  const Rows rows = Rows::of<Op>(request);
  return reference_offer(request, [rows](const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t row = 0; row < rows.count; ++row) {
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t a = 0; a < rows.axis; ++a)
        largest = std::max(largest, in[0][rows.at(row, a)]);
      for (std::int64_t a = 0; a < rows.axis; ++a)
        sum += std::exp(in[0][rows.at(row, a)] - largest);
      for (std::int64_t a = 0; a < rows.axis; ++a) {
        const double x = in[0][rows.at(row, a)] - largest;
        const double y = kind == SoftmaxKind::softmax ? std::exp(x) / sum : x - std::log(sum);
        out[0].set(rows.at(row, a), y);
      }
    }
  });
}

template <class Op, SoftmaxKind kind>
Offer softmax_gradient_reference(const Request& request) {
  const Rows rows = Rows::of<Op>(request);
  return reference_offer(request, [rows](const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t row = 0; row < rows.count; ++row) {
      double sum = 0;
      for (std::int64_t a = 0; a < rows.axis; ++a) {
        const std::int64_t i = rows.at(row, a);
        sum += kind == SoftmaxKind::softmax ? in[0][i] * in[1][i] : in[1][i];
      }
      for (std::int64_t a = 0; a < rows.axis; ++a) {
        const std::int64_t i = rows.at(row, a);
        const double y = in[0][i], dy = in[1][i];
        out[0].set(i, kind == SoftmaxKind::softmax ? y * (dy - sum) : dy - std::exp(y) * sum);
      }
    }
  });
}

template <class Op, SoftmaxKind kind>
constexpr Kernel softmax_kernels[] = {{"rows", offer_softmax<Op, kind>},
                                      {"reference", softmax_reference<Op, kind>}};
template <class Op, SoftmaxKind kind>
constexpr Kernel softmax_gradient_kernels[] = {{"rows", offer_softmax_gradient<Op, kind>},
                                               {"reference", softmax_gradient_reference<Op, kind>}};

}  // namespace

std::span<const Kernel> Softmax::kernels() {
  return softmax_kernels<Softmax, SoftmaxKind::softmax>;
}
std::span<const Kernel> LogSoftmax::kernels() {
  return softmax_kernels<LogSoftmax, SoftmaxKind::log_softmax>;
}
std::span<const Kernel> SoftmaxGradient::kernels() {
  return softmax_gradient_kernels<SoftmaxGradient, SoftmaxKind::softmax>;
}
std::span<const Kernel> LogSoftmaxGradient::kernels() {
  return softmax_gradient_kernels<LogSoftmaxGradient, SoftmaxKind::log_softmax>;
}

}  // namespace narrowgauge

NG_OPS(softmax, narrowgauge::Softmax, narrowgauge::LogSoftmax, narrowgauge::SoftmaxGradient,
       narrowgauge::LogSoftmaxGradient)
