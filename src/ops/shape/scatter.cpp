// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/scatter.h"

#include <algorithm>

#include "base/indexed_vector.h"
#include "ops/elementwise/expression.h"
#include "ops/math/comparison.h"
#include "ops/shape/axes.h"
#include "ops/shape/gather_elements.h"
#include "ops/shape/places.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"
#include "tensor/values.h"
#include "tensor/wide_product.h"

namespace narrowgauge {

namespace {

void require_reduction(std::string_view op, const std::string& reduction) {
  constexpr std::string_view known[] = {"none", "add", "mul", "max", "min"};
  require(std::find(std::begin(known), std::end(known), reduction) != std::end(known), op,
          ": reduction must be none, add, mul, max or min, got '", reduction, "'");
}

double product(double a, double b) { return a * b; }
WideInteger product(WideInteger a, WideInteger b) { return wide_product(a, b); }

template <class Number>
Number reduced(const std::string& reduction, Number old, Number update) {
  if (reduction == "add") return old + update;
  if (reduction == "mul") return product(old, update);
  if (reduction == "max") return std::max(old, update);
  if (reduction == "min") return std::min(old, update);
  return update;
}

struct Reals {
  using Number = double;
  static double load(const ReferenceView& view, std::int64_t i) { return view[i]; }
  static double kept(double value, DType) { return value; }
  static void store(const ReferenceView& view, std::int64_t i, double value) { view.set(i, value); }
};

// Sums and products wrap around.
struct Wholes {
  using Number = WideInteger;
  static WideInteger load(const ReferenceView& view, std::int64_t i) { return view.whole(i); }
  static WideInteger kept(WideInteger value, DType dtype) { return wrapped(value, dtype); }
  static void store(const ReferenceView& view, std::int64_t i, WideInteger value) {
    view.set_whole(i, value);
  }
};

template <class Numbers>
void scatter_numbers(const std::vector<ReferenceView>& in, const ReferenceView& out,
                     const std::vector<std::int64_t>& places, const std::string& reduction) {
  IndexedVector<std::int64_t, typename Numbers::Number> values(out.size());
  for (std::int64_t i = 0; i < out.size(); ++i) values[i] = Numbers::load(in[0], i);
  for (std::int64_t i = 0; const std::int64_t place : places) {
    auto& value = values[place];
    value = Numbers::kept(reduced(reduction, value, Numbers::load(in[2], i++)), out.dtype());
  }
  for (std::int64_t i = 0; i < out.size(); ++i) Numbers::store(out, i, values[i]);
}

void scatter(const std::vector<ReferenceView>& in, const ReferenceView& out,
             const std::vector<std::int64_t>& places, const std::string& reduction) {
  if (is_floating(out.dtype()))
    scatter_numbers<Reals>(in, out, places, reduction);
  else
    scatter_numbers<Wholes>(in, out, places, reduction);
}

Offer scatter_elements_reference(const Request& request) {
  const auto& op = request.as<ScatterElements>();
  const auto rank = static_cast<std::int64_t>(request.inputs[0].dims.size());
  const std::int64_t axis = normalize_axis("ScatterElements", op.axis, rank);
  return reference_offer(request, [axis, reduction = op.reduction](const auto& in, const auto& out,
                                                                   const KernelCall&) {
    scatter(in, out[0], element_places("ScatterElements", in[1], in[0].dims(), axis), reduction);
  });
}

Offer scatter_nd_reference(const Request& request) {
  return reference_offer(request, [reduction = request.as<ScatterND>().reduction](
                                      const auto& in, const auto& out, const KernelCall&) {
    scatter(in, out[0], slice_places("ScatterND", in[1], in[0].dims(), 0), reduction);
  });
}

constexpr Kernel scatter_elements_kernels[] = {{"reference", scatter_elements_reference}};
constexpr Kernel scatter_nd_kernels[] = {{"reference", scatter_nd_reference}};

Value filled_like(Gradient& g, Value x, double value) {
  return g.add(ExpandTo{g.shape(x)}, {g.scalar(value, g.type(x).dtype)});
}

// The gradients of data and updates of one of the ops; `gather` takes from the same places.
template <class Scatter, class Gather>
class ScatterGradient {
 public:
  ScatterGradient(Gradient& g, const Scatter& op, const Gather& gather)
      : g_(g), op_(op), gather_(gather), dy_(g, g.output_gradient()) {}

  Values gradients() const {
    if (op_.reduction == "none")
      return {scattered("none", dy_, filled_like(g_, g_.input(2), 0)), absent, gathered(dy_)};
    if (op_.reduction == "add") return {dy_, absent, gathered(dy_)};
    return op_.reduction == "mul" ? of_product() : of_extreme();
  }

 private:
  Expression input(int i) const { return {g_, g_.input(i)}; }
  Expression gathered(Value from) const { return {g_, g_.add(gather_, {from, g_.input(1)})}; }
  Expression scattered(const std::string& reduction, Value data, Value updates) const {
    Scatter op = op_;
    op.reduction = reduction;
    return {g_, g_.add(op, {data, g_.input(1), updates})};
  }

  Values of_product() const {
    const Value ones = filled_like(g_, g_.input(0), 1);
    const Expression y(g_, g_.output());
    return {dy_ * scattered("mul", ones, g_.input(2)), absent, gathered(dy_ * y) / input(2)};
  }

  // What equals the result shares its gradient evenly.
  Values of_extreme() const {
    const Expression y(g_, g_.output()), winner = gathered(y);
    const Expression kept = equals(input(0), y), taken = equals(input(2), winner);
    const Expression share = dy_ / scattered("add", kept, taken);
    return {kept * share, absent, taken * gathered(share)};
  }
  // 1 where a equals b, else 0.
  Expression equals(Expression a, Expression b) const {
    return where(a.apply(Equal{}, b), Expression(g_, filled_like(g_, a, 1)), 0);
  }

  Gradient& g_;
  const Scatter& op_;
  const Gather& gather_;
  Expression dy_;
};

}  // namespace

TensorTypes ScatterElements::infer(const Inference& in) const {
  require_reduction("ScatterElements", reduction);
  require_element_places(in, axis);
  require(in.shape(2) == in.shape(1), "ScatterElements: updates must have the shape of indices ",
          in.shape(1), ", got ", in.type(2));
  return {in.type(0)};
}

TensorTypes ScatterND::infer(const Inference& in) const {
  require_reduction("ScatterND", reduction);
  const Shape expected = slices_shape(in, in.shape(0), in.shape(1), 0);
  require(in.shape(2) == expected, "ScatterND: updates must be of shape ", expected, ", got ",
          in.type(2));
  return {in.type(0)};
}

Values ScatterElements::gradient(Gradient& g) const {
  return ScatterGradient(g, *this, GatherElements{axis}).gradients();
}

Values ScatterND::gradient(Gradient& g) const {
  return ScatterGradient(g, *this, GatherND{}).gradients();
}

std::span<const Kernel> ScatterElements::kernels() { return scatter_elements_kernels; }
std::span<const Kernel> ScatterND::kernels() { return scatter_nd_kernels; }

}  // namespace narrowgauge

NG_OPS(scatter, narrowgauge::ScatterElements, narrowgauge::ScatterND)
