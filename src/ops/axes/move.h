// SPDX-License-Identifier: Apache-2.0
// Kernels that only move elements: transposes, slices, concatenations, pads, expansions.
#pragma once

#include <string>
#include <vector>

#include "kernels/cpu/convert/copy.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// One strided copy from an input to an output; offsets in elements. Without an input (-1, or an
// absent one) it writes zeros.
struct Move {
  int input = 0, output = 0;
  std::int64_t from = 0, to = 0;
  std::vector<cpu::CopyAxis> axes;
};

// One axis of a move: `size` elements from `from` in steps of `step` (0 repeats) to `to` in steps
// of `target_step`.
struct MovedRange {
  std::int64_t size = 0, from = 0, step = 1, to = 0, target_step = 1;
};

// A move between operands of one rank, with a range for each axis and the operands' strides.
Move move_ranges(const Request& request, int input, int output,
                 const std::vector<MovedRange>& ranges);
// Fills a whole output with an input of one element, or with zeros.
Move fill(const Request& request, int input, int output);

// Why strides cannot move elements of these operands; "" if they can.
std::string check_movable(const Request& request);

// Runs the moves in order, leaving out outputs that nobody reads. A single move that changes
// nothing makes the output an alias of its input.
Offer offer_moves(const Request& request, const std::vector<Move>& moves);

}  // namespace narrowgauge
