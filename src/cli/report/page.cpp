// SPDX-License-Identifier: Apache-2.0
#include "cli/report/page.h"

#include <fmt/format.h>

#include <sstream>

#include "cli/common/svg.h"

namespace narrowgauge::cli {
namespace {

// Colours other than those of the drawings, which svg_rules() has.
constexpr const char* style = R"(
:root { color-scheme: light dark; --page: #ffffff; --ink: #1f2328; --soft: #59636e;
  --edge: #d1d9e0; --card: #f6f8fa; --accent: #2f6fd0 }
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: anywhere }
main { max-width: 1000px; margin: 0 auto; padding: 20px 16px 40px }
h1 { font-size: 26px; line-height: 1.25; margin: 8px 0 4px }
h2 { font-size: 20px; margin: 40px 0 10px; padding-top: 14px; border-top: 1px solid var(--edge) }
h3 { font-size: 15px; margin: 0 0 6px }
p { margin: 8px 0; max-width: 75ch }
nav { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 10px 0 }
a { color: var(--accent) }
code { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  background: var(--card); border: 1px solid var(--edge); border-radius: 6px; padding: 1px 5px }
code.command { display: block; padding: 8px 10px; white-space: pre-wrap }
code.command span { display: inline-block; max-width: 100% }
dl { display: grid; grid-template-columns: minmax(90px, max-content) 1fr; gap: 5px 18px; margin: 14px 0 }
dt { color: var(--soft) }
dd { margin: 0; min-width: 0 }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr));
  gap: 18px 24px; align-items: start; margin: 14px 0 }
figure { margin: 0; min-width: 0; break-inside: avoid }
figure svg { display: block; width: 100%; height: auto; max-width: 620px }
figcaption { color: var(--soft); font-size: 13px; margin-top: 4px }
.scroll { overflow-x: auto; margin: 12px 0 }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums }
th { color: var(--soft); font-weight: 600; vertical-align: bottom }
th, td { text-align: right; padding: 4px 0 4px 18px; border-bottom: 1px solid var(--edge);
  white-space: nowrap }
th.words, td.words { text-align: left }
th:first-child, td:first-child { padding-left: 0 }
summary { cursor: pointer; color: var(--accent); margin: 10px 0 }
.samples { display: grid; grid-template-columns: repeat(auto-fill, minmax(104px, 1fr));
  gap: 14px 12px; margin: 12px 0 20px }
.samples figure svg { image-rendering: pixelated; border: 1px solid var(--edge) }
.samples figcaption { font-size: 12.5px; line-height: 1.35; color: var(--ink) }
.grid { stroke: var(--edge); stroke-width: 1; fill: none }
.curve { stroke-width: 1.6; stroke-linejoin: round; stroke-linecap: round }
.pale { opacity: 0.45 }
.band { fill: #7d8896; fill-opacity: 0.17 }
.band2 { fill: #7d8896; fill-opacity: 0.13 }
.column { fill: #7d8896; fill-opacity: 0 }
.column:hover { fill-opacity: 0.22 }
.on { fill: #ffffff }
@media (prefers-color-scheme: dark) {
  :root { --page: #0d1117; --ink: #e6edf3; --soft: #a3adb8; --edge: #30363d; --card: #161b22;
    --accent: #5b9bf3 }
  .on { fill: #0d1117 }
}
@media (max-width: 480px) {
  table { font-size: 13px }
  th, td { padding-left: 11px }
}
@media print {
  main { max-width: none; padding: 0 }
  nav { display: none }
  h2, h3 { break-after: avoid }
  .figures { grid-template-columns: 1fr 1fr }
  tr { break-inside: avoid }
}
)";

bool of_words(const std::string& heading) { return heading.starts_with('<'); }

std::string table_cell(const char* tag, bool words, std::string_view text) {
  return fmt::format("<{0}{1}>{2}</{0}>", tag, words ? " class=\"words\"" : "", svg_escaped(text));
}

}  // namespace

std::string html_paragraph(std::string_view text) {
  return text.empty() ? "" : fmt::format("<p>{}</p>\n", svg_escaped(text));
}

std::string html_code(std::string_view text) {
  std::string words;
  std::istringstream in{std::string(text)};
  for (std::string word; std::getline(in, word, ' ');)
    words += (words.empty() ? "" : " ") + ("<span>" + svg_escaped(word) + "</span>");
  return "<code class=\"command\">" + words + "</code>";
}

std::string html_section(const std::string& id, std::string_view title, const std::string& body) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, svg_escaped(title),
                     body);
}

std::string html_figures(const std::vector<std::string>& figures) {
  if (figures.empty()) return "";
  std::string out = "<div class=\"figures\">\n";
  for (const std::string& figure : figures) out += figure;
  return out + "</div>\n";
}

std::string html_figure(std::string_view title, const std::string& svg, std::string_view below) {
  std::string out = "<figure>\n";
  if (!title.empty()) out += fmt::format("<h3>{}</h3>\n", svg_escaped(title));
  out += svg;
  if (!below.empty()) out += fmt::format("<figcaption>{}</figcaption>\n", svg_escaped(below));
  return out + "</figure>\n";
}

std::string html_details(std::string_view title, const std::string& body) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", svg_escaped(title), body);
}

std::string HtmlTable::text() const {
  std::string out = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (const std::string& heading : headings_)
    out += table_cell("th", of_words(heading), std::string_view(heading).substr(of_words(heading)));
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : rows_) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c)
      out += table_cell("td", of_words(headings_[c]), row[c]);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string html_facts(const std::vector<HtmlFact>& facts) {
  std::string out = "<dl>\n";
  for (const HtmlFact& fact : facts)
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", svg_escaped(fact.name), fact.html);
  return out + "</dl>\n";
}

std::string html_page(std::string_view title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<main>\n{}</main>\n</body>\n"
      "</html>\n",
      svg_escaped(title), svg_rules(), style, body);
}

}  // namespace narrowgauge::cli
