// SPDX-License-Identifier: Apache-2.0
// Pictures as self-contained SVG that is readable on light and on dark pages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace narrowgauge::cli {

// Classes: text, title, small, soft (grey), page, line, bar0 ... bar7 (fills), stroke0 ... stroke7
// (lines of the same colours).
inline constexpr std::size_t svg_colours = 8;
inline constexpr double svg_margin = 24;  // pixels
// The rules of these classes, light and dark.
std::string svg_rules();

// Text as it stands in elements and attributes of SVG and HTML. What XML cannot hold, such as
// control characters, is made printable.
std::string svg_escaped(std::string_view text);
// anchor: start, middle or end.
std::string svg_text(double x, double y, const std::string& text, const char* classes,
                     const char* anchor = "middle");
// The beginning of a page with its title and a line below it; "</svg>" ends the page.
std::string svg_page(double width, double height, const std::string& title,
                     const std::string& subtitle);

}  // namespace narrowgauge::cli
