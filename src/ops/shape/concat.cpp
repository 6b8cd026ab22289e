// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/concat.h"

#include <algorithm>

#include "narrowgauge/graph.h"
#include "ops/offers/batch_inner.h"
#include "ops/reference.h"
#include "ops/shape/axes.h"
#include "ops/shape/indexing.h"
#include "ops/shape/move.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// All three ops have the attribute `axis`; pieces are side by side along it.
template <class Op>
std::size_t axis_of(const Request& request) {
  return normalize_axis(request.op.info.name, request.as<Op>().axis,
                        request.outputs[0].dims.size());
}

std::vector<MovedRange> whole(const Dims& dims) {
  std::vector<MovedRange> ranges;
  for (const std::int64_t dim : dims) ranges.push_back({.size = dim});
  return ranges;
}

// Whether channels of batch-inner images are joined or cut.
bool moves_blocks(const Request& request, std::size_t axis) {
  return axis == 1 && is_batch_inner(request) && bits(request.outputs[0].dtype) >= 8;
}

// Moves a piece of the channels in every pixel of 32 images; its rows are apart in the whole.
Move move_in_blocks(const Operand& piece, const Operand& whole, std::int64_t at, bool join) {
  const std::int64_t own = piece.dims[1] * 32, all = whole.dims[1] * 32;
  const std::int64_t pixels = piece.dims[0] / 32 * piece.dims[2] * piece.dims[3];
  Move move;
  move.axes = {{pixels, join ? own : all, join ? all : own}, {own, 1, 1}};
  (join ? move.to : move.from) = at * 32;
  return move;
}

// Joins the inputs along an axis, or cuts the input into the outputs.
Offer offer_pieces(const Request& request, std::size_t axis, bool join) {
  const bool blocks = moves_blocks(request, axis);
  std::string reason = blocks ? std::string() : check_movable(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const auto pieces = join ? request.inputs : request.outputs;
  const Operand& all = join ? request.outputs[0] : request.inputs[0];
  std::vector<Move> moves;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    auto ranges = whole(pieces[i].dims);
    (join ? ranges[axis].to : ranges[axis].from) = at;
    const int input = join ? static_cast<int>(i) : 0, output = join ? 0 : static_cast<int>(i);
    moves.push_back(blocks ? move_in_blocks(pieces[i], all, at, join)
                           : move_ranges(request, input, output, ranges));
    moves.back().input = input;
    moves.back().output = output;
    at += pieces[i].dims[axis];
  }
  return offer_moves(request, moves);
}

Offer offer_join(const Request& request) {
  return offer_pieces(request, axis_of<Concat>(request), true);
}

template <class Op>
Offer offer_cut(const Request& request) {
  return offer_pieces(request, axis_of<Op>(request), false);
}

// Calls use(index in the piece, index in the whole).
template <class Use>
void for_each_of_piece(const Dims& piece, const Dims& all, std::size_t axis, std::int64_t at,
                       const Use& use) {
  for (std::int64_t i = 0; i < element_count(piece); ++i) {
    Dims position = position_of(i, piece);
    position[axis] += at;
    use(i, index_of(position, all));
  }
}

Offer offer_join_reference(const Request& request) {
  const std::size_t axis = axis_of<Concat>(request);
  return reference_offer(request, [axis](const auto& in, const auto& out, const KernelCall&) {
    std::int64_t at = 0;
    for (const ReferenceView& piece : in) {
      for_each_of_piece(piece.dims(), out[0].dims(), axis, at,
                        [&](std::int64_t i, std::int64_t j) { out[0].copy(j, piece, i); });
      at += piece.dims()[axis];
    }
  });
}

template <class Op>
Offer offer_cut_reference(const Request& request) {
  const std::size_t axis = axis_of<Op>(request);
  return reference_offer(request, [axis](const auto& in, const auto& out, const KernelCall&) {
    std::int64_t at = 0;
    for (const ReferenceView& piece : out) {
      for_each_of_piece(piece.dims(), in[0].dims(), axis, at,
                        [&](std::int64_t i, std::int64_t j) { piece.copy(i, in[0], j); });
      at += piece.dims()[axis];
    }
  });
}

constexpr Kernel join_list[] = {{"copy", offer_join}, {"reference", offer_join_reference}};
template <class Op>
constexpr Kernel cut_list[] = {{"copy", offer_cut<Op>}, {"reference", offer_cut_reference<Op>}};

TensorTypes pieces(const TensorType& whole, std::size_t axis, const Shape& sizes) {
  TensorTypes types;
  for (const Dim& size : sizes) {
    types.push_back(whole);
    types.back().shape[axis] = size;
  }
  return types;
}

Shape sizes_along(const Rewriting& r, const Values& values, std::size_t axis) {
  Shape sizes;
  for (const Value value : values) sizes.push_back(r.shape(value)[axis]);
  return sizes;
}

