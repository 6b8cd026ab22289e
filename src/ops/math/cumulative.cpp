// SPDX-License-Identifier: Apache-2.0
#include "ops/math/cumulative.h"

#include "narrowgauge/graph.h"
#include "ops/control/composite.h"
#include "ops/math/arithmetic.h"
#include "ops/reference.h"
#include "ops/shape/axes.h"
#include "ops/shape/lines.h"
#include "ops/shape/pad.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

std::size_t settled(std::string_view op, const Dims& axis, std::size_t rank) {
  require(axis.size() == 1, op, ": axis must be one number, got ", axis);
  return normalize_axis(op, axis[0], rank);
}

TensorTypes checked_type(const Inference& in) {
  settled(in.op_name(), constant_integers(in, 1, "axis"), in.shape(0).size());
  return {in.type(0)};
}

// Stores the sum so far at each place of each line.
template <class Number, class Load, class Store>
void add_up(const CumSum& op, const Lines& lines, const Load& load, const Store& store) {
  for (std::int64_t line = 0; line < lines.count; ++line) {
    Number sum = 0;
    for (std::int64_t k = 0; k < lines.length; ++k) {
      const std::int64_t at = lines.at(line, op.reverse != 0 ? lines.length - 1 - k : k);
      const Number before = sum;
      sum += static_cast<Number>(load(at));
      store(at, op.exclusive != 0 ? before : sum);
    }
  }
}

Offer offer_cum_sum(const Request& request) {
  const auto& op = request.as<CumSum>();
  const Dims& dims = request.inputs[0].dims;
  const Lines lines(dims, settled("CumSum", integers_of(*request.inputs[1].constant), dims.size()));
  return reference_offer(request, [op, lines](const auto& in, const auto& out, const KernelCall&) {
    if (is_floating(in[0].dtype()))
      add_up<double>(
          op, lines, [&](std::int64_t i) { return in[0][i]; },
          [&](std::int64_t i, double sum) { out[0].set(i, sum); });
    else
      add_up<WideInteger>(
          op, lines, [&](std::int64_t i) { return in[0].whole(i); },
          [&](std::int64_t i, WideInteger sum) {
            out[0].set_whole(i, wrapped(sum, out[0].dtype()));
          });
  });
}

constexpr Kernel sum_list[] = {{"reference", offer_cum_sum}};

// x moved by `distance` along the axis, ones in the places that become free.
Value moved(Rewriting& r, Value x, std::int64_t axis, std::int64_t distance) {
  return r.add(Pad{}, {x, r.constant(list_of(Dims{distance, -distance})),
                       r.scalar(1, r.type(x).dtype), r.constant(list_of(Dims{axis}))});
}

}  // namespace

TensorTypes CumSum::infer(const Inference& in) const { return checked_type(in); }
TensorTypes CumProd::infer(const Inference& in) const { return checked_type(in); }

Values CumSum::gradient(Gradient& g) const {
  const CumSum back{.exclusive = exclusive, .reverse = reverse == 0};
  return {g.add(back, {g.output_gradient(), g.input(1)}), absent};
}

Values CumProd::decompose(Rewriting& r) const {
  Value y = r.input(0);
  const Shape& shape = r.shape(y);
  const std::int64_t axis =
      settled("CumProd", integers_of(*r.graph().constant_value(r.input(1))), shape.size());
  const std::int64_t length = shape[static_cast<std::size_t>(axis)].value();
  const std::int64_t direction = reverse != 0 ? -1 : 1;
  if (exclusive != 0) y = moved(r, y, axis, direction);
  for (std::int64_t distance = 1; distance < length; distance *= 2)
    y = r.add(Mul{}, {y, moved(r, y, axis, direction * distance)});
  return {y};
}

std::span<const Kernel> CumSum::kernels() { return sum_list; }
std::span<const Kernel> CumProd::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(cumulative, narrowgauge::CumSum, narrowgauge::CumProd)
