// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_bottleneck.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cpu/core/work.h"
#include "kernels/cpu/core/workspace.h"
#include "kernels/cpu/floats/float_bottleneck_cut.h"
#include "kernels/cpu/floats/float_depthwise_weights.h"
#include "kernels/cpu/floats/float_expansion.h"
#include "kernels/cpu/floats/float_rows.h"
#include "kernels/cpu/floats/float_stretches.h"
#include "kernels/cpu/floats/float_weights.h"

namespace narrowgauge::cpu {
namespace {

// Parts of L2: what the windows of a whole band make, and what is expanded between smaller steps.
constexpr std::int64_t most_filtered_bytes = 320 << 10;
constexpr std::int64_t most_expanded_bytes = 128 << 10;
constexpr std::int64_t floats_ahead = 8;  // prefetched into L2 with each product of a pixel

class FloatBottleneckKernel {
 public:
  explicit FloatBottleneckKernel(const FloatBottleneck& bottleneck)
      : bottleneck_(bottleneck),
        bands_(bottleneck),
        lines_(bottleneck.stages[1], 0),
        columns_(bottleneck.stages[1], 1),
        line_(columns_),
        expansion_(make_float_expansion(bottleneck.stages[0])),
        windows_(bottleneck.stages[1].views.w),
        projection_(bottleneck.stages[2].views.w,
                    fastest_panel_vectors(bottleneck.stages[2].views.w,
                                          columns_.out * bands_.most_lines())) {
    choose();
    expanded_ = space_.add<float>(rings_ * ring_ * pitch_);
    filtered_ = space_.add<float>(step_ * columns_.out * windows_.outputs());
    pixels_ = space_.add<const float*>(float_block_rows);
    scratch_ = space_.add_bytes(expansion_->scratch_bytes());
    workers_ = std::min<std::int64_t>(bottleneck.threads, bands_.count());
    for (std::int64_t first = 0; first < ring_; ++first) add_taps(first);
  }

  std::int64_t workspace() const { return workers_ * space_.bytes(); }

  Packed packed() const {
    const FloatWeights& expansion = expansion_->weights();
    return {concat(expansion.format(), ", ", windows_.format(), ", ", projection_.format()),
            round_up(expansion.bytes(), 64) + windows_.bytes() + projection_.bytes(),
            {bottleneck_weights, bottleneck_weights + 2, bottleneck_weights + 4},
            {}};
  }

  void pack(const void* const* inputs, std::byte* packed) const {
    const Weights to = weights_in(packed);
    const auto from = [&](int stage) {
      return static_cast<const float*>(inputs[bottleneck_weights + 2 * stage]);
    };
    expansion_->weights().pack(from(0), const_cast<float*>(to.expansion));
    windows_.pack(from(1), const_cast<float*>(to.windows));
    projection_.pack(from(2), const_cast<float*>(to.projection));
  }

  void run(const Call& call) const {
    hand_out(bands_.count(), workers_, [&](std::int64_t band, std::int64_t worker) {
      auto* const space = static_cast<std::byte*>(call.workspace) + worker * space_.bytes();
      run_band({call, weights_in(call.packed), bands_.image(band), bands_.lines(band),
                expanded_.in(space), filtered_.in(space), pixels_.in(space), scratch_.in(space)});
    });
  }

 private:
  struct Weights {
    const float *expansion, *windows, *projection;
  };

  struct Band {
    const Call& call;
    Weights weights;
    std::int64_t image;
    Part lines;       // of y
    float* expanded;  // [one or all panels][ring of lines][columns with pads][32 channels]
    float* filtered;  // [pixels of some lines][channels]
    const float** pixels;
    std::byte* scratch;  // of the expansion

    const float* input(int index) const { return static_cast<const float*>(call.inputs[index]); }
  };

  Weights weights_in(const std::byte* packed) const {
    const auto* const first = reinterpret_cast<const float*>(packed);
    const float* const second = first + round_up(expansion_->weights().bytes(), 64) / 4;
    return {first, second, second + windows_.bytes() / 4};
  }

