// SPDX-License-Identifier: Apache-2.0
// The pieces of the page that `narrowgauge report` writes. The page is HTML that is well-formed XML
// too, refers to nothing outside of itself, and needs no scripts. All text is escaped here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace narrowgauge::cli {

std::string html_paragraph(std::string_view text);
// Words or commands as they are typed.
std::string html_code(std::string_view text);
// A heading, with what `body` shows below it; `id` is where links within the page lead.
std::string html_section(const std::string& id, std::string_view title, const std::string& body);
// Pictures beside each other where there is room.
std::string html_figures(const std::vector<std::string>& figures);
// A drawing with its heading above and a sentence below; "" leaves the sentence out.
std::string html_figure(std::string_view title, const std::string& svg, std::string_view below);
// What opens when a reader asks for it.
std::string html_details(std::string_view title, const std::string& body);

class HtmlTable {
 public:
  // A heading that begins with '<' is of a column of words, which stands to the left without it;
  // others are of numbers.
  explicit HtmlTable(std::vector<std::string> headings) : headings_(std::move(headings)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool is_empty() const { return rows_.empty(); }
  std::string text() const;

 private:
  std::vector<std::string> headings_;
  std::vector<std::vector<std::string>> rows_;
};

// Facts with their names, one below the other. The facts are HTML.
struct HtmlFact {
  std::string name, html;
};
std::string html_facts(const std::vector<HtmlFact>& facts);

// The whole file.
std::string html_page(std::string_view title, const std::string& body);

}  // namespace narrowgauge::cli
