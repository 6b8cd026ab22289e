// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/simulate.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace narrowgauge::cli {

std::vector<UnitModel> models_by_unit() {
  std::vector<UnitModel> models(unit_models().begin(), unit_models().end());
  std::ranges::stable_sort(models, {}, &UnitModel::unit);
  return models;
}

int run_unit_list(const SimulateFlags& flags) {
  TextTable table({"unit", "operands", "result", "at once", "bits", "evidence", "source"},
                  {0, 1, 2, 5, 6});
  std::optional<MatrixUnit> last;
  for (const UnitModel& model : models_by_unit()) {
    if (flags.json) {
      JsonObject json;
      json.add("unit", name(model.unit)).add("operand", name(model.operand));
      json.add("result", name(model.result)).add("terms", model.terms);
      json.add("fraction", model.fraction).add("arithmetic", arithmetic_text(model));
      json.add("evidence", name(model.evidence)).add("source", model.source);
      print(json.line());
      continue;
    }
    const bool again = last == model.unit, cuts = model.fraction > 0;
    last = model.unit;
    table.add({again ? "" : std::string(name(model.unit)), std::string(name(model.operand)),
               std::string(name(model.result)), cuts ? std::to_string(model.terms) : "-",
               cuts ? std::to_string(model.fraction) : "-", std::string(name(model.evidence)),
               std::string(model.source)});
  }
  if (flags.json) return ExitCode::ok;
  print(table.text());
  print(
      "at once (L): products that are added together; bits (F): of each, below the largest.\n"
      "verified: compared with the hardware, vector by vector or instruction by instruction\n"
      "published: as those who measured it say; unresolved: open, asked for by --unresolved\n"
      "other names: h200 is h100, l40s and l4 are ada, a40 is a100, gb200 is b200, fma is ieee\n");
  return ExitCode::ok;
}

}  // namespace narrowgauge::cli
