// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner_convolution.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/cpu.h"
#include "base/parallel.h"
#include "kernels/cpu/batch_inner.h"
#include "kernels/cpu/batch_inner_weight_gradient.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/strip.h"

namespace narrowgauge::cpu {

BatchInnerImages batch_inner_images(const Dims& dims) {
  return {dims[0] / 32, dims[2], dims[3], dims[1] / 32};
}

namespace {

constexpr std::int64_t near_cache = 640 << 10;     // of L2: weights that stay there
constexpr std::int64_t strip_bytes = 900 << 10;    // of L2: source rows that stay there
constexpr std::int64_t stream_bytes = 10'000'000;  // larger results go past the caches
constexpr std::int64_t usual_pieces = 32;

constexpr std::int64_t round_up(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

// The places of the source along one axis, for each place of the result.
struct AxisTaps {
  std::vector<std::vector<RowTap>> of_place;
};

AxisTaps forward_taps(const BatchInnerConvolution& c, std::size_t axis) {
  const auto& w = c.window;
  AxisTaps taps;
  for (std::int64_t place = 0; place < c.y[axis + 2]; ++place) {
    auto& list = taps.of_place.emplace_back();
    for (std::int64_t tap = 0; tap < c.w[axis + 2]; ++tap) {
      const std::int64_t from =
          place * w.strides[axis] - w.pads_begin[axis] + tap * w.dilations[axis];
      if (from >= 0 && from < c.x[axis + 2])
        list.push_back({static_cast<std::int32_t>(from), static_cast<std::int32_t>(tap)});
    }
  }
  return taps;
}

// The kernel is turned around, so that neighbours stay neighbours.
AxisTaps backward_taps(const BatchInnerConvolution& c, std::size_t axis) {
  const auto& w = c.window;
  AxisTaps taps;
  for (std::int64_t place = 0; place < c.x[axis + 2]; ++place) {
    auto& list = taps.of_place.emplace_back();
    for (std::int64_t tap = c.w[axis + 2]; tap-- > 0;) {
      const std::int64_t offset = place + w.pads_begin[axis] - tap * w.dilations[axis];
      const std::int64_t from = offset / w.strides[axis];
      if (offset >= 0 && offset % w.strides[axis] == 0 && from < c.y[axis + 2])
        list.push_back(
            {static_cast<std::int32_t>(from), static_cast<std::int32_t>(c.w[axis + 2] - 1 - tap)});
    }
  }
  return taps;
}

// A prepared forward pass or data gradient.
class Gather {
 public:
  explicit Gather(const BatchInnerConvolution& c) : backward_(c.pass != ConvolutionPass::forward) {
    plan_.source = batch_inner_images(backward_ ? c.y : c.x);
    plan_.result = batch_inner_images(backward_ ? c.x : c.y);
    plan_.kernel_width = c.w[3];
    plan_.taps = c.w[2] * c.w[3];
    weights_ = {c.w[0], c.w[1], plan_.taps, nullptr, backward_};
    set_tables(backward_ ? backward_taps(c, 0) : forward_taps(c, 0),
               backward_ ? backward_taps(c, 1) : forward_taps(c, 1));
    bias_ = c.bias;
    choose_pieces();
  }
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;

  std::int64_t workspace() const {
    return round_up(weight_bytes()) + round_up(plan_.result.blocks * 32 * 4);
  }

  void run(const Call& call) const {
    auto* packed = static_cast<std::byte*>(call.workspace);
    auto* bias = reinterpret_cast<float*>(packed + round_up(weight_bytes()));
    const auto* weights = static_cast<const std::byte*>(call.inputs[backward_ ? 0 : 1]);
    parallel_for(plan_.result.blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      amx::pack_weights(weights, weights_, begin, end, packed);
    });
    load_bias(bias_, call, plan_.result.blocks * 32, bias);
    GatherPiece whole{static_cast<const std::byte*>(call.inputs[backward_ ? 1 : 0]),
                      packed,
                      static_cast<std::byte*>(call.outputs[0]),
                      bias,
                      0,
                      rows(),
                      0,
                      plan_.result.blocks,
                      pixel_by_pixel_,
                      stream_};
    const std::int64_t row_pieces = ceil_divide(rows(), rows_in_piece_);
    const std::int64_t block_pieces = ceil_divide(plan_.result.blocks, blocks_in_piece_);
    parallel_for(row_pieces * block_pieces, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        GatherPiece piece = whole;
        piece.row_begin = i / block_pieces * rows_in_piece_;
        piece.row_end = std::min(rows(), piece.row_begin + rows_in_piece_);
        piece.block_begin = i % block_pieces * blocks_in_piece_;
        piece.block_end = std::min(plan_.result.blocks, piece.block_begin + blocks_in_piece_);
        amx::gather(plan_, piece);
      }
    });
  }

