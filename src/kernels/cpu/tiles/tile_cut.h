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

// How the steps of a panel are cut for the tiles of a task. A run stays in L1 while all of them
// pass. All panels take a chunk of runs before the next chunk, so that what a chunk reads of the
// pixels stays in L2, and the sums of all panels with it.
struct StepCut {
  std::int64_t run, chunk;
};
StepCut step_cut(const PixelLines& lines, std::int64_t tiles, std::int64_t panels);

// The cut that takes the least time by an estimate: steps of tiles, and bytes from beyond L2. Tasks
// are short, or several for each thread, where there is enough to cut.
// `most_runs`: of panels.
TileCut best_tile_cut(const PixelLines& lines, std::int64_t panels, std::int64_t threads,
                      std::int64_t most_runs);

// Weights of a task that are read again for each two tiles, so that lines of y are written whole.
inline constexpr std::int64_t most_near_weights = 256 << 10;
// Weights of a panel that stay in L1 while pixels pass.
inline constexpr std::int64_t most_run_bytes = 24 << 10;
inline constexpr std::int64_t least_run_tiles = 16;  // of pixels, for which that pays
inline constexpr std::int64_t runs_of_chunk = 2;
inline constexpr std::int64_t tile_sums_bytes = tile_pixels * tile_panel * 4;  // by a panel

// A tile of pixels takes a quarter longer to load where its rows begin an even number of lines of
// the cache apart, as they then lie in few banks of L2. From so many steps and panels on it pays
// that the first panel stores the tiles, one behind the other, for the others.
inline constexpr std::int64_t tile_bytes = tile_pixels * tile_step_bytes;
inline constexpr std::int64_t least_steps_for_stored = 12, least_panels_for_stored = 16;

// A task: tiles of pixels by panels of weights.
struct PixelProduct {
  PixelTiles tiles;
  std::int64_t tile_count, row_bytes;
  const std::int64_t* step_at;
  std::int64_t steps;
  const std::byte* weights;
  std::int64_t step_bytes;  // of weights
  std::int64_t lower_at;    // of f32: from a pixel's upper parts to its lower ones
  std::int64_t first_panel, panel_count;
  bool pixel_by_pixel;  // all panels for two tiles, then for the next two
  bool copied;          // tiles do not read x where it lies
  StepCut cut;
  void* partial;      // sums between runs for each two tiles, of all panels if there are chunks
  std::byte* stored;  // [tiles / 2][steps of a chunk][2 tiles], by the first panel; null: none
};

}  // namespace narrowgauge::cpu