  // A band is one step, whose panels take turns in one ring, unless too much would be stored
  // between its windows and its projection. Then each panel keeps the lines that two steps see.
  void choose() {
    pitch_ = columns_.seen(columns_.out) * depthwise_channels;
    step_ = bands_.most_lines();
    if (4 * step_ * columns_.out * windows_.outputs() > most_filtered_bytes) {
      rings_ = windows_.blocks();
      const std::int64_t lines = most_expanded_bytes / (4 * pitch_ * rings_);
      const std::int64_t further = std::max(lines - lines_.extent(), std::int64_t{0});
      step_ = std::min(step_, 1 + further / lines_.stride);
    }
    ring_ = lines_.seen(step_);
  }

  // Where the taps of a window lie whose first line is this one of the ring.
  void add_taps(std::int64_t first) {
    std::vector<FloatTap> taps;
    for (std::int64_t ky = 0; ky < lines_.kernel; ++ky)
      for (std::int64_t kx = 0; kx < columns_.kernel; ++kx)
        taps.push_back({(first + ky * lines_.dilation) % ring_ * pitch_ +
                            kx * columns_.dilation * depthwise_channels,
                        std::ssize(taps) * depthwise_channels});
    taps_.push_back(std::move(taps));
  }

  const float* bias(const Band& band, std::size_t stage, std::int64_t channel) const {
    const float* const bias = band.input(bottleneck_weights + 2 * static_cast<int>(stage) + 1);
    return bottleneck_.stages[stage].views.bias ? bias + channel : nullptr;
  }

  void run_band(const Band& band) const {
    for (std::int64_t line = 0; line < rings_ * ring_; ++line)
      clear_pads(band.expanded + line * pitch_);
    std::int64_t known = 0;
    for (std::int64_t line = band.lines.begin; line < band.lines.end; line += step_) {
      const Part lines{line, std::min(line + step_, band.lines.end)}, seen = lines_.seen_by(lines);
      const Part fresh{std::max(known, seen.begin), seen.end};
      known = seen.end;
      for (std::int64_t panel = 0; panel < windows_.blocks(); ++panel)
        run_panel({band, panel, band.expanded + panel % rings_ * ring_ * pitch_, lines, fresh});
      project(band, lines);
    }
  }

  // A panel of channels under some lines of y, and which of its lines are not in the ring yet.
  struct PanelLines {
    const Band& band;
    std::int64_t panel;
    float* expanded;
    Part lines, fresh;
  };

  // The weights that are read next: of the next panel, and a part of those of the projection.
  FloatStretches ahead_of(const Weights& weights, std::int64_t panel) const {
    const FloatWeights& expansion = expansion_->weights();
    FloatStretches ahead;
    if (panel + 1 < expansion.panels()) {
      ahead.add(expansion.panel(weights.expansion, panel + 1), expansion.panel_size(panel + 1));
      ahead.add(windows_.block(weights.windows, panel + 1), windows_.taps() * depthwise_channels);
    }
    const Part part = part_of(projection_.bytes() / 4, expansion.panels(), panel);
    ahead.add(weights.projection + part.begin, part.end - part.begin);
    return ahead;
  }

  // The columns of pads, which nothing else is stored to.
  void clear_pads(float* line) const {
    std::fill_n(line, line_.inside.begin * depthwise_channels, 0.0F);
    std::fill(line + line_.inside.end * depthwise_channels, line + pitch_, 0.0F);
  }

  void run_panel(const PanelLines& at) const {
    const FloatStretches ahead = ahead_of(at.band.weights, at.panel);
    for (std::int64_t line = at.fresh.begin; line < at.fresh.end; ++line)
      expand_line(at, line, ahead);
    for (std::int64_t line = at.lines.begin; line < at.lines.end; ++line) filter_line(at, line);
  }

  void expand_line(const PanelLines& at, std::int64_t line, const FloatStretches& ahead) const {
    const Band& band = at.band;
    float* const to = at.expanded + line % ring_ * pitch_;
    if (line < lines_.pad || line >= lines_.pad + lines_.in) {
      std::fill_n(to, pitch_, 0.0F);
      return;
    }
    const std::int64_t blocks = std::ssize(line_.blocks) * (line - at.fresh.begin);
    expansion_->make({band.call, band.weights.expansion, at.panel, band.image, line - lines_.pad,
                      line_.blocks, to + line_.inside.begin * depthwise_channels, ahead,
                      blocks * expansion_->ahead_each(), band.scratch});
  }

