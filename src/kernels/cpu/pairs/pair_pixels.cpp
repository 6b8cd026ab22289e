// SPDX-License-Identifier: Apache-2.0
// Convolutions whose results are pixels, without im2col: a band of images is packed once, with a
// border of zeros and, in dfp16, a scale for each pixel and 256 channels, and stays in L2. The rows
// of a tile are neighbouring pixels; each tap of the window is one or more steps of the sum.
//
// Forward, pixel (y, x) of the result is the sum over taps t of source (y s + t_y, x s + t_x). For
// the data gradient, the pixels whose coordinates have the same remainder modulo the strides are a
// convolution of their own, with stride 1 and those taps that meet them.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cpu/pairs/pair_convolution_parts.h"
#include "kernels/cpu/pairs/pair_unit.h"
#include "kernels/cpu/pairs/pair_work.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t source_band_bytes = 512 << 10;  // of packed source: a quarter of L2
constexpr std::int64_t pixel_tasks = 16;

struct Range {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};

// One spatial axis.
struct Axis {
  std::int64_t source, result, kernel;  // sizes
  std::int64_t stride, dilation, pad;
};

// Results first, first + step, ..., and the window's taps that meet them.
struct Phase {
  struct Tap {
    std::int64_t kernel, offset;  // index in the kernel; source pixel of result 0
  };
  std::int64_t first, step, count, source_step;
  std::vector<Tap> taps;
};

std::vector<Phase> forward_phases(const Axis& axis) {
  Phase phase{0, 1, axis.result, axis.stride, {}};
  for (std::int64_t k = 0; k < axis.kernel; ++k)
    phase.taps.push_back({k, k * axis.dilation - axis.pad});
  return {phase};
}

std::vector<Phase> gradient_phases(const Axis& axis) {
  std::vector<Phase> phases;
  for (std::int64_t first = 0; first < std::min(axis.stride, axis.result); ++first) {
    Phase phase{first, axis.stride, ceil_divide(axis.result - first, axis.stride), 1, {}};
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      const std::int64_t at = first + axis.pad - k * axis.dilation;
      if (at % axis.stride == 0) phase.taps.push_back({k, at / axis.stride});
    }
    phases.push_back(std::move(phase));
  }
  return phases;
}

// The source pixels that results [begin, end) of all phases meet.
Range reach(const std::vector<Phase>& phases, std::int64_t begin, std::int64_t end) {
  Range range{0, 0};
  bool any = false;
  for (const Phase& phase : phases)
    for (const Phase::Tap& tap : phase.taps) {
      const Range meets{begin * phase.source_step + tap.offset,
                        (std::min(end, phase.count) - 1) * phase.source_step + tap.offset + 1};
      if (meets.size() <= 0) continue;
      range =
          any ? Range{std::min(range.begin, meets.begin), std::max(range.end, meets.end)} : meets;
      any = true;
    }
  return range;
}

// A vertical and a horizontal phase, with steps in the order in which weights are packed.
struct PhasePair {
  const Phase *rows, *columns;
  std::vector<PairStep> steps;
  std::int64_t weights_at = 0, scales_at = 0;  // bytes, for the first panel
  std::int64_t half = 0, segments = 0;         // of a row of results
};

class Pixels {
 public:
  explicit Pixels(const PairConvolution& c)
      : c_(c),
        forward_(c.pass == ConvolutionPass::forward),
        source_(forward_ ? c.views.x : c.views.y),
        result_(forward_ ? c.views.y : c.views.x),
        depth_(source_.dims[1]),
        outputs_(result_.dims[1]) {
    skip_unused_pixels();
    for (std::size_t i = 0; i < 2; ++i) phases_[i] = phases(i);
    columns_ = reach(phases_[1], 0, most_count(1));
    pixel_bytes_ = pair_row_bytes(depth_);
    row_bytes_ = columns_.size() * pixel_bytes_;
    cut();
    for (const Phase& rows : phases_[0])
      for (const Phase& columns : phases_[1]) add_part(rows, columns);
    place_memory();
  }
  Pixels(const Pixels&) = delete;
  Pixels& operator=(const Pixels&) = delete;

