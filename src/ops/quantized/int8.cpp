// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/int8.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/offers/contraction.h"
#include "ops/shape/axes.h"

namespace narrowgauge {

namespace {

constexpr int first_number = 2;  // of a kernel's inputs, behind a and b
constexpr std::size_t most_inputs = 9;

bool has_lines(const Shape& shape, const Int8Lines& expected) {
  if (shape.size() == 1) return shape[0] == expected.lines;
  const auto axis = static_cast<std::size_t>(expected.axis);
  if (expected.axis < 0 || axis >= shape.size()) return false;
  Shape others = shape;
  others[axis] = 1;
  return is_one(others) && shape[axis] == expected.lines;
}

}  // namespace

void require_lines(const Inference& in, int input, const Int8Lines& expected) {
  if (!in.has(input)) return;
  const Shape& shape = in.shape(input);
  require(is_one(shape) || has_lines(shape, expected), in.op_name(), ": expected one ",
          expected.what, " or ", expected.lines, " of them, got ", shape);
}

cpu::Int8Quantities int8_quantities(const Request& request, const Int8Places& at) {
  const auto numbers = [&](int input) -> cpu::Int8Numbers {
    const bool given = input >= 0 && input < std::ssize(request.inputs);
    if (!given || !request.input(input).present) return {};
    const Operand& operand = request.input(input);
    return {operand.dtype, element_count(operand.dims), first_number + input};
  };
  return {numbers(at.a_zero),  numbers(at.b_zero),
          numbers(at.bias),    numbers(at.a_scale),
          numbers(at.b_scale), numbers(at.y_scale),
          numbers(at.y_zero),  request.outputs[0].dtype == DType::i8};
}

namespace {

void run_int8(const std::function<void(const cpu::Call&)>& run, const KernelCall& call, int a,
              int b) {
  std::array<const void*, first_number + most_inputs> sources{};
  NG_INVARIANT(call.inputs.size() <= most_inputs);
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    sources[first_number + i] = call.inputs[i].data;
  sources[0] = call.input(a).data;
  sources[1] = call.input(b).data;
  void* const result = call.outputs[0].data;
  run({sources.data(), &result, call.workspace, nullptr});
}

}  // namespace

Offer int8_offer(std::function<cpu::Prepared()> prepare, int a, int b) {
  Offer offer;
  offer.prepare = [prepare = std::move(prepare), a, b](Offer& ready) {
    cpu::Prepared prepared = prepare();
    describe(ready, prepared);
    ready.run = [run = std::move(prepared.run), a, b](const KernelCall& call) {
      run_int8(run, call, a, b);
    };
  };
  return offer;
}

const ReferenceView* view_at(const ReferenceViews& in, int input) {
  const auto i = static_cast<std::size_t>(input);
  return i < in.size() && in[i].present() ? &in[i] : nullptr;
}

std::int64_t int8_zero(const ReferenceViews& in, int input, std::int64_t i) {
  const ReferenceView* const view = view_at(in, input);
  return view ? view->integer(view->size() > 1 ? i : 0) : 0;
}

float int8_scale(const ReferenceViews& in, int input, std::int64_t i) {
  const ReferenceView* const view = view_at(in, input);
  return view ? static_cast<float>((*view)[view->size() > 1 ? i : 0]) : 1.0F;
}

std::int32_t wrapped_int32(std::int64_t x) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(x));
}

double int8_quantised(std::int32_t sum, const cpu::Int8Scales& scales, std::int64_t zero) {
  const float x = static_cast<float>(sum) * (scales.row * scales.column);
  if (std::isnan(x)) return -1e9;
  return std::nearbyint(static_cast<double>(x)) + static_cast<double>(zero);
}

namespace {

// A dense tensor of doubles for the reference loops.
struct Wide {
  Tensor values;
  Operand operand;

  explicit Wide(const Dims& dims)
      : values(DType::f64, dims), operand{DType::f64, dims, strides_of(dims, {}), {}} {}
  ReferenceView view() { return {operand, {values.data()}}; }
};

}  // namespace

Tensor exact_sums(const ConvolutionCase& c, const SumPlaces& at, const ReferenceViews& in,
                  const Dims& y_dims) {
  const ReferenceView &x = *view_at(in, at.x), &w = *view_at(in, at.w);
  Wide images(x.dims()), weights(w.dims()), sums(y_dims);
  for (std::int64_t i = 0; i < x.size(); ++i)
    images.values.set(i, static_cast<double>(x.integer(i) - int8_zero(in, at.x_zero, 0)));
  const std::int64_t taps =
      w.dims()[0] == 0 ? 1 : std::max<std::int64_t>(w.size() / w.dims()[0], 1);
  for (std::int64_t i = 0; i < w.size(); ++i)
    weights.values.set(i, static_cast<double>(w.integer(i) - int8_zero(in, at.w_zero, i / taps)));
  convolve(c, images.view(), weights.view(), nullptr, sums.view());
  return sums.values;
}

}  // namespace narrowgauge
