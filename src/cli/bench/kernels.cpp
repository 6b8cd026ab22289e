// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/kernels.h"

#include <fmt/format.h>

#include "cli/bench/roofline.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"

namespace narrowgauge::cli {
namespace {

double gflops(const ContractionTime& time) { return 1e-6 * time.flops / time.milliseconds; }

// "conv1 dx" for the gradients of a convolution, else the node's own name.
std::string contraction_label(const ContractionTime& time) {
  if (time.op == "ng.ConvDataGradient") return time.origin + " dx";
  if (time.op == "ng.ConvWeightGradient") return time.origin + " dw";
  return time.node;
}

}  // namespace

std::string kernel_text(const KernelRow& row, const PeakRates& peaks) {
  constexpr std::size_t node_width = 20, kernel_width = 12;  // at least
  TextTable table({folding(fmt::format("{} {}", row.model, row.precision), node_width),
                   numbers("count", 3), numbers("ms"), numbers("GFLOP/s", 2), numbers("of peak"),
                   folding("kernel", kernel_width, 1)});
  for (const ContractionTime& each : row.contractions)
    table.add({contraction_label(each), fmt::format("{}", each.count),
               fmt::format("{:.3f}", each.milliseconds), rate_text(gflops(each)),
               fmt::format("{:.0f} %", 100 * of_peak(each, peaks)), each.implementation});
  const KernelTotal total = total_of(row.contractions, peaks);
  table.add_line();
  table.add({"all, by count", "", fmt::format("{:.2f}", total.milliseconds),
             rate_text(1e-6 * total.flops / total.milliseconds),
             fmt::format("{:.0f} %", 100 * total.of_peak), ""});
  return table.text(output_width());
}

JsonObject kernels_json(const KernelOutcome& outcome) {
  std::vector<JsonObject> runs;
  for (const KernelRow& row : outcome.rows) {
    std::vector<JsonObject> contractions;
    for (const ContractionTime& each : row.contractions) {
      JsonObject json;
      json.add("node", each.node).add("op", each.op).add("shapes", each.shapes);
      json.add("count", each.count).add("milliseconds", each.milliseconds);
      json.add("flops", each.flops).add("bytes", each.bytes).add("math", name(each.math));
      json.add("of_peak", of_peak(each, outcome.peaks)).add("kernel", each.implementation);
      json.add("why", each.why);
      contractions.push_back(std::move(json));
    }
    const KernelTotal total = total_of(row.contractions, outcome.peaks);
    JsonObject json;
    json.add("model", row.model).add("precision", row.precision);
    json.add("contractions", contractions).add("milliseconds", total.milliseconds);
    json.add("flops", total.flops).add("of_peak", total.of_peak);
    runs.push_back(std::move(json));
  }
  JsonObject json;
  json.add("event", outcome.stopped ? "interrupted" : "done").add("runs", runs);
  json.add("machine", rates_json(outcome.peaks));
  return json;
}

}  // namespace narrowgauge::cli
