// SPDX-License-Identifier: Apache-2.0
// The weight gradient of a convolution: for each tap, dw = the sum over pixels of x, moved by the
// tap, times dy. The unit's pairs are pairs of images. x is packed once for all taps, so its dfp16
// scales hold for a channel in a band of images: for all rows of x that any block of dy's rows
// meets. dy has scales for each block.
//
// The bound of dfp16_scales_avx512.h for blocks of up to 2048 values: sqrt(2048) / 2 < 23 instead
// of 8.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/cpu/convert/convert.h"
#include "kernels/cpu/pairs/pair_convolution_parts.h"
#include "kernels/cpu/pairs/pair_unit.h"
#include "kernels/cpu/pairs/pair_work.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t gradient_band_bytes = 1 << 20;  // of packed x and dy: half of L2
constexpr std::int64_t partial_bytes = std::int64_t{40} << 20;
constexpr std::int64_t most_shards = 16;
constexpr std::int64_t panel_lanes = 16;

class WeightGradient {
 public:
  explicit WeightGradient(const PairConvolution& c)
      : c_(c),
        x_(c.views.x),
        dy_(c.views.y),
        dw_(c.views.w),
        taps_(dw_.dims[2] * dw_.dims[3]),
        height_(dy_.dims[2]),
        width_(dy_.dims[3]) {
    const ConvolutionWindow& w = c.window;
    step_ = {w.strides[0], w.strides[1]};
    reach_ = {(dw_.dims[2] - 1) * w.dilations[0] + 1, (dw_.dims[3] - 1) * w.dilations[1] + 1};
    columns_ = (width_ - 1) * step_[1] + reach_[1];
    block_rows_ = std::min(height_, std::max<std::int64_t>(pair_block / 2 / width_, 1));
    cut();
    for (std::int64_t row = 0; row < band_; ++row)
      steps_.push_back({row * step_[0] * columns_ * 64, 0, static_cast<std::int32_t>(width_),
                        row % block_rows_ == block_rows_ - 1 || row == band_ - 1});
    last_steps_ = steps_;
    last_steps_.resize(static_cast<std::size_t>(height_ - (bands_ - 1) * band_));
    last_steps_.back().ends_block = true;
    place_memory();
  }

