// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "narrowgauge/precision.h"

namespace narrowgauge {

namespace {

struct RuleText {
  std::string_view name, text;
};

// Texts in the order of the enum.
constexpr std::array<RuleText, precision_rule_count> rules{{
    {"seed-allow", "its op is on the allow list"},
    {"between-allows", "it lies on a path from one allow op to another"},
    {"infer-extension", "it reads a narrow value and nothing denied"},
    {"clear-neighbour", "it keeps values as they are and is beside a narrow one"},
    {"cast-consumers", "all that read this cast are narrow"},
    {"deny-list", "its op is on the deny list"},
    {"deny-propagated", "a deny op reaches it through infer and clear ops"},
    {"unlisted", "its op is on no list; such ops stay f32 and stop the colours"},
    {"infer-without-allow-producer", "it is an infer op, and nothing it reads is narrow"},
    {"clear-not-reached", "it is a clear op with no narrow one beside it"},
    {"preserved-output", "it makes an output of the graph or the next value of a state"},
    {"dtype-not-supported", "its op does not take the narrow format"},
    {"not-f32", "its values are not f32 to begin with"},
    {"pinned-type", "it has no port whose format may be chosen"},
    {"source", "inputs, states and constants keep their format; casts follow them"},
    {"region", "its values are chosen one by one on the lines that follow"},
    {"override", "somebody asked for it by name"},
    {"edited", "its line in the plan was changed by hand"},
    {"not-requested", "no narrow format was asked for"},
    {"kept-narrow", "the network sees it in the narrow format alone"},
    {"autocast", "an autocast scope of the network decides"},
    {"whole-network", "the policy casts the whole network"},
    {"after-network", "it comes after the last parameter; outputs and loss stay in f32"},
    {"reads-narrow", "it takes the widest format that it reads, which is narrow"},
    {"reads-f32", "it takes the widest format that it reads, which is f32"},
}};

const RuleText& entry(PrecisionRule rule) { return rules.at(static_cast<std::size_t>(rule)); }

}  // namespace

std::string_view name(PrecisionRule rule) { return entry(rule).name; }
std::string_view text(PrecisionRule rule) { return entry(rule).text; }

std::optional<PrecisionRule> parse_precision_rule(std::string_view name) {
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (rules[i].name == name) return static_cast<PrecisionRule>(i);
  return {};
}

}  // namespace narrowgauge
