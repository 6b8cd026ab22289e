// SPDX-License-Identifier: Apache-2.0
#include "precision/vertices/reasons.h"

#include <set>

#include "narrowgauge/tf32.h"
#include "ops/units/unit_choice.h"

namespace narrowgauge {

bool tf32_is_forbidden_to(const PlanEntry& entry) {
  const bool contraction = entry.math != Math::none;
  return contraction && asks_for_tf32(entry.math, entry.dtype.value_or(DType::f32)) &&
         !tf32_allowed();
}

std::string math_note(const PlanEntry& entry) {
  std::string note;
  if (tf32_is_forbidden_to(entry))
    note = concat(tf32_forbidden_by(), " forbids TF32: computes in ieee");
  if (is_simulated(entry.math) && entry.dtype)
    note += concat(note.empty() ? "" : "; ", describe(unit_model(entry.math, *entry.dtype)));
  return note;
}

namespace {

// The entry and the causes behind it; a circle in a plan edited by hand ends the chain.
std::vector<const PlanEntry*> causes(const PrecisionPlan& plan, const PlanEntry& entry) {
  std::vector<const PlanEntry*> result{&entry};
  std::set<std::string_view> seen{entry.name};
  while (!result.back()->cause.empty()) {
    const PlanEntry* next = plan.find(result.back()->cause);
    if (!next || !seen.insert(next->name).second) break;
    result.push_back(next);
  }
  return result;
}

// "deny ReduceSum 'loss/sum'"
std::string titled(const PlanEntry& entry) {
  return concat(name(entry.precision), ' ', entry.op, " '", entry.name, '\'');
}

// " through 'a', 'b'": the entries between the first cause and the entry, at most four.
std::string through(const std::vector<const PlanEntry*>& chain) {
  const std::size_t between = chain.size() - 2;
  std::string out;
  for (std::size_t i = 0; i < between; ++i) {
    if (i == 3 && between > 4) return out + concat(" and ", between - i, " more");
    out += concat(i == 0 ? " through '" : ", '", chain[chain.size() - 2 - i]->name, '\'');
  }
  return out;
}

}  // namespace

std::string reason(const PrecisionPlan& plan, const PlanEntry& entry) {
  using enum PrecisionRule;
  const auto chain = causes(plan, entry);
  std::string out(text(entry.rule));
  if (chain.size() > 1) {
    const PlanEntry& first = *chain.back();
    if (entry.rule == deny_propagated) return titled(first) + " reaches it" + through(chain);
    if (entry.rule == clear_neighbour || entry.rule == infer_extension ||
        entry.rule == cast_consumers)
      out += concat(": ", titled(*chain[1]));
  }
  if (!entry.note.empty()) out += concat(" (", entry.note, ')');
  return out;
}

std::vector<std::string> reason_chain(const PrecisionPlan& plan, const PlanEntry& entry) {
  std::vector<std::string> lines;
  for (const PlanEntry* link : causes(plan, entry)) {
    std::string line = concat(link->name, " (", link->op, ", ", name(link->precision), "): ");
    line += link->dtype ? concat(*link->dtype, ", ") : std::string();
    line += concat(name(link->rule), ": ", text(link->rule));
    if (!link->note.empty()) line += concat(" (", link->note, ')');
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace narrowgauge
