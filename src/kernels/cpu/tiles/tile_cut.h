// SPDX-License-Identifier: Apache-2.0
// How a product of pixels by panels of weights is cut into tasks: parts of the output's lines by
// runs of panels.
#pragma once

#include "kernels/cpu/tiles/pixel_lines.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t tile_panel = 32;          // channels
inline constexpr std::int64_t tile_panel_bytes = 2048;  // of a panel, in each step

struct TileCut {
  std::int64_t lines, panels;  // of a task
};

// The cut that takes the least time by an estimate: steps of tiles, and bytes from beyond L2. Tasks
// are short, or several for each thread, where there is enough to cut.
TileCut best_tile_cut(const PixelLines& lines, std::int64_t panels, std::int64_t threads);

}  // namespace narrowgauge::cpu