// Joins the pieces' gradients; zeros where there is none.
Values join_gradients(Gradient& g, std::int64_t axis, int pieces) {
  Values parts;
  for (int i = 0; i < pieces; ++i) {
    const TensorType& type = g.type(g.output(i));
    parts.push_back(g.has_output_gradient(i)
                        ? g.output_gradient(i)
                        : g.add(ExpandTo{type.shape}, {g.scalar(0, type.dtype)}));
  }
  return {g.add(Concat{axis}, parts)};
}

int output_count(Gradient& g) {
  return static_cast<int>(g.graph().producer(g.output()).outputs.size());
}

}  // namespace

TensorTypes Concat::infer(const Inference& in) const {
  require(in.count() > 0, "Concat: at least one input is expected");
  Shape shape = in.shape(0);
  const std::size_t along = normalize_axis("Concat", axis, in.shape(0).size());
  for (int i = 1; i < in.count(); ++i) {
    Shape other = in.shape(i);
    const bool ranks_agree = other.size() == shape.size();
    const Dim size = ranks_agree ? other[along] : Dim(0);
    if (ranks_agree) other[along] = shape[along];
    require(ranks_agree && other == shape, "Concat: input ", i, " is ", in.type(i),
            ", which does not fit ", in.type(0), " beside axis ", axis);
    shape[along] = shape[along] + size;
  }
  return {{in.dtype(0), shape}};
}

Values Concat::gradient(Gradient& g) const {
  const std::size_t along = normalize_axis("Concat", axis, g.shape(g.output()).size());
  Values inputs;
  for (int i = 0; i < g.input_count(); ++i) inputs.push_back(g.input(i));
  const Value first =
      g.add(ConcatGradient{axis, sizes_along(g, inputs, along)}, {g.output_gradient()});
  Values result;
  for (int i = 0; i < g.input_count(); ++i)
    result.push_back(g.wants(i) ? Value{first.node, i} : absent);
  return result;
}

std::optional<Shape> Concat::numbers(const Inference& in) const {
  Shape joined;
  for (int i = 0; i < in.count(); ++i) {
    const Shape* const numbers = in.numbers(i);
    if (!numbers) return {};
    joined.insert(joined.end(), numbers->begin(), numbers->end());
  }
  return joined;
}

TensorTypes Split::infer(const Inference& in) const {
  const std::size_t along = normalize_axis("Split", axis, in.shape(0).size());
  const Dim& dim = in.shape(0)[along];
  Shape sizes;
  if (in.has(1)) {
    Dim sum;
    sizes = known_sizes(in, 1, "split");
    for (const Dim& size : sizes) sum = sum + size;
    require(num_outputs == 0 || num_outputs == static_cast<std::int64_t>(sizes.size()),
            "Split: num_outputs is ", num_outputs, ", but ", sizes.size(), " sizes are given");
    const bool fits = sum == dim || !dim.is_known() || !sum.is_known();
    require(!sizes.empty() && fits, "Split: sizes ", sizes, " do not add up to axis ", axis, " of ",
            in.type(0));
  } else {
    require(num_outputs > 0, "Split: sizes or num_outputs are expected");
    constexpr std::int64_t most_outputs = 65536;
    require(num_outputs <= most_outputs, "Split: expected at most ", most_outputs,
            " outputs, got num_outputs ", num_outputs);
    const Dim each = (dim + (num_outputs - 1)) / num_outputs;
    sizes.assign(static_cast<std::size_t>(num_outputs), each);
    sizes.back() = dim - each * (num_outputs - 1);
    require(!dim.is_known() || sizes.back().value() >= 0, "Split: ", in.type(0),
            " cannot be cut into ", num_outputs, " pieces along axis ", axis);
  }
  return pieces(in.type(0), along, sizes);
}

Values Split::gradient(Gradient& g) const {
  Values result = g.absent_inputs();
  result.front() = join_gradients(g, axis, output_count(g)).front();
  return result;
}

TensorTypes ConcatGradient::infer(const Inference& in) const {
  const std::size_t along = normalize_axis("ConcatGradient", axis, in.shape(0).size());
  Dim sum;
  for (const Dim& size : sizes) sum = sum + size;
  require(!sizes.empty() && sum == in.shape(0)[along], "ConcatGradient: sizes ", sizes,
          " do not add up to axis ", axis, " of ", in.type(0));
  return pieces(in.type(0), along, sizes);
}

Values ConcatGradient::gradient(Gradient& g) const {
  return join_gradients(g, axis, static_cast<int>(sizes.size()));
}

std::span<const Kernel> Concat::kernels() { return join_list; }
std::span<const Kernel> Split::kernels() { return cut_list<Split>; }
std::span<const Kernel> ConcatGradient::kernels() { return cut_list<ConcatGradient>; }

}  // namespace narrowgauge

NG_OPS(concat, narrowgauge::Concat, narrowgauge::Split, narrowgauge::ConcatGradient)
