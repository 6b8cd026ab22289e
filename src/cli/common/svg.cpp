// SPDX-License-Identifier: Apache-2.0
#include "cli/common/svg.h"

#include <fmt/format.h>

namespace narrowgauge::cli {

// Grey, blue, green, orange, purple, red, teal and pink, in the order of the labels.
const char* const svg_style = R"(<style>
  text { font-family: system-ui, sans-serif; font-size: 13px; fill: #1f2328 }
  .title { font-size: 17px; font-weight: 600 }
  .small { font-size: 12px }
  .soft { fill: #59636e }
  .page { fill: #ffffff }
  .line { stroke: #59636e; stroke-width: 1.25; fill: none }
  .bar0 { fill: #7d8896 } .bar1 { fill: #2f6fd0 } .bar2 { fill: #2c8f57 }
  .bar3 { fill: #c9730f } .bar4 { fill: #8250df } .bar5 { fill: #b8433a }
  .bar6 { fill: #1b8a8f } .bar7 { fill: #b5509c }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .soft { fill: #a3adb8 }
    .page { fill: #0d1117 }
    .line { stroke: #a3adb8 }
    .bar0 { fill: #8b949e } .bar1 { fill: #5b9bf3 } .bar2 { fill: #4cb878 }
    .bar3 { fill: #e39a42 } .bar4 { fill: #a98af0 } .bar5 { fill: #e07a70 }
    .bar6 { fill: #45b5ba } .bar7 { fill: #de86c8 }
  }
</style>
)";

std::string svg_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
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
  out += svg_style;
  out += "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n";
  out += svg_text(svg_margin, 30, title, "title", "start");
  return out + svg_text(svg_margin, 50, subtitle, "small soft", "start");
}

}  // namespace narrowgauge::cli