  std::int64_t workspace() const { return slots_at_ + workers_ * slot_bytes_; }

  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    hand_out(shards_ * output_parts_, workers_, [&](std::int64_t task, std::int64_t worker) {
      const std::int64_t shard = task / output_parts_, part = task % output_parts_;
      add_shard(call, shard, part, reinterpret_cast<float*>(memory + shard * partial_bytes_),
                memory + slots_at_ + worker * slot_bytes_);
    });
    FlushedCount flushed;
    hand_out(panels() * row_panels(), workers_, [&](std::int64_t task, std::int64_t worker) {
      flushed.add(store(memory, task / row_panels(), task % row_panels(),
                        reinterpret_cast<float*>(memory + slots_at_ + worker * slot_bytes_),
                        call.outputs[0]));
    });
    flushed.report(call, dw_.dtype);
  }

 private:
  std::int64_t channels() const { return x_.dims[1]; }
  std::int64_t outputs() const { return dy_.dims[1]; }
  std::int64_t panels() const { return ceil_divide(outputs(), pair_columns); }
  std::int64_t row_panels() const { return ceil_divide(channels(), pair_panel); }
  std::int64_t image_pairs() const { return ceil_divide(x_.dims[0], 2); }
  std::int64_t band_x_rows() const { return (band_ - 1) * step_[0] + reach_[0]; }
  std::int64_t x_panel_bytes() const { return band_x_rows() * columns_ * 64; }
  std::int64_t dy_panel_bytes() const { return band_ * width_ * 128; }
  std::int64_t blocks() const { return ceil_divide(band_, block_rows_); }
  bool is_wide(std::int64_t panel) const {
    return outputs() - panel * pair_columns > pair_columns / 2;
  }

  void cut() {
    for (band_ = height_; band_ > block_rows_; band_ -= block_rows_) {
      band_ = round_up(band_, block_rows_);
      if (row_panels() * x_panel_bytes() + panels() * dy_panel_bytes() <= gradient_band_bytes)
        break;
    }
    band_ = std::min(band_, height_);
    bands_ = ceil_divide(height_, band_);
    band_ = std::min(round_up(ceil_divide(height_, bands_), block_rows_), height_);
    bands_ = ceil_divide(height_, band_);
    partial_bytes_ = panels() * row_panels() * taps_ * pair_sums * 4;
    shards_ = std::clamp<std::int64_t>(partial_bytes / partial_bytes_, 2, most_shards);
    shards_ = std::min(shards_, image_pairs() * bands_);
    workers_ = c_.threads;
    output_parts_ = std::min(panels(), ceil_divide(workers_, shards_));
  }

  void place_memory() {
    slots_at_ = shards_ * partial_bytes_;
    x_scales_at_ = row_panels() * x_panel_bytes();
    dy_at_ = x_scales_at_ + row_panels() * panel_lanes * 4;
    dy_scales_at_ = dy_at_ + panels() * dy_panel_bytes();
    extents_at_ = dy_scales_at_ + panels() * blocks() * pair_columns * 4;
    const std::int64_t bytes =
        extents_at_ + band_x_rows() * static_cast<std::int64_t>(sizeof(Dfp16Extent));
    const std::int64_t stored = pair_columns * pair_panel * taps_ * 4 + pair_sums * 4;
    slot_bytes_ = round_up(std::max(bytes, stored), 64);
  }

  struct Band {
    std::int64_t image, begin, rows;  // of the pair; rows of dy
    std::int64_t first_panel, last_panel;
  };

  void add_shard(const Call& call, std::int64_t shard, std::int64_t part, float* partial,
                 std::byte* slot) const {
    const std::int64_t units = image_pairs() * bands_;
    for (std::int64_t unit = units * shard / shards_; unit < units * (shard + 1) / shards_;
         ++unit) {
      const std::int64_t begin = unit % bands_ * band_;
      const Band band{unit / bands_ * 2, begin, std::min(band_, height_ - begin),
                      panels() * part / output_parts_, panels() * (part + 1) / output_parts_};
      for (std::int64_t panel = 0; panel < row_panels(); panel += 2)
        pack_x(call.inputs[0], band, panel, slot);
      for (std::int64_t panel = band.first_panel; panel < band.last_panel; ++panel)
        pack_dy(call.inputs[1], band, panel, slot);
      multiply(band, slot, partial, unit == units * shard / shards_);
    }
  }

  // Row `row` of two images, from `column` on, with channels from `channel` on.
  PairRow pair_row(const View& view, const void* data, std::int64_t image, std::int64_t row,
                   std::int64_t column, std::int64_t channel) const {
    const Dims& strides = view.strides;
    const auto at = [&](std::int64_t number) {
      return at_offset(data, view.dtype,
                       number * strides[0] + row * strides[2] + column * strides[3] + channel);
    };
    PairRow pair{};
    pair.first = at(image);
    pair.second = image + 1 < view.dims[0] ? at(image + 1) : nullptr;
    pair.dtype = view.dtype;
    pair.stride = strides[3];
    return pair;
  }

  std::int64_t left_pad() const { return std::min(c_.window.pads_begin[1], columns_); }
  std::int64_t inner_columns() const {
    return std::clamp<std::int64_t>(x_.dims[3], 0, columns_ - left_pad());
  }
  std::int64_t x_rows(const Band& band) const { return (band.rows - 1) * step_[0] + reach_[0]; }
  std::int64_t x_row_of(const Band& band, std::int64_t r) const {
    return band.begin * step_[0] - c_.window.pads_begin[0] + r;
  }
  bool is_inside(const Band& band, std::int64_t r) const {
    const std::int64_t y = x_row_of(band, r);
    return y >= 0 && y < x_.dims[2] && inner_columns() > 0;
  }
  PairRow x_row(const void* data, const Band& band, std::int64_t panel, std::int64_t r) const {
    const std::int64_t channel = panel * pair_panel;
    PairRow row = pair_row(x_, data, band.image, x_row_of(band, r), 0, channel);
    row.pixels = inner_columns();
    row.width = pair_panel;
    row.channels = std::min(2 * pair_panel, channels() - channel);
    return row;
  }

  void pack_x(const void* data, const Band& band, std::int64_t panel, std::byte* slot) const {
    const std::int64_t left = left_pad(), inside = inner_columns();
    const bool two = panel + 1 < row_panels();
    PairScales scales{};
    if (c_.unit.has_scales) {
      scales = x_scales(data, band, panel, reinterpret_cast<Dfp16Extent*>(slot + extents_at_));
      auto* const back = reinterpret_cast<float*>(slot + x_scales_at_) + panel * panel_lanes;
      std::memcpy(back, scales.back, sizeof(float) * (two ? 2 : 1) * panel_lanes);
    }
    for (std::int64_t r = 0; r < x_rows(band); ++r) {
      std::byte* q[2] = {slot + panel * x_panel_bytes() + r * columns_ * 64, nullptr};
      if (two) q[1] = q[0] + x_panel_bytes();
      const std::int64_t used = is_inside(band, r) ? inside : 0;
      for (std::byte* to : q) {
        if (!to) continue;
        std::memset(to, 0, static_cast<std::size_t>(used > 0 ? left : columns_) * 64);
        if (used > 0)
          std::memset(to + (left + used) * 64, 0,
                      static_cast<std::size_t>(columns_ - left - used) * 64);
      }
      if (used > 0)
        c_.unit.row(x_row(data, band, panel, r), scales,
                    {{q[0] + left * 64, two ? q[1] + left * 64 : nullptr}, 64});
    }
  }

  // The scales over all blocks of dy's rows and all rows of the kernel.
  PairScales x_scales(const void* data, const Band& band, std::int64_t panel,
                      Dfp16Extent* extents) const {
    for (std::int64_t r = 0; r < x_rows(band); ++r)
      if (is_inside(band, r))
        avx512::dfp16_pair_extent(x_row(data, band, panel, r), extents + r);
      else
        extents[r] = {};
    Dfp16Extent most{};
    for (std::int64_t begin = 0; begin < band.rows; begin += block_rows_)
      for (std::int64_t k = 0; k < dw_.dims[2]; ++k) {
        Dfp16Extent block{};
        for (std::int64_t row = begin; row < std::min(begin + block_rows_, band.rows); ++row)
          avx512::dfp16_add_extent(&block, extents[row * step_[0] + k * c_.window.dilations[0]]);
        avx512::dfp16_keep_larger(&most, block);
      }
    PairScales scales;
    avx512::dfp16_scales(most, 2 * block_rows_ * columns_, x_.dtype, true, &scales);
    return scales;
  }

  PairRow dy_row(const void* data, const Band& band, std::int64_t panel, std::int64_t r) const {
    const std::int64_t channel = panel * pair_columns;
    PairRow row = pair_row(dy_, data, band.image, band.begin + r, 0, channel);
    row.pixels = width_;
    row.width = 16;
    row.channels = std::min(pair_columns, outputs() - channel);
    return row;
  }

  void pack_dy(const void* data, const Band& band, std::int64_t panel, std::byte* slot) const {
    const bool wide = is_wide(panel);
    const std::int64_t pair_bytes = wide ? 128 : 64;
    std::byte* to = slot + dy_at_ + panel * dy_panel_bytes();
    auto* back = reinterpret_cast<float*>(slot + dy_scales_at_) + panel * blocks() * pair_columns;
    for (std::int64_t begin = 0; begin < band.rows; begin += block_rows_, back += pair_columns) {
      const std::int64_t end = std::min(begin + block_rows_, band.rows);
      PairScales scales{};
      if (c_.unit.has_scales) {
        scales = dy_scales(data, band, panel, begin, end);
        std::memcpy(back, scales.back, sizeof scales.back);
      }
      for (std::int64_t r = begin; r < end; ++r, to += width_ * pair_bytes)
        c_.unit.row(dy_row(data, band, panel, r), scales,
                    {{to, wide ? to + 64 : nullptr}, pair_bytes});
    }
  }

  PairScales dy_scales(const void* data, const Band& band, std::int64_t panel, std::int64_t begin,
                       std::int64_t end) const {
    Dfp16Extent block{};
    for (std::int64_t r = begin; r < end; ++r) {
      Dfp16Extent extent;
      avx512::dfp16_pair_extent(dy_row(data, band, panel, r), &extent);
      avx512::dfp16_add_extent(&block, extent);
    }
    PairScales scales;
    avx512::dfp16_scales(block, 2 * block_rows_ * width_, dy_.dtype, false, &scales);
    return scales;
  }

  void multiply(const Band& band, const std::byte* slot, float* partial, bool first) const {
    const std::vector<PairStep>& steps = band.rows == band_ ? steps_ : last_steps_;
    const PairProduct product{steps.data(), static_cast<std::int64_t>(steps.size()), 4,
                              64 * step_[1], 1};
    const ConvolutionWindow& w = c_.window;
    for (std::int64_t panel = band.first_panel; panel < band.last_panel; ++panel)
      for (std::int64_t row = 0; row < row_panels(); ++row) {
        const std::int64_t rows = std::min(pair_panel, channels() - row * pair_panel);
        const std::int64_t half = ceil_divide(rows, 2), second = rows - half;
        const PairKernel kernel = c_.unit.kernel(half, is_wide(panel));
        const auto* const scales =
            reinterpret_cast<const float*>(slot + x_scales_at_) + row * panel_lanes;
        float* sums = partial + (panel * row_panels() + row) * taps_ * pair_sums;
        for (std::int64_t y = 0; y < dw_.dims[2]; ++y)
          for (std::int64_t x = 0; x < dw_.dims[3]; ++x, sums += pair_sums) {
            const std::byte* const a = slot + row * x_panel_bytes() +
                                       (y * w.dilations[0] * columns_ + x * w.dilations[1]) * 64;
            kernel(product, {{a, a + second * 4},
                             {scales, scales + second},
                             slot + dy_at_ + panel * dy_panel_bytes(),
                             reinterpret_cast<const float*>(slot + dy_scales_at_) +
                                 panel * blocks() * pair_columns,
                             sums,
                             first});
          }
      }
  }

  // Adds the shards' sums in their order and stores them in dw [outputs][channels][taps].
  std::int64_t store(const std::byte* memory, std::int64_t panel, std::int64_t row, float* scratch,
                     void* dw) const {
    float* const sums = scratch;
    float* const ordered = scratch + pair_sums;
    const std::int64_t rows = std::min(pair_panel, channels() - row * pair_panel);
    const std::int64_t half = ceil_divide(rows, 2), second = rows - half;
    const std::int64_t count = std::min(pair_columns, outputs() - panel * pair_columns);
    for (std::int64_t tap = 0; tap < taps_; ++tap) {
      std::memset(sums, 0, sizeof(float) * pair_sums);
      for (std::int64_t shard = 0; shard < shards_; ++shard)
        avx512::pair_add(reinterpret_cast<const float*>(memory + shard * partial_bytes_) +
                             ((panel * row_panels() + row) * taps_ + tap) * pair_sums,
                         2 * half * pair_columns, sums);
      for (std::int64_t i = 0; i < rows; ++i) {
        const float* const from = sums + (i < half ? i : i - second + half) * pair_columns;
        for (std::int64_t c = 0; c < count; ++c) ordered[(c * rows + i) * taps_ + tap] = from[c];
      }
    }
    std::int64_t flushed = 0;
    for (std::int64_t c = 0; c < count; ++c)
      narrow_row(ordered + c * rows * taps_, dw_.dtype,
                 at_offset(dw, dw_.dtype,
                           ((panel * pair_columns + c) * channels() + row * pair_panel) * taps_),
                 rows * taps_, &flushed);
    return flushed;
  }

  PairConvolution c_;
  View x_, dy_, dw_;
  std::int64_t taps_, height_, width_;  // of the kernel; of dy
  std::vector<std::int64_t> step_, reach_;
  std::int64_t columns_ = 0;           // of x, with its border
  std::int64_t block_rows_ = 0;        // of dy, under one scale
  std::int64_t band_ = 0, bands_ = 0;  // rows of dy that are packed at a time
  std::int64_t shards_ = 0, workers_ = 0, output_parts_ = 1;
  std::vector<PairStep> steps_, last_steps_;
  // Memory holds the sums of each shard [panel][row panel][tap] and a slot for each thread.
  std::int64_t partial_bytes_ = 0, slots_at_ = 0, slot_bytes_ = 0;
  std::int64_t x_scales_at_ = 0, dy_at_ = 0, dy_scales_at_ = 0, extents_at_ = 0;
};

}  // namespace

Prepared prepare_pair_weight_gradient(const PairConvolution& convolution) {
  auto gradient = std::make_shared<const WeightGradient>(convolution);
  return {std::string(convolution.unit.implementation), gradient->workspace(),
          [gradient](const Call& call) { gradient->run(call); }, convolution.unit.facts};
}

}  // namespace narrowgauge::cpu
