// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/probe.h"

#include <fmt/format.h>

#include "cli/common/exit_code.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/simulate/simulate.h"

namespace narrowgauge::cli {
namespace {

std::string bits_text(int bits, int most) {
  return bits == most ? fmt::format("{} or more", bits) : std::to_string(bits);
}

JsonObject probe_json(const UnitModel& model, const ProbeResult& it) {
  JsonObject json;
  json.add("unit", name(model.unit)).add("operand", name(model.operand));
  json.add("result", name(model.result));
  if (it.cancellation)
    json.add("cancellation", *it.cancellation);
  else
    json.add_null("cancellation");
  json.add("result_bits", it.result_bits).add("kept_bits", it.kept_bits);
  json.add("at_once", it.at_once).add("rounding", name(it.rounding));
  json.add("reads_subnormals", it.reads_subnormals).add("gives_subnormals", it.gives_subnormals);
  return json;
}

}  // namespace

int run_probe(const SimulateFlags& flags) {
  TextTable table({words("unit"), words("operands"), words("result"), numbers("FTTN", 1),
                   numbers("result bits", 2), numbers("kept bits"), numbers("at once"),
                   words("rounds"), words("subnormals", 3)});
  for (const UnitModel& model : models_by_unit()) {
    if (!can_be_probed(model) || (model.evidence == Evidence::unresolved && !flags.unresolved))
      continue;
    const ProbeResult it = probe(model);
    if (flags.json) {
      print(probe_json(model, it).line());
      continue;
    }
    const char* const subnormals = it.reads_subnormals && it.gives_subnormals ? "kept"
                                   : it.reads_subnormals                      ? "read only"
                                   : it.gives_subnormals                      ? "given only"
                                                                              : "are zero";
    table.add({std::string(name(model.unit)), std::string(name(model.operand)),
               std::string(name(model.result)),
               it.cancellation ? fmt::format("{}", *it.cancellation) : "",
               std::to_string(it.result_bits), bits_text(it.kept_bits, it.most_bits),
               bits_text(it.at_once, most_at_once), std::string(name(it.rounding)), subnormals});
  }
  if (flags.json) return ExitCode::ok;
  print(table.text(output_width()));
  print(
      "FTTN: a sum whose parts cancel; exact 255.875. Published (arXiv 2403.00232, by\n"
      "  operands of its own): V100 and A100 0, H100 191.875, MI100 255.875\n"
      "kept bits: of a term below the largest, where that cancels\n"
      "at once: products that are rounded together\n");
  return ExitCode::ok;
}

}  // namespace narrowgauge::cli