 private:
  std::int64_t rows() const { return plan_.result.groups * plan_.result.height; }
  std::int64_t weight_bytes() const {
    return plan_.result.blocks * plan_.taps * plan_.source.blocks * block_bytes;
  }

  void set_tables(const AxisTaps& rows, const AxisTaps& columns) {
    row_begin_.push_back(0);
    for (const auto& taps : rows.of_place) {
      rows_.insert(rows_.end(), taps.begin(), taps.end());
      row_begin_.push_back(static_cast<std::int32_t>(rows_.size()));
    }
    column_begin_.push_back(0);
    for (const auto& taps : columns.of_place) {
      const std::size_t first = columns_.size();
      for (const RowTap& tap : taps) {
        const bool joins = columns_.size() > first &&
                           columns_.back().source + columns_.back().length == tap.source &&
                           columns_.back().tap + columns_.back().length == tap.tap;
        if (joins)
          ++columns_.back().length;
        else
          columns_.push_back({tap.source, tap.tap, 1});
      }
      column_begin_.push_back(static_cast<std::int32_t>(columns_.size()));
    }
    for (std::int64_t tap = 0; tap < plan_.taps; ++tap)
      order_.push_back(static_cast<std::int32_t>(backward_ ? plan_.taps - 1 - tap : tap));
    plan_.row_begin = row_begin_.data();
    plan_.rows = rows_.data();
    plan_.column_begin = column_begin_.data();
    plan_.columns = columns_.data();
    weights_.order = order_.data();
  }

  // Small weights stay in L2 while images pass. Large ones pass over strips of images that stay
  // there, or stay block by block while all images pass: whatever moves fewer bytes from L3.
  void choose_pieces() {
    const BatchInnerImages& source = plan_.source;
    stream_ = plan_.result.count() * block_bytes >= stream_bytes;
    pixel_by_pixel_ = weight_bytes() <= near_cache;
    blocks_in_piece_ = plan_.result.blocks;
    rows_in_piece_ = ceil_divide(rows(), usual_pieces);
    if (pixel_by_pixel_) return;
    const std::int64_t images = source.count() * block_bytes;
    const std::int64_t strips = std::max<std::int64_t>(4, ceil_divide(images, strip_bytes));
    const std::int64_t by_blocks = plan_.result.blocks * images + weight_bytes();
    if (strips * weight_bytes() + images < by_blocks) {
      rows_in_piece_ = ceil_divide(rows(), strips);
    } else {
      rows_in_piece_ = rows();
      blocks_in_piece_ = ceil_divide(plan_.result.blocks, 8);
    }
  }

  bool backward_;
  GatherPlan plan_;
  amx::WeightBlocks weights_{};
  std::optional<DType> bias_;
  std::vector<std::int32_t> row_begin_, column_begin_, order_;
  std::vector<RowTap> rows_;
  std::vector<ColumnRun> columns_;
  std::int64_t rows_in_piece_ = 1, blocks_in_piece_ = 1;
  bool pixel_by_pixel_ = false, stream_ = false;
};

}  // namespace

std::string batch_inner_reason(const BatchInnerConvolution& c) {
  if (isa() != Isa::amx) return concat("tiles need amx, this is ", name(isa()));
  if (c.x.size() != 4) return "not two spatial axes";
  if (c.window.groups != 1) return concat(c.window.groups, " groups");
  for (const std::int64_t size : {c.x[0], c.x[1], c.y[1]})
    if (size == 0 || size % 32 != 0)
      return concat("blocks hold 32 images and channels, x is ", c.x, ", y ", c.y);
  return parameter_reason(c);
}

std::string parameter_reason(const BatchInnerConvolution& c) {
  const bool wide_weight = c.pass == ConvolutionPass::weight_gradient && c.weight == DType::f32;
  if (c.weight != DType::bf16 && !wide_weight) return concat("weights of ", c.weight);
  if (c.bias && c.bias != DType::bf16 && c.bias != DType::f32) return concat("bias of ", *c.bias);
  return {};
}

void load_bias(std::optional<DType> dtype, const Call& call, std::int64_t channels, float* bias) {
  if (dtype)
    widen_row(*dtype, call.inputs[2], bias, channels);
  else
    std::fill_n(bias, channels, 0.0F);
}

Prepared prepare_batch_inner_convolution(const BatchInnerConvolution& c) {
  const std::string reason = batch_inner_reason(c);
  require(reason.empty(), "batch-inner convolution: ", reason);
  Prepared prepared;
  prepared.implementation = "amx tiles, batch-inner";
  if (c.pass == ConvolutionPass::weight_gradient) {
    prepare_batch_inner_weight_gradient(c, prepared);
    return prepared;
  }
  const auto gather = std::make_shared<const Gather>(c);
  prepared.workspace = gather->workspace();
  prepared.run = [gather](const Call& call) { gather->run(call); };
  return prepared;
}

}  // namespace narrowgauge::cpu
