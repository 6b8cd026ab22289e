// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cli/common/exit_code.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/simulate/simulate.h"

namespace narrowgauge::cli {

std::vector<UnitModel> models_by_unit() {
  std::vector<UnitModel> models(unit_models().begin(), unit_models().end());
  std::ranges::stable_sort(models, {}, &UnitModel::unit);
  return models;
}

int run_unit_list(const SimulateFlags& flags) {
  TextTable table({words("unit"), words("operands"), words("result"), numbers("at once"),
                   numbers("bits"), words("evidence"), folding("source", 20, 1)});
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
  print(table.text(output_width()));
  print(
      "at once (L): products that are added together\n"
      "bits (F): of each, below the largest\n"
      "verified: compared with the hardware, by vectors or instructions\n"
      "published: as those who measured it say\n"
      "unresolved: open, asked for by --unresolved\n"
      "other names: h200 is h100, l40s and l4 are ada, a40 is a100, gb200 is b200,\n"
      "  fma is ieee\n");
  return ExitCode::ok;
}

}  // namespace narrowgauge::cli
