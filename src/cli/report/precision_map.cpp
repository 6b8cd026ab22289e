// SPDX-License-Identifier: Apache-2.0
#include "cli/report/precision_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "cli/common/text.h"
#include "cli/report/drawing.h"
#include "cli/report/page.h"

namespace narrowgauge::cli {
namespace {

constexpr std::array phases{Phase::forward, Phase::backward, Phase::update};

struct Format {
  DType dtype;
  std::size_t colour;
};
constexpr std::array formats{Format{DType::f64, 7}, Format{DType::f32, 0}, Format{DType::f16, 1},
                             Format{DType::bf16, 2}};

std::size_t colour_of(DType dtype) {
  const auto* found = std::ranges::find(formats, dtype, &Format::dtype);
  return found == formats.end() ? 4 : found->colour;
}

// What `explain` says of a node, in one line.
std::string node_hover(const NodeExplanation& node) {
  const PlanEntry& entry = node.entry;
  std::string text = fmt::format("{}: {} in {}", entry.name, entry.op, row_of(node).out);
  return text + fmt::format("; {}: {}", name(entry.rule), node.reason);
}

// The nodes of a layer: the one of the forward pass, and those made for it.
struct Row {
  std::string name;
  std::map<Phase, std::vector<const NodeExplanation*>> nodes;
};

// Nodes with a choice of format; what belongs to no layer of the forward pass has a row of its own.
std::vector<Row> rows_of(const Explanation& explanation, const Graph& graph) {
  std::vector<Row> rows;
  std::map<std::string, std::size_t> places;
  for (const NodeExplanation& node : explanation.nodes) {
    if (!node.entry.dtype) continue;
    const std::string& name = node.entry.name;
    const int place = graph.find_node(name);
    const bool made = place >= 0 && !graph.node(place).origin.empty();
    const std::string layer = made ? graph.node(place).origin : name.substr(0, name.find(':'));
    const Phase phase = place >= 0 ? graph.node(place).phase : Phase::forward;
    const auto [found, is_new] = places.emplace(layer, rows.size());
    if (is_new) rows.push_back({layer, {}});
    rows[found->second].nodes[phase].push_back(&node);
  }
  return rows;
}

// Lengths in pixels.
constexpr double cell_height = 14, map_row_height = 18, forward_width = 62, map_top = 22;

// Cells of nodes, which become narrower where there are many.
void draw_cells(Drawing& drawing, const std::vector<const NodeExplanation*>& nodes, Box room) {
  const double each = std::min(cell_height + 2, room.width / static_cast<double>(nodes.size()));
  for (std::size_t i = 0; i < nodes.size(); ++i)
    drawing.box({room.x + each * static_cast<double>(i), room.y, std::max(each - 2, each * 0.8),
                 room.height},
                fmt::format("bar{}", colour_of(*nodes[i]->entry.dtype)), node_hover(*nodes[i]));
}

constexpr std::size_t most_node_letters = 36;  // of a name

std::string map_of(std::span<const Row> rows) {
  std::size_t longest = 14;
  for (const Row& row : rows) longest = std::max(longest, width_of(row.name));
  const double names_width = name_room(longest, most_node_letters);
  const double backward = names_width + forward_width,
               height = map_top + map_row_height * static_cast<double>(rows.size()) + 4;
  Drawing drawing(drawing_width, height, "Formats of the nodes of each layer");
  drawing.text(names_width, 13, "forward", "small soft", "start");
  drawing.text(backward, 13, "backward", "small soft", "start");
  double y = map_top;
  for (const Row& row : rows) {
    drawing.name(names_width - 8, y + 11, row.name, most_node_letters);
    for (const auto& [phase, nodes] : row.nodes) {
      if (phase == Phase::update) continue;  // of no layer; the counts have them
      const bool first = phase == Phase::forward;
      draw_cells(drawing, nodes,
                 {first ? names_width : backward, y,
                  first ? forward_width - 8 : drawing_width - backward, cell_height});
    }
    y += map_row_height;
  }
  return std::move(drawing).finish();
}

using Counts = std::map<Phase, std::map<DType, int>>;

Counts count(const std::vector<Row>& rows) {
  Counts counts;
  for (const Row& row : rows)
    for (const auto& [phase, nodes] : row.nodes)
      for (const NodeExplanation* node : nodes) ++counts[phase][*node->entry.dtype];
  return counts;
}

int most_of(const Counts& counts) {
  int most = 1;
  for (const auto& [phase, by_format] : counts) {
    int all = 0;
    for (const auto& [format, count] : by_format) all += count;
    most = std::max(most, all);
  }
  return most;
}

// A bar for each part of the step, cut by formats.
std::string counts_of(const std::vector<Row>& rows) {
  Counts counts = count(rows);
  const int most = most_of(counts);
  constexpr double left = 80, bar = 22, step = 32;
  Drawing drawing(drawing_width, 26 + step * static_cast<double>(counts.size()),
                  "Nodes in each format, by part of the step");
  double x = left;
  for (const Format& format : formats) {
    const bool used = std::ranges::any_of(
        counts, [&](const auto& each) { return each.second.count(format.dtype) > 0; });
    if (!used) continue;
    drawing.box({x, 3, 11, 11}, fmt::format("bar{}", format.colour));
    drawing.text(x + 16, 13, concat(format.dtype), "small", "start");
    x += 66;
  }
  double y = 24;
  for (const Phase phase : phases) {
    if (!counts.count(phase)) continue;
    drawing.text(left - 10, y + 15, std::string(name(phase)), "small", "end");
    double begin = left;
    for (const Format& format : formats) {
      const int count = counts[phase][format.dtype];
      if (count == 0) continue;
      const double width = (drawing_width - left) * count / most;
      drawing.box({begin, y, width, bar}, fmt::format("bar{}", format.colour),
                  fmt::format("{}: {} nodes in {}", name(phase), count, concat(format.dtype)));
      if (width > 30) drawing.text(begin + width / 2, y + 15, std::to_string(count), "small on");
      begin += width;
    }
    y += step;
  }
  return std::move(drawing).finish();
}

// The maps beside each other, none longer than a screen or two.
std::string maps_of(std::span<const Row> rows) {
  constexpr std::size_t rows_of_a_map = 40;
  std::vector<std::string> maps;
  const std::size_t parts = std::max<std::size_t>(
      rows.size() > 12 ? 2 : 1, (rows.size() + rows_of_a_map - 1) / rows_of_a_map);
  const std::size_t each = (rows.size() + parts - 1) / parts;
  for (std::size_t i = 0; i < rows.size(); i += each)
    maps.push_back(html_figure("", map_of(rows.subspan(i, std::min(each, rows.size() - i))), ""));
  return html_figures(maps);
}

}  // namespace

std::string precision_html(const Explanation& explanation, const Graph& graph) {
  std::vector<Row> rows = rows_of(explanation, graph);
  std::string out;
  std::istringstream lines(summary_text(explanation));
  std::string facts;
  for (std::string line; std::getline(lines, line);) facts += html_paragraph(line);
  out += html_figures(
      {html_figure("Nodes by format", counts_of(rows), ""), "<div>\n" + facts + "</div>\n"});
  out += html_paragraph(
      "A cell is a node of the training step; a pointer over it brings up why it has its format. "
      "narrowgauge explain says the same as a table.");
  std::erase_if(rows, [](const Row& row) {
    return !row.nodes.count(Phase::forward) && !row.nodes.count(Phase::backward);
  });
  constexpr std::size_t many = 100, most_rows = 600;  // so that the page stays small
  if (rows.size() <= many) return out + maps_of(rows);
  const std::size_t shown = std::min(rows.size(), most_rows);
  const std::string title = shown < rows.size()
                                ? fmt::format("The first {} of {} layers", shown, rows.size())
                                : fmt::format("The {} layers", shown);
  return out + html_details(title, maps_of(std::span(rows).first(shown)));
}

}  // namespace narrowgauge::cli
