// SPDX-License-Identifier: Apache-2.0
// The ranges that calibrators choose, value by value.
#include <fmt/format.h>

#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/convert/report.h"

namespace narrowgauge::cli {

namespace {

std::string span_text(float low, float high) { return fmt::format("{:.4g} to {:.4g}", low, high); }

}  // namespace

std::string ranges_text(const std::vector<ComparedRanges>& ranges, const ConvertedNames& names) {
  TextTable table({folding("value", 12), words("samples"), words("calibrator"), words("range"),
                   numbers("scale"), numbers("clipped")});
  for (const ComparedRanges& value : ranges) {
    bool is_first = true;
    for (const ChosenRange& chosen : value.chosen) {
      table.add({is_first ? value.name : "", is_first ? span_text(value.least, value.most) : "",
                 chosen.calibrator, span_text(chosen.low, chosen.high),
                 fmt::format("{:.4g}", chosen.scale),
                 fmt::format("{:.3g} %", 100 * chosen.clipped)});
      is_first = false;
    }
  }
  return fmt::format("{}: ranges from samples of {}\n\n{}", names.model, names.ranges,
                     table.text(output_width()));
}

JsonObject ranges_json(const std::vector<ComparedRanges>& ranges, const ConvertedNames& names) {
  std::vector<JsonObject> values;
  for (const ComparedRanges& value : ranges) {
    std::vector<JsonObject> all;
    for (const ChosenRange& chosen : value.chosen) {
      JsonObject each;
      each.add("calibrator", chosen.calibrator).add("low", double{chosen.low});
      each.add("high", double{chosen.high}).add("scale", double{chosen.scale});
      each.add("clipped", chosen.clipped);
      all.push_back(std::move(each));
    }
    JsonObject one;
    one.add("name", value.name).add("least", double{value.least}).add("most", double{value.most});
    one.add("ranges", all);
    values.push_back(std::move(one));
  }
  JsonObject json;
  json.add("model", names.model).add("data", names.ranges).add("values", values);
  return json;
}

}  // namespace narrowgauge::cli
