// SPDX-License-Identifier: Apache-2.0
// A drawing within the page, which scales to the width that there is.
#pragma once

#include <string>
#include <string_view>

namespace narrowgauge::cli {

// The width that a phone shows without making text too small to read.
inline constexpr double drawing_width = 440;

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

class Drawing {
 public:
  // `what` is for screen readers.
  Drawing(double width, double height, std::string what);

  // anchor: start, middle or end.
  void text(double x, double y, const std::string& text, const char* classes = "small soft",
            const char* anchor = "middle");
  // A name that ends at `x`. Of more than so many characters the end is shown, and a pointer brings
  // up all of it.
  void name(double x, double y, const std::string& name, std::size_t most);
  void box(const Box& box, std::string_view classes, std::string_view hover = "");
  // `path` in SVG's own words.
  void path(const std::string& path, std::string_view classes, std::string_view hover = "");
  void dot(double x, double y, double radius, std::string_view classes,
           std::string_view hover = "");
  void add(const std::string& svg) { body_ += svg; }
  std::string finish() &&;

 private:
  double width_, height_;
  std::string what_, body_;
};

// A box as part of a path.
std::string box_path(const Box& box);

// The room of such names in pixels: for the longest, or for so many characters.
double name_room(std::size_t longest, std::size_t most);

// At most so many characters of a text, the middle being left out.
std::string shortened(const std::string& text, std::size_t most);

}  // namespace narrowgauge::cli
