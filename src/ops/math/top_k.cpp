// SPDX-License-Identifier: Apache-2.0
#include "ops/math/top_k.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "narrowgauge/graph.h"
#include "ops/reference.h"
#include "ops/shape/axes.h"
#include "ops/shape/lines.h"
#include "ops/shape/reshape.h"
#include "ops/shape/scatter.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

bool less(const ReferenceView& x, std::int64_t i, std::int64_t j) {
  if (!is_floating(x.dtype())) return x.whole(i) < x.whole(j);
  return std::isnan(x[j]) ? !std::isnan(x[i]) : x[i] < x[j];
}

Offer top_k_reference(const Request& request) {
  const auto& op = request.as<TopK>();
  const std::size_t axis = normalize_axis("TopK", op.axis, request.inputs[0].dims.size());
  const Lines from(request.inputs[0].dims, axis), to(request.outputs[0].dims, axis);
  return reference_offer(request, [from, to, largest = op.largest != 0](
                                      const auto& in, const auto& out, const KernelCall&) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(from.length));
    for (std::int64_t line = 0; line < to.count; ++line) {
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
        const std::int64_t a = from.at(line, i), b = from.at(line, j);
        return largest ? less(in[0], b, a) : less(in[0], a, b);
      });
      for (std::int64_t k = 0; k < to.length; ++k) {
        const std::int64_t chosen = order[static_cast<std::size_t>(k)];
        out[0].copy(to.at(line, k), in[0], from.at(line, chosen));
        out[1].set_whole(to.at(line, k), chosen);
      }
    }
  });
}

constexpr Kernel top_k_kernels[] = {{"reference", top_k_reference}};

}  // namespace

TensorTypes TopK::infer(const Inference& in) const {
  const Dims k = constant_integers(in, 1, "k");
  Shape shape = in.shape(0);
  Dim& dim = shape[normalize_axis("TopK", axis, shape.size())];
  require(k.size() == 1 && k[0] >= 0 && (!dim.is_known() || k[0] <= dim.value()),
          "TopK: expected one k from 0 to ", dim, ", got ", k);
  dim = k[0];
  return {{in.dtype(0), shape}, {DType::i64, shape}};
}

Values TopK::gradient(Gradient& g) const {
  if (!g.has_output_gradient(0)) return {absent, absent};
  const TensorType& x = g.type(g.input(0));
  const Value zeros = g.add(ExpandTo{x.shape}, {g.scalar(0, x.dtype)});
  const ScatterElements scatter{.axis = axis, .reduction = "none"};
  return {g.add(scatter, {zeros, g.output(1), g.output_gradient(0)}), absent};
}

std::span<const Kernel> TopK::kernels() { return top_k_kernels; }

}  // namespace narrowgauge

NG_OPS(top_k, narrowgauge::TopK)
