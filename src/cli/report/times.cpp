// SPDX-License-Identifier: Apache-2.0
#include "cli/report/times.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/common/text.h"
#include "cli/progress/profile_text.h"
#include "cli/report/axis.h"
#include "cli/report/drawing.h"
#include "cli/report/page.h"

namespace narrowgauge::cli {
namespace {

// Milliseconds of all kernels of an op. Contractions whose kernel does not tell its instructions
// are apart.
struct OpTime {
  std::string op;
  double unit = 0, elsewhere = 0, untold = 0, other = 0;
  double all() const { return unit + elsewhere + untold + other; }
};

double OpTime::*place_of(const ProfileRow& row) {
  if (row.matrix_unit) return *row.matrix_unit ? &OpTime::unit : &OpTime::elsewhere;
  return row.math == Math::none ? &OpTime::other : &OpTime::untold;
}

std::vector<OpTime> times_of(const std::vector<ProfileRow>& rows) {
  std::vector<OpTime> times;
  for (const ProfileRow& row : rows) {
    const std::string op = short_name(row.op);
    auto found = std::ranges::find(times, op, &OpTime::op);
    if (found == times.end()) found = times.insert(found, {op});
    (*found).*place_of(row) += row.milliseconds;
  }
  std::ranges::stable_sort(times, std::greater{}, &OpTime::all);
  return times;
}

struct Part {
  const char *name, *colour;
  double OpTime::*milliseconds;
};
constexpr Part time_parts[] = {{"matrix unit", "bar2", &OpTime::unit},
                               {"other unit", "bar1", &OpTime::elsewhere},
                               {"unit not told", "bar3", &OpTime::untold},
                               {"no contraction", "bar0", &OpTime::other}};

std::string picture_of(const std::vector<OpTime>& times, double total) {
  constexpr double left = 172, right = 122, bar = 15, step = 21, top = 26;
  const double room = drawing_width - left - right, most = std::max(times.front().all(), 1e-9);
  Drawing drawing(drawing_width, top + step * static_cast<double>(times.size()) + 2,
                  "Milliseconds of a training step by kind of op");
  double x = 4;
  for (const Part& part : time_parts) {
    const auto uses = [&](const OpTime& time) { return time.*part.milliseconds > 0; };
    if (std::ranges::none_of(times, uses)) continue;
    drawing.box({x, 3, 11, 11}, part.colour);
    drawing.text(x + 16, 13, part.name, "small", "start");
    x += 26 + 6.2 * static_cast<double>(std::string_view(part.name).size());
  }
  double y = top;
  for (const OpTime& time : times) {
    drawing.name(left - 8, y + 12, time.op, 23);
    double begin = left;
    for (const Part& part : time_parts) {
      const double milliseconds = time.*part.milliseconds, width = room * milliseconds / most;
      if (milliseconds <= 0) continue;
      drawing.box({begin, y, std::max(width, 0.5), bar}, part.colour,
                  fmt::format("{}, {}: {:.3f} ms", time.op, part.name, milliseconds));
      begin += width;
    }
    drawing.text(begin + 6, y + 12,
                 fmt::format("{:.2f} ms, {:.1f} %", time.all(), 100 * time.all() / total),
                 "small soft", "start");
    y += step;
  }
  return std::move(drawing).finish();
}

}  // namespace

std::string times_html(const std::vector<ProfileRow>& rows, std::int64_t steps) {
  std::vector<OpTime> times = times_of(rows);
  double total = 0;
  for (const OpTime& time : times) total += time.all();
  if (times.empty() || total <= 0) return html_paragraph("No kernel took time that could be told.");
  constexpr std::size_t most = 20;
  const std::size_t more = times.size() > most ? times.size() - most : 0;
  times.resize(times.size() - more);
  std::string out = html_figures(
      {html_figure(fmt::format("{:.2f} ms a step, mean of {}", total,
                               steps == 1 ? "1 step" : fmt::format("{} steps", steps)),
                   picture_of(times, total),
                   more > 0 ? fmt::format("{} more kinds of op are below.", more) : "")});
  HtmlTable table({"<op", "<kernel", "<math", "nodes", "ms", "share", "GB/s", "Gflop/s",
                   "<ran on the matrix unit?"});
  for (const ProfileRow& row : rows)
    table.add({short_name(row.op), row.kernel,
               row.math == Math::none ? "-" : std::string(name(row.math)), grouped(row.nodes),
               fmt::format("{:.3f}", row.milliseconds), fmt::format("{:.1f} %", 100 * row.share),
               rate_text(row.gigabytes_per_second),
               row.gigaflops_per_second > 0 ? rate_text(row.gigaflops_per_second) : "-",
               matrix_unit_text(row)});
  return out + html_details(fmt::format("The {} kinds of kernels", rows.size()), table.text());
}

}  // namespace narrowgauge::cli
