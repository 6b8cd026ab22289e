// SPDX-License-Identifier: Apache-2.0
#include "cli/common/svg.h"

#include <fmt/format.h>

#include "base/text/printable.h"

namespace narrowgauge::cli {

namespace {

struct Colour {
  const char *light, *dark;
};
// Grey, blue, green, orange, purple, red, teal and pink, in the order of the labels.
constexpr Colour colours[svg_colours] = {
    {"#7d8896", "#8b949e"}, {"#2f6fd0", "#5b9bf3"}, {"#2c8f57", "#4cb878"}, {"#c9730f", "#e39a42"},
    {"#8250df", "#a98af0"}, {"#b8433a", "#e07a70"}, {"#1b8a8f", "#45b5ba"}, {"#b5509c", "#de86c8"}};

std::string colour_rules(const char* Colour::*shade) {
  std::string rules;
  for (std::size_t i = 0; i < svg_colours; ++i)
    rules += fmt::format("  .bar{0} {{ fill: {1} }} .stroke{0} {{ stroke: {1}; fill: none }}\n", i,
                         colours[i].*shade);
  return rules;
}

}  // namespace

std::string svg_rules() {
  return R"(  text { font-family: system-ui, sans-serif; font-size: 13px; fill: #1f2328 }
  .title { font-size: 17px; font-weight: 600 }
  .small { font-size: 12px }
  .soft { fill: #59636e }
  .page { fill: #ffffff }
  .line { stroke: #59636e; stroke-width: 1.25; fill: none }
)" + colour_rules(&Colour::light) +
         R"(  @media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .soft { fill: #a3adb8 }
  .page { fill: #0d1117 }
  .line { stroke: #a3adb8 }
)" + colour_rules(&Colour::dark) +
         "  }\n";
}

std::string svg_escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string svg_text(double x, double y, const std::string& text, const char* classes,
                     const char* anchor) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n",
                     x, y, anchor, classes, svg_escaped(text));
}

std::string svg_page(double width, double height, const std::string& title,
                     const std::string& subtitle) {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n<title>{2}</title>\n",
      width, height, svg_escaped(title));
  out += "<style>\n" + svg_rules() + "</style>\n";
  out += "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n";
  out += svg_text(svg_margin, 30, title, "title", "start");
  return out + svg_text(svg_margin, 50, subtitle, "small soft", "start");
}

}  // namespace narrowgauge::cli
