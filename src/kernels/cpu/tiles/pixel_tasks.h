// SPDX-License-Identifier: Apache-2.0
// A convolution on tiles of pixels, cut into tasks that threads take.
#pragma once

#include <algorithm>

#include "kernels/cpu/core/work.h"
#include "kernels/cpu/tiles/pixel_weights.h"

namespace narrowgauge::cpu {

class PixelTasks {
 public:
  // x, w and y as PixelLines and PixelWeights take them. `whole_pixels`: a task has all channels of
  // its pixels.
  PixelTasks(const View& x, const View& w, const View& y, const ConvolutionWindow& window,
             std::int64_t threads, bool whole_pixels)
      : lines_(x.dtype, x.dims, w.dims, y.dims, window),
        weights_(w, lines_),
        cut_(best_tile_cut(lines_, weights_.panels(), threads,
                           whole_pixels ? 1 : weights_.panels())),
        parts_(lines_, cut_.lines) {
    tasks_ = parts_.count() * ceil_divide(weights_.panels(), cut_.panels);
    workers_ = std::min(threads, tasks_);
    pixels_at_ = round_up(parts_.tiles() * static_cast<std::int64_t>(sizeof(std::byte*)), 64);
    copies_at_ = pixels_at_ + parts_.tiles() * tile_pixels * 4;
    partial_at_ = round_up(copies_at_ + parts_.copy_bytes(), 64);
    const bool near = is_near(cut_.panels);
    if (!near) steps_ = step_cut(lines_, parts_.tiles(), cut_.panels);
    const std::int64_t pairs = ceil_divide(parts_.tiles(), 2);
    const std::int64_t panels_at_once = steps_.chunk < lines_.steps() ? cut_.panels : 1;
    stored_at_ = partial_at_;
    if (steps_.run < lines_.steps()) stored_at_ += panels_at_once * pairs * 2 * tile_sums_bytes;
    slot_bytes_ =
        stored_at_ + (stores_tiles(parts_.tiles()) ? pairs * steps_.chunk * 2 * tile_bytes : 0);
  }

  PixelTasks(const PixelTasks&) = delete;
  PixelTasks& operator=(const PixelTasks&) = delete;

  const PixelWeights& weights() const { return weights_; }
  std::int64_t workspace() const { return workers_ * slot_bytes_; }

  struct Operands {
    const void* x;
    std::uint8_t pad;         // a byte of what x is padded with
    const std::byte* packed;  // weights
    std::byte* workspace;
  };
  // Calls body(product, pixels) for each task: all parts for a run of panels, then for the next.
  template <class Body>
  void run(const Operands& operands, const Body& body) const {
    hand_out(tasks_, workers_, [&](std::int64_t task, std::int64_t worker) {
      std::byte* const slot = operands.workspace + worker * slot_bytes_;
      const PixelTiles tiles{reinterpret_cast<const std::byte**>(slot),
                             reinterpret_cast<std::int32_t*>(slot + pixels_at_)};
      const std::int64_t part = task % parts_.count();
      const std::int64_t first_panel = task / parts_.count() * cut_.panels;
      const std::int64_t panels = std::min(cut_.panels, weights_.panels() - first_panel);
      const std::int64_t count = parts_.load(static_cast<const std::byte*>(operands.x), part,
                                             operands.pad, slot + copies_at_, tiles);
      const bool near = is_near(cut_.panels);
      body(PixelProduct{tiles, count, lines_.row_bytes(), parts_.step_at().data(), lines_.steps(),
                        operands.packed, weights_.step_bytes(), lines_.lower_at(), first_panel,
                        panels, near, !lines_.is_direct(), steps_, slot + partial_at_,
                        stores_tiles(count) ? slot + stored_at_ : nullptr},
           parts_.pixels(part));
    });
  }

 private:
  bool is_near(std::int64_t panels) const {
    return panels * weights_.panel_bytes() <= most_near_weights;
  }

  // Whether a task with so many tiles of x stores them for the panels after the first.
  bool stores_tiles(std::int64_t tiles) const {
    return lines_.is_direct() && lines_.row_bytes() % (2 * tile_step_bytes) == 0 &&
           tiles >= least_run_tiles && lines_.steps() >= least_steps_for_stored &&
           cut_.panels >= least_panels_for_stored && !is_near(cut_.panels);
  }

  PixelLines lines_;
  PixelWeights weights_;
  TileCut cut_;
  PixelParts parts_;
  StepCut steps_{lines_.steps(), lines_.steps()};
  std::int64_t tasks_, workers_, pixels_at_, copies_at_, partial_at_, stored_at_, slot_bytes_;
};

}  // namespace narrowgauge::cpu