  void filter_line(const PanelLines& at, std::int64_t line) const {
    const Band& band = at.band;
    const std::int64_t channel = at.panel * depthwise_channels, pitch = windows_.outputs();
    const std::int64_t first = (line - at.lines.begin) * columns_.out;
    const auto& taps = taps_[static_cast<std::size_t>(line * lines_.stride % ring_)];
    DepthwiseBlock block{.pixel_count = 0,
                         .taps = taps.data(),
                         .tap_count = std::ssize(taps),
                         .x = nullptr,
                         .pixel_pitch = columns_.stride * depthwise_channels,
                         .ahead = 0,
                         .column_pitch = 0,
                         .line_pitch = 0,
                         .columns_ahead = 0,
                         .lines_ahead = 0,
                         .weights = windows_.block(band.weights.windows, at.panel),
                         .results = {.bias = bias(band, 1, channel),
                                     .residual = nullptr,
                                     .y = nullptr,
                                     .pitch = pitch,
                                     .channels = windows_.channels(at.panel),
                                     .bounds = bottleneck_.stages[1].bounds,
                                     .streams = false}};
    for (const Part& run : line_.runs) {
      block.pixel_count = run.end - run.begin;
      block.x = at.expanded + run.begin * block.pixel_pitch;
      block.results.y = band.filtered + (first + run.begin) * pitch + channel;
      avx512::multiply_depthwise_block(block);
    }
  }

  void project(const Band& band, const Part& lines) const {
    const std::int64_t rows = (lines.end - lines.begin) * columns_.out;
    const std::int64_t first =
        (band.image * lines_.out + lines.begin) * columns_.out * projection_.outputs();
    const std::int64_t blocks = ceil_divide(rows, projection_.block_pixels());
    for (std::int64_t panel = 0; panel < projection_.panels(); ++panel)
      for (std::int64_t i = 0; i < blocks; ++i)
        project_rows(band, panel, first, part_of(rows, blocks, i),
                     i * projection_.depth() * floats_ahead);
  }

  void project_rows(const Band& band, std::int64_t panel, std::int64_t first, const Part& rows,
                    std::int64_t ahead) const {
    for (std::int64_t r = rows.begin; r < rows.end; ++r)
      band.pixels[r - rows.begin] = band.filtered + r * projection_.depth();
    const float* const weights = projection_.panel(band.weights.projection, panel);
    auto* const y = static_cast<float*>(band.call.outputs[0]);
    const std::int64_t channel = projection_.column(panel), size = projection_.panel_size(panel);
    const std::int64_t at = first + rows.begin * projection_.outputs() + channel;
    const bool more = panel + 1 < projection_.panels() && ahead < size;
    avx512::multiply_float_block(
        {.rows = band.pixels,
         .row_count = rows.end - rows.begin,
         .taps = 1,
         .depth = projection_.depth(),
         .weights = weights,
         .ahead = more ? weights + size + ahead
                       : y + at + 2 * projection_.block_pixels() * projection_.outputs(),
         .results = {
             .bias = bias(band, 2, channel),
             .residual = bottleneck_.residual ? band.input(bottleneck_residual) + at : nullptr,
             .y = y + at,
             .pitch = projection_.outputs(),
             .channels = projection_.columns(panel),
             .bounds = bottleneck_.stages[2].bounds,
             .streams = false}});
  }

  FloatBottleneck bottleneck_;
  BottleneckBands bands_;
  BottleneckAxis lines_, columns_;
  BottleneckColumns line_;
  std::unique_ptr<const FloatExpansion> expansion_;
  FloatDepthwiseWeights windows_;
  FloatWeights projection_;
  std::int64_t workers_ = 1, rings_ = 1;
  std::int64_t step_ = 1, ring_ = 1, pitch_ = 0;  // lines of y at once; lines expanded; of a line
  std::vector<std::vector<FloatTap>> taps_;       // by the first line in the ring
  Workspace space_;
  WorkspaceArray<float> expanded_, filtered_;
  WorkspaceArray<const float*> pixels_;
  WorkspaceArray<std::byte> scratch_;
};

}  // namespace

Prepared prepare_float_bottleneck(const FloatBottleneck& bottleneck) {
  const auto made = std::make_shared<const FloatBottleneckKernel>(bottleneck);
  Packed packed = made->packed();
  packed.run = [made](const void* const* inputs, std::byte* bytes) { made->pack(inputs, bytes); };
  return {"bottleneck of f32",
          made->workspace(),
          [made](const Call& call) { made->run(call); },
          {.isa = Isa::avx512},
          std::move(packed)};
}

}  // namespace narrowgauge::cpu
