// SPDX-License-Identifier: Apache-2.0
// Where GridSample reads along one axis, and with which weights.
#pragma once

#include <array>
#include <string_view>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

enum class GridMode : std::uint8_t { nearest, linear, cubic };
enum class GridPadding : std::uint8_t { zeros, border, reflection };

// One axis of an image.
struct GridAxis {
  std::int64_t size = 1;
  GridMode mode = GridMode::linear;
  GridPadding padding = GridPadding::zeros;
  bool align_corners = false;
};

// The elements to read, -1 for a zero outside, with their weights and the weights' first and second
// derivatives by the coordinate.
struct GridTaps {
  int count = 0;
  std::array<std::int64_t, 4> element{};
  std::array<double, 4> weight{}, slope{}, curve{};
};

// The taps of a coordinate that runs from -1 to 1 over the axis. Nearest has no slope.
GridTaps grid_taps(const GridAxis& axis, double coordinate);

}  // namespace narrowgauge
