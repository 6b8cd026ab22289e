// SPDX-License-Identifier: Apache-2.0
#include "precision/plans/plan_text.h"

#include <algorithm>

#include "base/files/atomic_file.h"
#include "base/name_index.h"
#include "ir/text.h"

namespace narrowgauge {

std::optional<PrecisionClass> parse_class(std::string_view text) {
  using enum PrecisionClass;
  for (const PrecisionClass precision : {unlisted, allow, infer, clear, deny})
    if (name(precision) == text) return precision;
  return {};
}

bool is_plan_dtype(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

std::optional<bool> makes_narrow(PrecisionRule rule) {
  using enum PrecisionRule;
  if (rule == override_by_name || rule == edited || rule == autocast) return {};
  return rule == seed_allow || rule == between_allows || rule == infer_extension ||
         rule == clear_neighbour || rule == cast_consumers || rule == whole_network ||
         rule == reads_narrow;
}

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

// Reads from the quote at `at` to after the closing one; appends the text in between.
std::size_t take_quoted(std::string_view line, std::size_t at, int number, std::string& out) {
  for (std::size_t i = at + 1; i < line.size(); ++i) {
    if (line[i] == '"') return i + 1;
    if (line[i] != '\\') {
      out += line[i];
    } else if (++i < line.size()) {
      out += line[i] == 'n' ? '\n' : line[i];
    }
  }
  throw ModelError(concat("line ", number, ": a quote is not closed"));
}

}  // namespace

std::vector<std::string> plan_tokens(std::string_view line, int number) {
  std::vector<std::string> tokens;
  std::size_t i = 0;
  while (true) {
    while (i < line.size() && is_space(line[i])) ++i;
    if (i >= line.size() || line[i] == '#') return tokens;
    std::string token;
    while (i < line.size() && !is_space(line[i])) {
      if (line[i] == '"')
        i = take_quoted(line, i, number, token);
      else
        token += line[i++];
    }
    tokens.push_back(std::move(token));
  }
}

std::string plan_word(std::string_view text) {
  const bool plain = !text.empty() && text[0] != '#' &&
                     std::none_of(text.begin(), text.end(),
                                  [](char c) { return is_space(c) || c == '"' || c == '\n'; });
  return plain ? std::string(text) : quoted_text(text);
}

const PlanEntry* PrecisionPlan::find(std::string_view entry_name) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const PlanEntry& entry) { return entry.name == entry_name; });
  return found == entries.end() ? nullptr : &*found;
}

namespace {

constexpr std::string_view introduction =
    "# Which format each node computes in, and the rule that decided.\n"
    "# To change one, write another format (f32, f16, bf16) or another contract after math=;\n"
    "# the line is then read as rule=edited. A plan belongs to one model.\n";

std::string dtype_word(std::optional<DType> dtype) { return dtype ? concat(*dtype) : "-"; }

// The columns of text before the notes.
std::vector<std::string> columns(const PlanEntry& entry) {
  return {plan_word(entry.name), plan_word(entry.op), std::string(name(entry.precision)),
          dtype_word(entry.dtype),
          entry.math == Math::none ? std::string() : concat("math=", entry.math)};
}

}  // namespace

std::string print(const PrecisionPlan& plan) {
  constexpr std::size_t widest = 48;  // longer words push their line only
  std::vector<std::size_t> widths(5, 0);
  for (const PlanEntry& entry : plan.entries) {
    const auto words = columns(entry);
    for (std::size_t c = 0; c < words.size(); ++c)
      widths[c] = std::max(widths[c], std::min(words[c].size(), widest));
  }
  std::string out(introduction);
  out += concat("version ", plan_version, "\nmodel ", plan.model, ' ', plan_word(plan.model_name));
  if (!plan.network.empty()) out += concat("\nnetwork ", plan.network);
  out += concat("\nnarrow ", plan.narrow, "\npolicy ", plan.policy, "\nf32-math ", plan.f32_math,
                '\n');
  if (!plan.master_weights)
    out += concat("master-weights off\nweight-rounding ", name(plan.rounding), '\n');
  if (!plan.reason.empty()) out += concat("reason ", quoted_text(plan.reason), '\n');
  out += '\n';
  for (const PlanEntry& entry : plan.entries) {
    const auto words = columns(entry);
    for (std::size_t c = 0; c < words.size(); ++c) {
      out += words[c];
      out.append(widths[c] - std::min(widths[c], words[c].size()) + (widths[c] > 0 ? 2 : 0), ' ');
    }
    out += concat("rule=", name(entry.rule));
    if (!entry.cause.empty()) out += concat("  cause=", plan_word(entry.cause));
    if (!entry.note.empty()) out += concat("  note=", quoted_text(entry.note));
    out += '\n';
  }
  return out;
}

void save_plan(const PrecisionPlan& plan, const std::string& path) {
  write_file_atomically(path, print(plan));
}

namespace {

void compare(std::vector<PlanChange>& changes, std::string_view what, std::string before,
             std::string after) {
  if (before != after) changes.push_back({std::string(what), std::move(before), std::move(after)});
}

std::string change_text(const PlanEntry& entry) {
  std::string out = dtype_word(entry.dtype);
  if (entry.math != Math::none) out += concat(" math=", entry.math);
  return out + concat(' ', name(entry.rule));
}

}  // namespace

std::vector<PlanChange> diff(const PrecisionPlan& before, const PrecisionPlan& after) {
  std::vector<PlanChange> changes;
  compare(changes, "model", before.model, after.model);
  compare(changes, "narrow", concat(before.narrow), concat(after.narrow));
  compare(changes, "policy", before.policy, after.policy);
  compare(changes, "f32-math", concat(before.f32_math), concat(after.f32_math));
  const auto masters = [](const PrecisionPlan& plan) { return plan.master_weights ? "on" : "off"; };
  compare(changes, "master-weights", masters(before), masters(after));
  const auto rounding = [](const PrecisionPlan& plan) {
    return plan.master_weights ? std::string() : std::string(name(plan.rounding));
  };
  compare(changes, "weight-rounding", rounding(before), rounding(after));
  const NameIndex first(before.entries), second(after.entries);
  for (const PlanEntry& entry : before.entries) {
    const PlanEntry* other = second.find(entry.name);
    compare(changes, entry.name, change_text(entry), other ? change_text(*other) : "");
  }
  for (const PlanEntry& entry : after.entries)
    if (!first.find(entry.name)) compare(changes, entry.name, "", change_text(entry));
  return changes;
}

}  // namespace narrowgauge
