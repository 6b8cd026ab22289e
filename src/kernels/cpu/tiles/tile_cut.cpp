// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/tile_cut.h"

#include <algorithm>
#include <optional>

#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {
namespace {

// Measured on a Xeon with AMX, in cycles of one core.
constexpr double step_cycles = 32;  // a tile of pixels by a panel
constexpr double far_bytes = 10;    // a cycle, from beyond L2
constexpr double task_cycles = 2000;
// The most bytes of a part and of weights that stay in L2 together.
constexpr std::int64_t most_part_bytes = 1280 << 10, most_weight_bytes = 1 << 20;

// A thread may keep others waiting for so many cycles, or for one of its tasks where it has so
// many.
constexpr double most_cycles_in_task = 250'000;
constexpr std::int64_t tasks_for_thread = 4;

// The bytes of what a task reads again for each panel.
std::int64_t held_bytes(const PixelLines& lines, std::int64_t part, std::int64_t tiles,
                        std::int64_t panels) {
  const std::int64_t chunk = step_cut(lines, tiles, panels).chunk;
  if (chunk == lines.steps()) return part;
  return part / lines.steps() * chunk + panels * tiles * tile_sums_bytes;
}

struct Estimate {
  double cycles;  // of a thread
  bool fine;      // tasks are short or many
};

// A thread goes through its tasks in order: all parts for a run of panels, then for the next.
Estimate estimate(const PixelLines& lines, std::int64_t panels, const TileCut& cut,
                  std::int64_t threads) {
  const PixelParts parts(lines, cut.lines);
  const std::int64_t tasks = parts.count() * ceil_divide(panels, cut.panels);
  const std::int64_t own = ceil_divide(tasks, threads);
  const std::int64_t parts_of_weights = lines.is_split() ? 2 : 1;
  const std::int64_t weights = cut.panels * lines.steps() * parts_of_weights * tile_panel_bytes;
  const std::int64_t weights_read =
      weights <= most_weight_bytes ? ceil_divide(own, parts.count()) : own;
  const std::int64_t part = parts.read_bytes(), own_parts = std::min(own, parts.count());
  std::int64_t parts_read = own_parts;
  if (own_parts * part > most_part_bytes) parts_read = own;
  if (held_bytes(lines, part, parts.tiles(), cut.panels) > most_part_bytes)
    parts_read = own * cut.panels;
  const std::int64_t products_in_step = lines.is_split() ? 3 : 1;
  const double products =
      static_cast<double>(parts.tiles() * cut.panels * lines.steps() * products_in_step) *
      step_cycles;
  const double cycles = static_cast<double>(own) * (products + task_cycles);
  const double far_weights = static_cast<double>(weights_read * weights) / far_bytes;
  const double far_parts = static_cast<double>(parts_read * part) / far_bytes;
  // Weights are prefetched while others are multiplied, but not all of them.
  return {std::max(cycles, far_weights) + far_weights / 4 + far_parts,
          threads == 1 || products <= most_cycles_in_task || tasks >= tasks_for_thread * threads};
}

// Images halved again and again, and several of them together.
std::vector<std::int64_t> line_counts(const PixelLines& lines) {
  const std::int64_t in_image = lines.lines_in_image();
  const std::int64_t unit = lines.is_flat() ? tile_pixels : 1;
  std::vector<std::int64_t> counts;
  for (std::int64_t parts = 1; parts <= in_image; parts *= 2)
    counts.push_back(std::min(round_up(ceil_divide(in_image, parts), unit), in_image));
  for (std::int64_t images = 2; images * in_image <= lines.lines(); images *= 2)
    counts.push_back(images * in_image);
  return counts;
}

}  // namespace

StepCut step_cut(const PixelLines& lines, std::int64_t tiles, std::int64_t panels) {
  const std::int64_t steps = lines.steps();
  const std::int64_t step_bytes = (lines.is_split() ? 2 : 1) * tile_panel_bytes;
  if (tiles < least_run_tiles) return {steps, steps};
  const std::int64_t run = ceil_divide(steps, ceil_divide(steps * step_bytes, most_run_bytes));
  const std::int64_t chunk = std::min(runs_of_chunk * run, steps);
  const std::int64_t read = tile_bytes * (steps - chunk);  // of a tile, beside a chunk
  const bool pays = lines.is_direct() && read > panels * tile_sums_bytes;
  return {run, pays ? chunk : steps};
}

TileCut best_tile_cut(const PixelLines& lines, std::int64_t panels, std::int64_t threads,
                      std::int64_t most_runs) {
  TileCut best{1, 1};
  std::optional<Estimate> least;
  for (const std::int64_t count : line_counts(lines))
    for (std::int64_t runs = 1; runs <= most_runs; runs *= 2) {
      const TileCut cut{count, ceil_divide(panels, runs)};
      const Estimate now = estimate(lines, panels, cut, threads);
      const bool better =
          !least || (now.fine == least->fine ? now.cycles < least->cycles : now.fine);
      if (!better) continue;
      best = cut;
      least = now;
    }
  return best;
}

}  // namespace narrowgauge::cpu
