// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/hardmax.h"

#include <numeric>

#include "narrowgauge/graph.h"
#include "ops/control/composite.h"
#include "ops/math/arg_extreme.h"
#include "ops/math/cast.h"
#include "ops/math/comparison.h"
#include "ops/no_gradient.h"
#include "ops/shape/axes.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes Hardmax::infer(const Inference& in) const {
  const std::int64_t along = normalize_axis("Hardmax", axis, in.rank(0));
  require(in.shape(0)[static_cast<std::size_t>(along)] != Dim(0), "Hardmax: axis ", axis, " of ",
          in.type(0), " has no elements");
  return {in.type(0)};
}

Values Hardmax::decompose(Rewriting& r) const {
  const TensorType& x = r.type(r.input(0));
  const std::size_t along = normalize_axis("Hardmax", axis, x.shape.size());
  Dims places(static_cast<std::size_t>(x.shape[along].value())), line(x.shape.size(), 1);
  std::iota(places.begin(), places.end(), 0);
  line[along] = x.shape[along].value();
  const Value largest = r.add(ArgMax{.axis = axis}, {r.input(0)});
  const Value hit = r.add(Equal{}, {largest, r.constant(list_of(places).reshaped(line))});
  return {r.add(Cast{.to = x.dtype}, {hit})};
}

std::span<const Kernel> Hardmax::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(hardmax, narrowgauge::Hardmax)
NG_NO_GRADIENT(hardmax, "constant almost everywhere", narrowgauge::Hardmax)
