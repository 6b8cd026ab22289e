// SPDX-License-Identifier: Apache-2.0
// How an inverted bottleneck is cut: into bands of lines, which threads take, and parts of a line.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/cpu/core/work.h"
#include "kernels/cpu/floats/float_bottleneck.h"
#include "kernels/cpu/floats/float_depthwise.h"
#include "kernels/cpu/floats/float_rows.h"

namespace narrowgauge::cpu {

// One axis of the window of each channel.
struct BottleneckAxis {
  std::int64_t stride, dilation, pad, in, out, kernel;

  BottleneckAxis(const FloatStage& stage, std::size_t i)
      : stride(stage.window.strides[i]),
        dilation(stage.window.dilations[i]),
        pad(stage.window.pads_begin[i]),
        in(stage.views.x.dims[i + 2]),
        out(stage.views.y.dims[i + 2]),
        kernel(stage.views.w.dims[i + 2]) {}

  std::int64_t extent() const { return (kernel - 1) * dilation + 1; }
  // Places that the windows of `count` results see, pads among them.
  std::int64_t seen(std::int64_t count) const { return (count - 1) * stride + extent(); }
  // The part of these places that holds no pads, counted from the first pad.
  Part inside(const Part& places) const {
    const std::int64_t begin = std::clamp(pad, places.begin, places.end);
    return {begin, std::clamp(pad + in, begin, places.end)};
  }
  Part seen_by(const Part& results) const {
    return {results.begin * stride, (results.end - 1) * stride + extent()};
  }
};

// Each image is cut into bands of lines, which are computed one by one.
class BottleneckBands {
 public:
  explicit BottleneckBands(const FloatBottleneck& bottleneck)
      : lines_(bottleneck.stages[1], 0), images_(bottleneck.stages[1].views.x.dims[0]) {
    const std::int64_t threads = bottleneck.threads;
    if (images_ < 4 * threads)
      each_ = std::min(ceil_divide(round_up(images_, threads), images_), lines_.out);
  }

  std::int64_t count() const { return images_ * each_; }
  std::int64_t image(std::int64_t band) const { return band / each_; }
  Part lines(std::int64_t band) const { return part_of(lines_.out, each_, band % each_); }
  std::int64_t most_lines() const { return ceil_divide(lines_.out, each_); }

  // The lines that all bands would expand if each were as large as the largest, over the lines
  // there are. Neighbouring bands expand some lines twice.
  double repetition() const {
    std::int64_t most = 0;
    for (std::int64_t band = 0; band < each_; ++band) {
      const Part inside = lines_.inside(lines_.seen_by(lines(band)));
      most = std::max(most, inside.end - inside.begin);
    }
    return static_cast<double>(most * each_) / static_cast<double>(lines_.in);
  }

 private:
  BottleneckAxis lines_;
  std::int64_t images_, each_ = 1;
};

// The columns of a line: what the windows see, and what of that is no pad.
struct BottleneckColumns {
  Part seen, inside;
  std::vector<Part> blocks;  // of the pixels inside, without pads: expanded at once
  std::vector<Part> runs;    // of results, whose windows are computed at once

  explicit BottleneckColumns(const BottleneckAxis& axis)
      : seen(axis.seen_by({0, axis.out})),
        inside(axis.inside(seen)),
        blocks(parts_of({inside.begin - axis.pad, inside.end - axis.pad},
                        float_block_pixels(depthwise_vectors))),
        runs(parts_of({0, axis.out}, depthwise_pixels)) {}

 private:
  // Parts of a range, none longer than `most`.
  static std::vector<Part> parts_of(const Part& range, std::int64_t most) {
    const std::int64_t count = range.end - range.begin, parts = ceil_divide(count, most);
    std::vector<Part> all;
    for (std::int64_t i = 0; i < parts; ++i) {
      const Part part = part_of(count, parts, i);
      all.push_back({range.begin + part.begin, range.begin + part.end});
    }
    return all;
  }
};

}  // namespace narrowgauge::cpu
