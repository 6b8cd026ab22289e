// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/pad.h"

#include <algorithm>
#include <numeric>

#include "narrowgauge/graph.h"
#include "ops/math/arithmetic.h"
#include "ops/math/reduce.h"
#include "ops/reference.h"
#include "ops/shape/axes.h"
#include "ops/shape/indexing.h"
#include "ops/shape/move.h"
#include "ops/shape/pad_segments.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// Completes the pads of some axes to those of all axes.
Dims complete_pads(const Dims& pads, const Dims& axes, std::size_t rank) {
  require(pads.size() == 2 * axes.size(), "Pad: ", axes.size(), " axes need ", 2 * axes.size(),
          " pads, got ", pads);
  Dims all(2 * rank);
  const std::vector<std::size_t> checked = normalize_axes("Pad", axes, rank);
  for (std::size_t i = 0; i < checked.size(); ++i) {
    all[checked[i]] = pads[i];
    all[rank + checked[i]] = pads[axes.size() + i];
  }
  return all;
}

// `constant(i)` returns the tensor of input i, or nullptr if it is absent.
template <class Constant>
Dims all_pads(const Constant& constant, std::size_t rank) {
  Dims axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (const Tensor* given = constant(3)) axes = integers_of(*given);
  return complete_pads(integers_of(*constant(1)), axes, rank);
}

Dims all_pads(const Request& request) {
  return all_pads(
      [&](std::size_t i) -> const Tensor* {
        const bool given = i < request.inputs.size() && request.inputs[i].present;
        NG_INVARIANT(!given || request.inputs[i].constant);
        return given ? request.inputs[i].constant : nullptr;
      },
      request.inputs[0].dims.size());
}

using Segments = std::vector<std::vector<PadSegment>>;  // of each axis

Segments segments_of(const Request& request, const Dims& pads) {
  Segments segments;
  for (std::size_t i = 0; i < request.inputs[0].dims.size(); ++i)
    segments.push_back(
        pad_segments(request.as<Pad>().mode, request.inputs[0].dims[i], pad_along(pads, i)));
  return segments;
}

// Segments of the axes form boxes. A box that is outside along some axis takes the constant; boxes
// that differ only along later axes are joined, since all of them take it.
void add_boxes(const Request& request, const Segments& segments, std::vector<MovedRange>& chosen,
               std::vector<Move>& moves) {
  const std::size_t axis = chosen.size();
  if (axis == segments.size()) {
    moves.push_back(move_ranges(request, 0, 0, chosen));
    return;
  }
  for (const PadSegment& segment : segments[axis]) {
    chosen.push_back({segment.size, segment.from, segment.step, segment.to, 1});
    if (!segment.outside) {
      add_boxes(request, segments, chosen, moves);
    } else {
      std::vector<MovedRange> box = chosen;
      for (std::size_t i = axis + 1; i < segments.size(); ++i)
        box.push_back({.size = request.outputs[0].dims[i]});
      Move move = move_ranges(request, -1, 0, box);
      move.input = request.inputs.size() > 2 && request.inputs[2].present ? 2 : -1;
      moves.push_back(move);
    }
    chosen.pop_back();
  }
}

// More boxes do not pay: an axis mirrored several times makes boxes of single elements.
constexpr std::size_t most_boxes = 4096;

Offer offer_pad_copy(const Request& request) {
  if (std::string reason = check_movable(request); !reason.empty())
    return Offer::decline(std::move(reason));
  const Segments segments = segments_of(request, all_pads(request));
  std::size_t boxes = 1;
  for (const auto& along : segments) boxes = std::min(boxes * along.size(), most_boxes + 1);
  if (boxes > most_boxes) return Offer::decline(concat("more than ", most_boxes, " boxes"));
  std::vector<Move> moves;
  std::vector<MovedRange> chosen;
  add_boxes(request, segments, chosen, moves);
  return offer_moves(request, moves);
}

Offer pad_reference(const Request& request) {
  const Dims pads = all_pads(request);
  std::vector<PadSources> sources;
  for (std::size_t i = 0; i < request.inputs[0].dims.size(); ++i)
    sources.push_back(
        pad_sources(request.as<Pad>().mode, request.inputs[0].dims[i], pad_along(pads, i)));
  return reference_offer(request, [sources](const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t i = 0; i < out[0].size(); ++i) {
      Dims position = position_of(i, out[0].dims());
      bool outside = false;
      for (std::size_t a = 0; a < position.size(); ++a) {
        position[a] = sources[a][position[a]];
        outside = outside || position[a] < 0;
      }
      if (!outside)
        out[0].copy(i, in[0], index_of(position, in[0].dims()));
      else if (in.size() > 2 && in[2].present())
        out[0].copy(i, in[2], 0);
      else
        out[0].set(i, 0);
    }
  });
}

constexpr Kernel pad_kernels[] = {{"copy", offer_pad_copy}, {"reference", pad_reference}};

}  // namespace

TensorTypes Pad::infer(const Inference& in) const {
  constant_integers(in, 1, "pads");
  constant_integers(in, 3, "axes");
  require(!in.has(2) || element_count(in.shape(2)) == Dim(1),
          "Pad: constant_value must be one number, got ", in.has(2) ? in.type(2) : TensorType{});
  const Dims pads = all_pads([&](int i) { return in.constant(i); }, in.shape(0).size());
  return {{in.dtype(0), padded_shape("Pad", mode, in.shape(0), pads)}};
}

// Cutting off undoes padding with a constant, and the reverse.
Values Pad::gradient(Gradient& g) const {
  Dims pads = all_pads(
      [&](int i) { return g.has_input(i) ? g.graph().constant_value(g.input(i)) : nullptr; },
      g.shape(g.input(0)).size());
  Values result = g.absent_inputs();
  if (mode != "constant") {
    result[0] = g.add(PadGradient{mode, g.shape(g.input(0)), pads}, {g.output_gradient()});
    return result;
  }
  const Value amounts = g.constant(list_of(pads));
  for (std::int64_t& pad : pads) pad = -pad;
  const Value dy = g.output_gradient(), opposite = g.constant(list_of(pads));
  result[0] = g.add(Pad{}, {dy, opposite});
  if (!g.wants(2)) return result;
  const Value outside = g.add(Sub{}, {dy, g.add(Pad{}, {result[0], amounts})});
  const Value sum = g.add(ReduceSum{.keepdims = 0}, {outside});
  result[2] = g.add(ReshapeTo{g.shape(g.input(2))}, {sum});
  return result;
}

std::span<const Kernel> Pad::kernels() { return pad_kernels; }

}  // namespace narrowgauge

NG_OPS(pad, narrowgauge::Pad)
