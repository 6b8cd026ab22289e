// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/roofline.h"

#include <fmt/format.h>

#include "cli/common/terminal.h"
#include "cli/common/text.h"

namespace narrowgauge::cli {
namespace {

// The rate in 1e9 a second; "" where nothing was counted or timed.
std::string rate_or_nothing(double count, double milliseconds) {
  return count > 0 && milliseconds > 0 ? rate_text(1e-6 * count / milliseconds) : "";
}

std::string share_text(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : "";
}

std::vector<std::string> table_row(const RooflineGroup& group, double step) {
  return {group.name,
          fmt::format("{:.2f}", group.milliseconds),
          share_text(group.milliseconds, step),
          rate_or_nothing(group.flops, group.milliseconds),
          rate_or_nothing(group.bytes, group.milliseconds),
          fmt::format("{:.2f}", group.bound_milliseconds),
          share_text(group.bound_milliseconds, group.milliseconds)};
}

JsonObject group_json(const RooflineGroup& group) {
  JsonObject json;
  json.add("name", group.name).add("milliseconds", group.milliseconds);
  json.add("flops", group.flops).add("bytes", group.bytes);
  json.add("bound_milliseconds", group.bound_milliseconds);
  return json;
}

}  // namespace

std::string roofline_text(const BenchRow& row, const PeakRates& rates) {
  const Roofline found = roofline(row.profile, rates);
  const double step = found.step_milliseconds;
  TextTable table({words(fmt::format("{} {}", row.model, row.precision)), numbers("ms"),
                   numbers("share"), numbers("GFLOP/s", 2), numbers("GB/s", 2),
                   numbers("bound ms", 1), numbers("of bound")});
  for (const RooflineGroup& group : found.groups) table.add(table_row(group, step));
  table.add_line();
  table.add(table_row(found.total, step));
  const RooflineGroup whole{"whole step", step, found.total.flops, found.total.bytes,
                            found.total.bound_milliseconds};
  table.add(table_row(whole, step));
  table.add({found.fused.name, "", "", "", "",
             fmt::format("{:.2f}", found.fused.bound_milliseconds),
             share_text(found.fused.bound_milliseconds, step)});
  return table.text(output_width()) +
         fmt::format("{:.2f} GFLOP and {} moved in a step; {} in the most fused plan\n",
                     found.total.flops * 1e-9,
                     bytes_text(static_cast<std::int64_t>(found.total.bytes)),
                     bytes_text(row.profile.fused_bytes));
}

JsonObject roofline_json(const BenchRow& row, const PeakRates& rates) {
  const Roofline found = roofline(row.profile, rates);
  std::vector<JsonObject> groups;
  for (const RooflineGroup& group : found.groups) groups.push_back(group_json(group));
  JsonObject json;
  json.add("groups", groups).add("total", group_json(found.total));
  json.add("step_milliseconds", found.step_milliseconds);
  json.add("of_bound", found.total.bound_milliseconds / found.step_milliseconds);
  json.add("fused_bytes", row.profile.fused_bytes);
  json.add("fused_bound_milliseconds", found.fused.bound_milliseconds);
  json.add("of_fused_bound", found.fused.bound_milliseconds / found.step_milliseconds);
  return json;
}

std::string peaks_text(const PeakRates& rates) {
  const auto unit = [](const char* name, double rate) {
    return rate > 0 ? fmt::format(", {} {:.0f}", name, rate * 1e-9) : "";
  };
  const std::string units =
      fmt::format("measured peaks: f32 {:.0f}{}{}{} GOP/s;", rates.f32 * 1e-9,
                  unit("bf16", rates.bf16), unit("int16", rates.int16), unit("int8", rates.int8));
  const std::string memory = fmt::format("memory {:.1f} GB/s", rates.memory * 1e-9);
  return units + (units.size() + 1 + memory.size() > 80 ? '\n' : ' ') + memory;
}

std::string rates_text(const PeakRates& rates) {
  return peaks_text(rates) +
         "\nbound: all FLOPs at the peak, plus all operands once at memory's rate;\nvalues that "
         "stay "
         "in a cache can beat it. Most fused plan: each stored tensor\nwritten once and read once "
         "by "
         "each that needs it, however many kernels ran\n";
}

JsonObject rates_json(const PeakRates& rates) {
  JsonObject json;
  json.add("memory_bytes_per_second", rates.memory);
  json.add("f32_gflops", rates.f32 * 1e-9).add("bf16_gflops", rates.bf16 * 1e-9);
  json.add("int16_gops", rates.int16 * 1e-9).add("int8_gops", rates.int8 * 1e-9);
  return json;
}

}  // namespace narrowgauge::cli
