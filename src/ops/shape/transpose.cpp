// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/transpose.h"

#include <numeric>

#include "narrowgauge/graph.h"
#include "ops/reference.h"
#include "ops/shape/axes.h"
#include "ops/shape/indexing.h"
#include "ops/shape/move.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// The axis of the input at each axis of the output.
std::vector<std::size_t> complete_perm(const Dims& perm, std::size_t rank) {
  if (!perm.empty()) return normalize_axes("Transpose", perm, rank);
  std::vector<std::size_t> reversed(rank);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return reversed;
}

Offer offer_transpose_copy(const Request& request) {
  if (std::string reason = check_movable(request); !reason.empty())
    return Offer::decline(std::move(reason));
  const Operand& x = request.inputs[0];
  const Operand& y = request.outputs[0];
  const auto perm = complete_perm(request.as<Transpose>().perm, x.dims.size());
  Move move;
  for (std::size_t i = 0; i < perm.size(); ++i)
    move.axes.push_back({y.dims[i], x.strides[perm[i]], y.strides[i]});
  return offer_moves(request, {move});
}

Offer transpose_reference(const Request& request) {
  const auto perm = complete_perm(request.as<Transpose>().perm, request.inputs[0].dims.size());
  return reference_offer(request, [perm](const auto& in, const auto& out, const KernelCall&) {
    Dims from(perm.size());
    for (std::int64_t i = 0; i < out[0].size(); ++i) {
      const Dims to = position_of(i, out[0].dims());
      for (std::size_t a = 0; a < perm.size(); ++a) from[perm[a]] = to[a];
      out[0].copy(i, in[0], index_of(from, in[0].dims()));
    }
  });
}

constexpr Kernel transpose_kernels[] = {{"copy", offer_transpose_copy},
                                        {"reference", transpose_reference}};

}  // namespace

TensorTypes Transpose::infer(const Inference& in) const {
  const std::size_t rank = in.shape(0).size();
  require(perm.empty() || perm.size() == rank, "Transpose: perm ", perm, " has ", perm.size(),
          " axes, the input is ", in.type(0));
  for (const std::int64_t axis : perm)
    require(axis >= 0, "Transpose: perm must not be negative, got ", perm);
  Shape shape;
  for (const std::size_t axis : complete_perm(perm, rank)) shape.push_back(in.shape(0)[axis]);
  return {{in.dtype(0), shape}};
}

Values Transpose::gradient(Gradient& g) const {
  if (perm.empty()) return {g.add(Transpose{}, {g.output_gradient()})};
  Dims inverse(perm.size());
  for (std::int64_t i = 0; const std::size_t axis : complete_perm(perm, perm.size()))
    inverse[axis] = i++;
  return {g.add(Transpose{inverse}, {g.output_gradient()})};
}

std::span<const Kernel> Transpose::kernels() { return transpose_kernels; }

}  // namespace narrowgauge

NG_OPS(transpose, narrowgauge::Transpose)
