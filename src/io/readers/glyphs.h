// SPDX-License-Identifier: Apache-2.0
// The data set that the program draws itself: strokes on 28x28 grey pixels, anti-aliased by the
// distance to the stroke, each image a function of (seed, part, index).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace narrowgauge {

inline constexpr int glyph_size = 28;  // pixels, width and height
inline constexpr int glyph_classes = 10;
inline constexpr std::array<std::string_view, glyph_classes> glyph_names{
    "line", "cross", "circle", "arc", "corner", "tee", "parallel", "triangle", "zigzag", "arrow"};

// The label of image `index`: all classes are equally frequent.
constexpr std::int64_t glyph_label(std::int64_t index) { return index % glyph_classes; }

// Draws image `index` of a part into 28x28 pixels. `key` names seed and part.
void draw_glyph(std::uint64_t key, std::int64_t index, std::span<std::uint8_t> pixels);

}  // namespace narrowgauge
