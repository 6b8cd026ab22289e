// SPDX-License-Identifier: Apache-2.0
#include "cli/progress/profile_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"

namespace narrowgauge::cli {

std::string matrix_unit_text(const ProfileRow& row) {
  return row.matrix_unit ? (*row.matrix_unit ? "yes" : "no") : "-";
}

std::string short_name(const std::string& op) {
  constexpr std::string_view ours = "ng.";
  return op.starts_with(ours) ? op.substr(ours.size()) : op;
}

namespace {

constexpr std::size_t most_rows = 20;

std::string profile_table(const std::vector<ProfileRow>& rows, const Rounds& rounds) {
  double total = 0;
  for (const ProfileRow& row : rows) total += row.milliseconds;
  std::string text = fmt::format("kernels         {:.3f} ms {}, over {} {}\n", total, rounds.one,
                                 rounds.count, rounds.all);
  TextTable table({folding("op", 15), folding("kernel", 14), numbers("nodes", 3), numbers("ms"),
                   numbers("share"), numbers("GB/s", 1), numbers("Gflop/s", 1),
                   words("matrix unit")});
  for (std::size_t i = 0; i < std::min(rows.size(), most_rows); ++i) {
    const ProfileRow& row = rows[i];
    table.add({short_name(row.op), row.kernel, std::to_string(row.nodes),
               fmt::format("{:.3f}", row.milliseconds), fmt::format("{:.1f} %", 100 * row.share),
               rate_text(row.gigabytes_per_second),
               row.gigaflops_per_second > 0 ? rate_text(row.gigaflops_per_second) : "-",
               matrix_unit_text(row)});
  }
  text += table.text(output_width());
  double rest = 0;
  for (std::size_t i = most_rows; i < rows.size(); ++i) rest += rows[i].share;
  if (rows.size() > most_rows)
    text += fmt::format("({} more kinds, {:.1f} % of the time; the trace has all)\n",
                        rows.size() - most_rows, 100 * rest);
  return text;
}

JsonObject row_json(const ProfileRow& row) {
  JsonObject json;
  json.add("op", row.op).add("kernel", row.kernel).add("math", name(row.math));
  json.add("nodes", row.nodes).add("milliseconds", row.milliseconds).add("share", row.share);
  json.add("gigabytes_per_second", row.gigabytes_per_second);
  json.add("gigaflops_per_second", row.gigaflops_per_second);
  return row.matrix_unit ? std::move(json.add("matrix_unit", *row.matrix_unit))
                         : std::move(json.add_null("matrix_unit"));
}

}  // namespace

void print_profile(const std::vector<ProfileRow>& rows, const Rounds& rounds,
                   const std::string& trace, bool as_json) {
  if (!as_json) return print(profile_table(rows, rounds) + "trace           " + trace + '\n');
  std::vector<JsonObject> kernels;
  for (const ProfileRow& row : rows) kernels.push_back(row_json(row));
  JsonObject json;
  json.add("event", "profile").add("trace", trace).add(rounds.all, rounds.count);
  print(json.add("kernels", kernels).line());
}

}  // namespace narrowgauge::cli
