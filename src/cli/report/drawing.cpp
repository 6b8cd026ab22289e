// SPDX-License-Identifier: Apache-2.0
#include "cli/report/drawing.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/common/svg.h"
#include "cli/common/text.h"

namespace narrowgauge::cli {
namespace {

// What a pointer brings up over an element.
std::string title_of(std::string_view hover) {
  return hover.empty() ? "" : fmt::format("<title>{}</title>", svg_escaped(hover));
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

constexpr const char* left_out = "\xE2\x80\xA6";

// At most so many characters of a text, the beginning being left out.
std::string ending_of(const std::string& text, std::size_t most) {
  if (width_of(text) <= most) return text;
  std::size_t begin = text.size();
  for (std::size_t kept = 0; kept + 1 < most;)
    if (begins_character(text[--begin])) ++kept;
  return left_out + text.substr(begin);
}

}  // namespace

Drawing::Drawing(double width, double height, std::string what)
    : width_(width), height_(height), what_(std::move(what)) {}

void Drawing::text(double x, double y, const std::string& text, const char* classes,
                   const char* anchor) {
  body_ += svg_text(x, y, text, classes, anchor);
}

void Drawing::name(double x, double y, const std::string& name, std::size_t most) {
  const std::string shown = ending_of(name, most);
  body_ += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\" class=\"small\">{}{}</text>\n", x, y,
      svg_escaped(shown), shown == name ? "" : title_of(name));
}

void Drawing::box(const Box& box, std::string_view classes, std::string_view hover) {
  body_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\">{}</rect>\n",
      box.x, box.y, box.width, box.height, classes, title_of(hover));
}

void Drawing::path(const std::string& path, std::string_view classes, std::string_view hover) {
  body_ += fmt::format("<path d=\"{}\" class=\"{}\">{}</path>\n", path, classes, title_of(hover));
}

void Drawing::dot(double x, double y, double radius, std::string_view classes,
                  std::string_view hover) {
  body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" class=\"{}\">{}</circle>\n", x,
                       y, radius, classes, title_of(hover));
}

std::string Drawing::finish() && {
  return fmt::format(
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n", width_,
      height_, svg_escaped(what_), body_);
}

std::string box_path(const Box& box) {
  return fmt::format("M{:.1f} {:.1f}h{:.1f}v{:.1f}h{:.1f}z", box.x, box.y, box.width, box.height,
                     -box.width);
}

double name_room(std::size_t longest, std::size_t most) {
  constexpr double letter = 6.7;
  return 10 + letter * static_cast<double>(std::min(longest, most));
}

std::string shortened(const std::string& text, std::size_t most) {
  if (width_of(text) <= most) return text;
  std::size_t head = 0, tail = text.size();
  for (std::size_t kept = 0; kept <= most / 2; ++head)
    if (begins_character(text[head]) && ++kept > most / 2) break;
  for (std::size_t kept = 0; kept < most - 1 - most / 2;)
    if (begins_character(text[--tail])) ++kept;
  return text.substr(0, head) + left_out + text.substr(tail);
}

}  // namespace narrowgauge::cli
