// SPDX-License-Identifier: Apache-2.0
// How kernels that compute lines of images, panel of channels by panel, hand these out to threads.
#pragma once

#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t line_tasks = 4;  // for each thread

struct LineShare {
  std::int64_t line, begin, end;  // panels of this line
};

// Calls body(LineShare) until each panel of each line has been in one. Lines of a task lie
// together. Small images have too few lines for even shares, and many channels: these are cut.
template <class Body>
void hand_out_lines(std::int64_t lines, std::int64_t panels, int threads, const Body& body) {
  const std::int64_t wanted = threads > 1 ? line_tasks * threads : 1;
  const std::int64_t grain = ceil_divide(lines, wanted), tasks = ceil_divide(lines, grain);
  const std::int64_t parts = std::min(panels, ceil_divide(wanted, tasks));
  hand_out(tasks * parts, threads, [&](std::int64_t task, std::int64_t) {
    const std::int64_t part = task % parts, first = task / parts * grain;
    for (std::int64_t line = first; line < std::min(first + grain, lines); ++line)
      body(LineShare{line, panels * part / parts, panels * (part + 1) / parts});
  });
}

}  // namespace narrowgauge::cpu