  std::int64_t workspace() const { return slots_at_ + c_.threads * slot_bytes_; }

  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    if (c_.views.bias)
      pair_load_bias(*c_.views.bias, call.inputs[2], panels() * pair_columns, bias(memory));
    pack_weights(call.inputs[forward_ ? 1 : 0], memory);
    FlushedCount flushed;
    hand_out(image_groups_ * bands_, c_.threads, [&](std::int64_t task, std::int64_t worker) {
      flushed.add(convolve(call, task, memory, memory + slots_at_ + worker * slot_bytes_));
    });
    flushed.report(call, result_.dtype);
  }

 private:
  // For a window of one pixel, skips the source pixels between its strides.
  void skip_unused_pixels() {
    for (std::size_t i = 0; forward_ && i < 2; ++i) {
      std::int64_t& stride = c_.window.strides[i];
      if (c_.views.w.dims[i + 2] != 1 || c_.window.pads_begin[i] != 0 || stride == 1) continue;
      source_.strides[i + 2] *= stride;
      source_.dims[i + 2] = result_.dims[i + 2];
      stride = 1;
    }
  }
  std::vector<Phase> phases(std::size_t i) const {
    const Axis axis{source_.dims[i + 2],  result_.dims[i + 2],    c_.views.w.dims[i + 2],
                    c_.window.strides[i], c_.window.dilations[i], c_.window.pads_begin[i]};
    return forward_ ? forward_phases(axis) : gradient_phases(axis);
  }
  std::int64_t most_count(std::size_t i) const {
    std::int64_t most = 0;
    for (const Phase& phase : phases_[i]) most = std::max(most, phase.count);
    return most;
  }

  // Cuts the work into tasks of several images, or of a band of one image.
  void cut() {
    const std::int64_t rows = most_count(0), images = source_.dims[0];
    const std::int64_t fitting =
        std::max<std::int64_t>(source_band_bytes / std::max<std::int64_t>(row_bytes_, 1), 1);
    const std::int64_t image_rows = std::max<std::int64_t>(reach(phases_[0], 0, rows).size(), 1);
    group_ = std::clamp<std::int64_t>(fitting / image_rows, 1,
                                      std::max<std::int64_t>(images / pixel_tasks, 1));
    image_groups_ = ceil_divide(images, group_);
    bands_ = std::min(
        rows, std::max(ceil_divide(image_rows, fitting), ceil_divide(pixel_tasks, image_groups_)));
    band_ = ceil_divide(rows, bands_);
    bands_ = ceil_divide(rows, band_);
    for (std::int64_t band = 0; band < bands_; ++band)
      band_rows_ = std::max(band_rows_, reach(phases_[0], band * band_, (band + 1) * band_).size());
  }

  std::int64_t blocks() const { return ceil_divide(depth_, pair_block); }
  std::int64_t panels() const { return ceil_divide(outputs_, pair_columns); }
  bool is_wide(std::int64_t panel) const {
    return outputs_ - panel * pair_columns > pair_columns / 2;
  }

  void add_part(const Phase& rows, const Phase& columns) {
    PhasePair part{&rows, &columns, {}};
    const std::int64_t fewest = ceil_divide(columns.count, pair_half);
    part.half = ceil_divide(columns.count, fewest);
    part.segments = ceil_divide(columns.count, part.half);
    std::int64_t open = 0;  // pairs since the last end of a block
    for (const Phase::Tap& y : rows.taps)
      for (const Phase::Tap& x : columns.taps)
        for (std::int64_t k = 0, block = 0; k < depth_; k += pair_block, ++block) {
          const std::int64_t pairs = ceil_divide(std::min(pair_block, depth_ - k), 2);
          open += pairs;
          const bool ends = c_.unit.has_scales || 2 * open >= pair_block;
          part.steps.push_back({y.offset * row_bytes_ + x.offset * pixel_bytes_ + 2 * k,
                                (y.offset * columns_.size() + x.offset) * blocks() + block,
                                static_cast<std::int32_t>(pairs), ends});
          if (ends) open = 0;
        }
    if (!part.steps.empty()) part.steps.back().ends_block = true;
    parts_.push_back(std::move(part));
  }

  std::int64_t tap_bytes() const { return round_up(depth_, 32) * 2 * pair_columns; }
  static std::int64_t taps(const PhasePair& part) {
    return static_cast<std::int64_t>(part.rows->taps.size() * part.columns->taps.size());
  }

  void place_memory() {
    std::int64_t bytes = 0;
    for (PhasePair& part : parts_) {
      part.weights_at = bytes;
      part.scales_at = bytes + taps(part) * tap_bytes();
      bytes = part.scales_at + taps(part) * blocks() * pair_columns * 4;
    }
    panel_bytes_ = bytes;
    bias_at_ = panels() * panel_bytes_;
    slots_at_ = bias_at_ + panels() * pair_columns * 4;
    source_scales_at_ = group_ * band_rows_ * row_bytes_;
    const std::int64_t source =
        source_scales_at_ + group_ * band_rows_ * columns_.size() * blocks() * 4;
    // Room to pack weights: a copy of 32 columns, its integers, their scales.
    const std::int64_t weights = pair_columns * (round_up(depth_, 32) * 6 + blocks() * 4);
    slot_bytes_ = round_up(std::max(source, weights), 64);
  }
  float* bias(std::byte* memory) const { return reinterpret_cast<float*>(memory + bias_at_); }

  void pack_weights(const void* w, std::byte* memory) const {
    hand_out(panels() * static_cast<std::int64_t>(parts_.size()), c_.threads,
             [&](std::int64_t task, std::int64_t worker) {
               const PhasePair& part = parts_[static_cast<std::size_t>(task / panels())];
               const std::int64_t panel = task % panels();
               std::byte* const to = memory + panel * panel_bytes_;
               std::int64_t tap = 0;
               for (const Phase::Tap& y : part.rows->taps)
                 for (const Phase::Tap& x : part.columns->taps) {
                   const Dims& strides = c_.views.w.strides;
                   pack_tap(at_offset(w, c_.views.w.dtype,
                                      y.kernel * strides[2] + x.kernel * strides[3]),
                            panel, part, tap++, to, memory + slots_at_ + worker * slot_bytes_);
                 }
             });
  }

  // Packs the weights between all source channels and a panel of outputs.
  void pack_tap(const void* w, std::int64_t panel, const PhasePair& part, std::int64_t tap,
                std::byte* to, std::byte* scratch) const {
    const DType dtype = c_.views.w.dtype;
    const std::int64_t column_stride = c_.views.w.strides[forward_ ? 0 : 1];
    const std::int64_t depth_stride = c_.views.w.strides[forward_ ? 1 : 0];
    const std::int64_t column = panel * pair_columns;
    const std::int64_t count = std::min(pair_columns, outputs_ - column);
    const void* const from = at_offset(w, dtype, column * column_stride);
    // A tap's pairs follow those of the previous tap without a gap.
    const std::int64_t pair_bytes = is_wide(panel) ? 128 : 64;
    const ColumnPairs packed{
        to + part.weights_at + tap * ceil_divide(depth_, 2) * pair_bytes,
        reinterpret_cast<float*>(to + part.scales_at) + tap * blocks() * pair_columns,
        is_wide(panel)};
    if (column_stride == 1) {
      for (std::int64_t k = 0, block = 0; k < depth_; k += pair_block, ++block)
        c_.unit.columns_block(
            {at_offset(from, dtype, k * depth_stride), dtype, depth_stride}, count,
            std::min(pair_block, depth_ - k),
            {packed.q + k / 2 * pair_bytes, packed.scales + block * pair_columns, packed.wide});
      return;
    }
    std::byte* const copy = scratch + pair_columns * (round_up(depth_, 32) * 2 + blocks() * 4);
    if (bits(dtype) == 16)
      gather(static_cast<const std::uint16_t*>(from), column_stride, depth_stride, count,
             reinterpret_cast<std::uint16_t*>(copy));
    else
      gather(static_cast<const float*>(from), column_stride, depth_stride, count,
             reinterpret_cast<float*>(copy));
    c_.unit.rows_as_columns({copy, dtype, depth_}, count, depth_, packed, scratch);
  }

  template <class T>
  void gather(const T* from, std::int64_t column_stride, std::int64_t depth_stride,
              std::int64_t count, T* to) const {
    for (std::int64_t c = 0; c < count; ++c)
      for (std::int64_t k = 0; k < depth_; ++k)
        to[c * depth_ + k] = from[c * column_stride + k * depth_stride];
  }

  struct Band {
    std::int64_t first_image, images;
    std::int64_t begin, end;  // rows of results, counted in each phase
    Range rows;               // of the source
  };

  std::int64_t convolve(const Call& call, std::int64_t task, std::byte* memory,
                        std::byte* slot) const {
    const std::int64_t first = task / bands_ * group_, begin = task % bands_ * band_;
    const Band band{first, std::min(group_, source_.dims[0] - first), begin, begin + band_,
                    reach(phases_[0], begin, begin + band_)};
    pack_source(call.inputs[forward_ ? 0 : 1], band, slot);
    std::int64_t flushed = 0;
    for (std::int64_t panel = 0; panel < panels(); ++panel)
      for (const PhasePair& part : parts_)
        flushed += multiply(part, panel, band, memory, slot, call.outputs[0]);
    return flushed;
  }

  void pack_source(const void* source, const Band& band, std::byte* slot) const {
    auto* const scales = reinterpret_cast<float*>(slot + source_scales_at_);
    const Range inside{std::max<std::int64_t>(columns_.begin, 0),
                       std::min(columns_.end, source_.dims[3])};
    const auto clear = [&](std::int64_t row, std::int64_t from, std::int64_t to) {
      std::memset(slot + row * row_bytes_ + from * pixel_bytes_, 0,
                  static_cast<std::size_t>((to - from) * pixel_bytes_));
      std::memset(scales + (row * columns_.size() + from) * blocks(), 0,
                  static_cast<std::size_t>((to - from) * blocks()) * sizeof(float));
    };
    for (std::int64_t image = 0; image < band.images; ++image)
      for (std::int64_t r = 0; r < band.rows.size(); ++r) {
        const std::int64_t row = image * band_rows_ + r, y = band.rows.begin + r;
        if (y < 0 || y >= source_.dims[2] || inside.size() <= 0) {
          clear(row, 0, columns_.size());
          continue;
        }
        const std::int64_t left = inside.begin - columns_.begin;
        clear(row, 0, left);
        clear(row, left + inside.size(), columns_.size());
        const Dims& strides = source_.strides;
        c_.unit.rows({at_offset(source, source_.dtype,
                                (band.first_image + image) * strides[0] + y * strides[2] +
                                    inside.begin * strides[3]),
                      source_.dtype, strides[3]},
                     inside.size(), depth_,
                     {slot + row * row_bytes_ + left * pixel_bytes_, pixel_bytes_,
                      scales + (row * columns_.size() + left) * blocks()});
      }
  }

  // Half a tile: neighbouring pixels of a row of results.
  struct Segment {
    const std::byte* a;
    const float* scales;
    std::int64_t y;     // its first element in the result
    std::int64_t skip;  // pixels that the segment before it has
  };

  Segment segment(const PhasePair& part, const Band& band, std::int64_t index,
                  const std::byte* slot) const {
    const std::int64_t rows = std::min(band.end, part.rows->count) - band.begin;
    const std::int64_t number = index % part.segments, row = index / part.segments % rows;
    const std::int64_t image = index / part.segments / rows;
    const std::int64_t wanted = number * part.half;
    const std::int64_t x = std::min(wanted, part.columns->count - part.half);
    const std::int64_t source_row =
        image * band_rows_ + (band.begin + row) * part.rows->source_step - band.rows.begin;
    const std::int64_t column = x * part.columns->source_step - columns_.begin;
    const Dims& strides = result_.strides;
    return {slot + source_row * row_bytes_ + column * pixel_bytes_,
            reinterpret_cast<const float*>(slot + source_scales_at_) +
                (source_row * columns_.size() + column) * blocks(),
            (band.first_image + image) * strides[0] +
                (part.rows->first + (band.begin + row) * part.rows->step) * strides[2] +
                (part.columns->first + x * part.columns->step) * strides[3],
            wanted - x};
  }

  std::int64_t multiply(const PhasePair& part, std::int64_t panel, const Band& band,
                        std::byte* memory, const std::byte* slot, void* result) const {
    const std::int64_t rows = std::min(band.end, part.rows->count) - band.begin;
    const std::int64_t segments = std::max<std::int64_t>(rows, 0) * part.segments * band.images;
    const PairProduct product{part.steps.data(), static_cast<std::int64_t>(part.steps.size()),
                              part.columns->source_step * pixel_bytes_, 4,
                              part.columns->source_step * blocks()};
    const PairKernel kernel = c_.unit.kernel(part.half, is_wide(panel));
    const std::byte* const weights = memory + panel * panel_bytes_;
    const std::int64_t column = panel * pair_columns;
    const DType dtype = result_.dtype;
    const bool fresh = !c_.views.bias && !part.steps.empty();
    alignas(64) float sums[pair_sums];
    std::int64_t flushed = 0;
    for (std::int64_t i = 0; i < segments; i += 2) {
      const bool two = i + 1 < segments;
      const Segment first = segment(part, band, i, slot);
      const Segment second = two ? segment(part, band, i + 1, slot) : first;
      if (!fresh) begin_sums(memory, column, 2 * part.half, sums);
      kernel(product, {{first.a, second.a},
                       {first.scales, second.scales},
                       weights + part.weights_at,
                       reinterpret_cast<const float*>(weights + part.scales_at),
                       sums,
                       fresh});
      flushed += c_.unit.store({{at_offset(result, dtype, first.y + column),
                                 at_offset(result, dtype, second.y + column)},
                                part.columns->step * result_.strides[3],
                                dtype,
                                {first.skip, two ? second.skip : part.half},
                                std::min(pair_columns, outputs_ - column)},
                               part.half, sums);
    }
    return flushed;
  }

  void begin_sums(std::byte* memory, std::int64_t column, std::int64_t rows, float* sums) const {
    if (!c_.views.bias) {
      std::memset(sums, 0, sizeof(float) * static_cast<std::size_t>(rows * pair_columns));
      return;
    }
    for (std::int64_t r = 0; r < rows; ++r)
      std::memcpy(sums + r * pair_columns, bias(memory) + column, sizeof(float) * pair_columns);
  }

  PairConvolution c_;
  bool forward_;
  View source_, result_;
  std::int64_t depth_, outputs_;  // channels
  std::vector<Phase> phases_[2];  // by rows and by columns
  Range columns_{};               // of the source, with its border
  std::int64_t pixel_bytes_ = 0, row_bytes_ = 0;
  std::int64_t group_ = 1, image_groups_ = 0;  // images in a task
  std::int64_t bands_ = 0, band_ = 0, band_rows_ = 0;
  std::vector<PhasePair> parts_;
  // Memory: for each panel the weights and scales of all parts, the bias, a slot for each thread.
  std::int64_t panel_bytes_ = 0, bias_at_ = 0, slots_at_ = 0, source_scales_at_ = 0;
  std::int64_t slot_bytes_ = 0;
};

}  // namespace

Prepared prepare_pair_pixels(const PairConvolution& convolution) {
  auto pixels = std::make_shared<const Pixels>(convolution);
  return {std::string(convolution.unit.implementation), pixels->workspace(),
          [pixels](const Call& call) { pixels->run(call); }, convolution.unit.facts};
}

}  // namespace narrowgauge::cpu
