// SPDX-License-Identifier: Apache-2.0
#include "ops/math/arg_extreme.h"

#include <cmath>

#include "ops/no_gradient.h"
#include "ops/reference.h"
#include "ops/shape/axes.h"
#include "ops/shape/lines.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// Whether element i of x lies further in the wanted direction than element j.
template <Extreme kind>
bool beats(const ReferenceView& x, std::int64_t i, std::int64_t j) {
  constexpr bool largest = kind == Extreme::largest;
  if (!is_floating(x.dtype())) return largest ? x.whole(i) > x.whole(j) : x.whole(i) < x.whole(j);
  if (std::isnan(x[i]) || std::isnan(x[j])) return std::isnan(x[i]) && !std::isnan(x[j]);
  return largest ? x[i] > x[j] : x[i] < x[j];
}

template <Extreme kind>
std::int64_t extreme_of(const ReferenceView& x, const Lines& lines, std::int64_t line, bool last) {
  std::int64_t best = 0;
  for (std::int64_t k = 1; k < lines.length; ++k) {
    const std::int64_t here = lines.at(line, k), there = lines.at(line, best);
    if (beats<kind>(x, here, there) || (last && !beats<kind>(x, there, here))) best = k;
  }
  return best;
}

template <Extreme kind>
Offer arg_extreme_reference(const Request& request) {
  const auto& op = request.as<ArgExtreme<kind>>();
  const Dims& dims = request.inputs[0].dims;
  const Lines lines(dims, normalize_axis(op.info.name, op.axis, dims.size()));
  return reference_offer(request, [lines, last = op.select_last_index != 0](
                                      const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t line = 0; line < lines.count; ++line)
      out[0].set_whole(line, extreme_of<kind>(in[0], lines, line, last));
  });
}

template <Extreme kind>
constexpr Kernel arg_extreme_kernels[] = {{"reference", arg_extreme_reference<kind>}};

}  // namespace

template <Extreme kind>
TensorTypes ArgExtreme<kind>::infer(const Inference& in) const {
  Shape shape = in.shape(0);
  const std::size_t along = normalize_axis(info.name, axis, shape.size());
  Dim& dim = shape[along];
  require(dim != Dim(0), info.name, ": axis ", axis, " of ", in.type(0), " has no elements");
  if (keepdims != 0)
    dim = 1;
  else
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(along));
  return {{DType::i64, shape}};
}

template <Extreme kind>
std::span<const Kernel> ArgExtreme<kind>::kernels() {
  return arg_extreme_kernels<kind>;
}

template struct ArgExtreme<Extreme::largest>;
template struct ArgExtreme<Extreme::smallest>;

}  // namespace narrowgauge

NG_OPS(arg_extreme, narrowgauge::ArgMax, narrowgauge::ArgMin)
NG_NO_GRADIENT(arg_extreme, "choice of indices", narrowgauge::ArgMax, narrowgauge::ArgMin)
