// SPDX-License-Identifier: Apache-2.0
#include "precision/overrides.h"

#include <algorithm>

#include "base/nearest.h"
#include "base/wildcard.h"
#include "ops/table.h"
#include "precision/plan_text.h"

namespace narrowgauge {

Override parse_override(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  require(equals != std::string_view::npos && equals > 0, "precision: override '", text,
          "' is not of the form name=class or name=dtype");
  Override result{std::string(text), std::string(text.substr(0, equals)), {}, {}};
  const std::string_view value = text.substr(equals + 1);
  result.precision = parse_class(value);
  if (const auto dtype = parse_dtype(value); dtype && is_plan_dtype(*dtype)) result.dtype = dtype;
  require(result.precision || result.dtype, "precision: override '", text, "': expected allow, ",
          "infer, clear, deny, unlisted, f32, f16 or bf16, got '", value, "'");
  return result;
}

namespace {

// Whether the vertex is in a region: its name is a path through the region's op, and it also has
// the name that it has there.
bool is_in_region(const PrecisionVertex& vertex) {
  return vertex.kind != PrecisionVertex::Kind::link && vertex.name != vertex.node->full_name();
}

bool fits(const Override& rule, const PrecisionVertex& vertex) {
  if (vertex.kind != PrecisionVertex::Kind::link) {
    const OpRecord& op = *vertex.node->op;
    if (rule.pattern == op.info.name || rule.pattern == op.full_name()) return true;
  }
  return matches_wildcard(rule.pattern, vertex.name) ||
         (is_in_region(vertex) && matches_wildcard(rule.pattern, vertex.node->full_name()));
}

bool is_op_name(const std::string& name) {
  const auto ops = op_table().all();
  return std::any_of(ops.begin(), ops.end(), [&](const OpRecord* op) {
    return name == op->info.name || name == op->full_name();
  });
}

// The model's own explanation lists its ops and nodes.
std::string unknown_text(const Override& rule, std::span<const PrecisionVertex> vertices) {
  std::vector<std::string> names;
  for (const PrecisionVertex& vertex : vertices) names.push_back(vertex.name);
  for (const OpRecord* op : op_table().all()) names.push_back(op->full_name());
  const std::string guess = suggestion(rule.pattern, names);
  return concat("precision: override '", rule.text,
                "': the model has no node of this name, and there is no such op", guess,
                guess.empty() ? ";" : "", " `narrowgauge explain --all` lists nodes and ops");
}

}  // namespace

bool is_by_name(const Override& rule, const PrecisionVertex& vertex) {
  const bool may_be_called_so = vertex.kind != PrecisionVertex::Kind::source;
  return rule.pattern == vertex.name ||
         (may_be_called_so && is_in_region(vertex) && rule.pattern == vertex.node->full_name());
}

std::vector<const Override*> match_overrides(std::span<const Override> overrides,
                                             std::span<const PrecisionVertex> vertices) {
  std::vector<const Override*> result(vertices.size(), nullptr);
  for (const Override& rule : overrides) {
    bool found = false;
    for (std::size_t v = 0; v < vertices.size(); ++v) {
      if (!fits(rule, vertices[v])) continue;
      result[v] = &rule;
      found = true;
    }
    if (!found && !is_op_name(rule.pattern)) throw UsageError(unknown_text(rule, vertices));
  }
  return result;
}

}  // namespace narrowgauge
