// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/parallel.h"
#include "kernels/cpu/core/convert.h"
#include "narrowgauge/graph.h"
#include "ops/reference.h"
#include "ops/shape/axes.h"
#include "ops/shape/indexing.h"
#include "ops/shape/pad.h"
#include "ops/shape/pad_segments.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// Where each element of an axis was copied to: targets[first[i] .. first[i + 1]).
struct Copies {
  IndexedVector<std::int64_t, std::int64_t> first, targets;
};

Copies copies_of(const PadSources& sources, std::int64_t size) {
  IndexedVector<std::int64_t, std::int64_t> first(size + 1), targets(sources.size());
  for (const std::int64_t source : sources) ++first[source + 1];
  for (std::int64_t i = 1; i <= size; ++i) first[i] += first[i - 1];
  IndexedVector<std::int64_t, std::int64_t> next = first;
  for (std::int64_t to = 0; to < sources.size(); ++to) targets[next[sources[to]]++] = to;
  return {std::move(first), std::move(targets)};
}

std::vector<Copies> all_copies(const Request& request) {
  const auto& op = request.as<PadGradient>();
  const Dims& dims = request.outputs[0].dims;
  std::vector<Copies> all;
  for (std::size_t i = 0; i < dims.size(); ++i)
    all.push_back(copies_of(pad_sources(op.mode, dims[i], pad_along(op.pads, i)), dims[i]));
  return all;
}

struct CopiedRows {
  std::vector<Copies> copies;
  Operand dy, dx;
};

// Sums rows along the last axis: the rows of dy that belong to a row of dx are added column by
// column, in a fixed order.
class RowSummer {
 public:
  explicit RowSummer(const CopiedRows& prepared)
      : p_(prepared), wide_(p_.dy.dims.back()), sums_(p_.dx.dims.back()) {}

  void run(std::int64_t row, const View& dy, const View& dx, std::int64_t* flushed) {
    std::fill(sums_.begin(), sums_.end(), 0.0F);
    Dims outer(p_.dx.dims.begin(), p_.dx.dims.end() - 1);
    const Dims position = position_of(row, outer);
    std::int64_t target = 0;
    for (std::size_t i = 0; i < position.size(); ++i) target += position[i] * p_.dx.strides[i];
    add_rows(0, 0, position, dy);
    store(dx.as<std::byte>() + target * size_of(p_.dx), flushed);
  }

 private:
  static std::int64_t size_of(const Operand& operand) { return bits(operand.dtype) / 8; }

  void add_rows(std::size_t axis, std::int64_t offset, const Dims& position, const View& dy) {
    if (axis == position.size()) {
      add_row(dy.as<const std::byte>() + offset * size_of(p_.dy));
      return;
    }
    const Copies& copies = p_.copies[axis];
    const std::int64_t at = position[axis];
    for (std::int64_t k = copies.first[at]; k < copies.first[at + 1]; ++k)
      add_rows(axis + 1, offset + copies.targets[k] * p_.dy.strides[axis], position, dy);
  }

  void add_row(const std::byte* row) {
    const std::int64_t stride = p_.dy.strides.back();
    if (stride == 1)
      cpu::widen_row(p_.dy.dtype, row, wide_.data(), p_.dy.dims.back());
    else
      for (std::int64_t i = 0; i < wide_.size(); ++i)
        cpu::widen_row(p_.dy.dtype, row + i * stride * size_of(p_.dy), &wide_[i], 1);
    const Copies& copies = p_.copies.back();
    for (std::int64_t i = 0; i < sums_.size(); ++i)
      for (std::int64_t k = copies.first[i]; k < copies.first[i + 1]; ++k)
        sums_[i] += wide_[copies.targets[k]];
  }

  void store(std::byte* row, std::int64_t* flushed) {
    const std::int64_t stride = p_.dx.strides.back();
    if (stride == 1) {
      cpu::narrow_row(sums_.data(), p_.dx.dtype, row, p_.dx.dims.back(), flushed);
      return;
    }
    for (std::int64_t i = 0; i < sums_.size(); ++i)
      cpu::narrow_row(&sums_[i], p_.dx.dtype, row + i * stride * size_of(p_.dx), 1, flushed);
  }

  const CopiedRows& p_;
  IndexedVector<std::int64_t, float> wide_, sums_;
};

Offer offer_pad_gradient_rows(const Request& request) {
  const Operand& dy = request.inputs[0];
  const Operand& dx = request.outputs[0];
  if (dy.dtype == DType::f64) return Offer::decline("adds in f32, not in f64");
  for (const Operand* operand : {&dy, &dx})
    if (!operand->storage.blocks.empty() || !operand->storage.encoding.empty())
      return Offer::decline(concat("storage ", operand->storage));
  if (dx.dims.empty()) return Offer::decline("no axis");
  auto prepared = std::make_shared<CopiedRows>(CopiedRows{all_copies(request), dy, dx});
  Offer offer;
  offer.implementation = "rows";
  offer.run = [prepared](const KernelCall& call) {
    const std::int64_t width = prepared->dx.dims.back();
    if (!call.outputs[0].data || width == 0) return;
    parallel_for(element_count(prepared->dx.dims) / width, 1 + 16384 / width,
                 [&](std::int64_t begin, std::int64_t end) {
                   RowSummer summer(*prepared);
                   std::int64_t flushed = 0;
                   for (std::int64_t row = begin; row < end; ++row)
                     summer.run(row, call.inputs[0], call.outputs[0], &flushed);
                   if (std::int64_t* total = call.flushed_at(0); total && flushed != 0)
                     __atomic_fetch_add(total, flushed, __ATOMIC_RELAXED);
                 });
  };
  return offer;
}

Offer pad_gradient_reference(const Request& request) {
  const auto& op = request.as<PadGradient>();
  std::vector<PadSources> sources;
  for (std::size_t i = 0; i < request.outputs[0].dims.size(); ++i)
    sources.push_back(pad_sources(op.mode, request.outputs[0].dims[i], pad_along(op.pads, i)));
  return reference_offer(request, [sources](const auto& in, const auto& out, const KernelCall&) {
    ReferenceSums sums(out[0].size());
    for (std::int64_t i = 0; i < in[0].size(); ++i) {
      Dims position = position_of(i, in[0].dims());
      for (std::size_t a = 0; a < position.size(); ++a) position[a] = sources[a][position[a]];
      sums[index_of(position, out[0].dims())] += in[0][i];
    }
    store(sums, out[0]);
  });
}

constexpr Kernel pad_gradient_kernels[] = {{"rows", offer_pad_gradient_rows},
                                           {"reference", pad_gradient_reference}};

}  // namespace

TensorTypes PadGradient::infer(const Inference& in) const {
  require(mode != "constant", "PadGradient: mode constant is a Pad with negative pads");
  const Shape expected = padded_shape("PadGradient", mode, shape, pads);
  require(in.shape(0) == expected, "PadGradient: dy must be of shape ", expected, ", got ",
          in.type(0));
  return {{in.dtype(0), shape}};
}

Values PadGradient::gradient(Gradient& g) const {
  const Value amounts = g.constant(list_of(pads));
  return {g.add(Pad{mode}, {g.output_gradient(), amounts})};
}

std::span<const Kernel> PadGradient::kernels() { return pad_gradient_kernels; }

}  // namespace narrowgauge

NG_OPS(pad_gradient, narrowgauge::PadGradient)
