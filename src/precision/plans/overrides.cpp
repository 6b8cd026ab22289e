// SPDX-License-Identifier: Apache-2.0
#include "precision/plans/overrides.h"

#include <algorithm>

#include "base/text/nearest.h"
#include "base/text/wildcard.h"
#include "ops/table.h"
#include "precision/plans/parameters.h"
#include "precision/plans/plan_text.h"

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

// The nodes that it stands for, where these are not called as it is.
std::span<const FileNode> file_nodes_of(const PrecisionVertex& vertex) {
  if (vertex.kind == PrecisionVertex::Kind::link) return {};
  return vertex.node->file_nodes;
}

bool fits(const Override& rule, const FileNode& node) {
  return matches_wildcard(rule.pattern, node.name) || matches_wildcard(rule.pattern, node.path);
}

bool is_by_name(const Override& rule, const FileNode& node) {
  return rule.pattern == node.name || rule.pattern == node.path;
}

bool fits(const Override& rule, const PrecisionVertex& vertex) {
  if (vertex.kind != PrecisionVertex::Kind::link) {
    const OpRecord& op = *vertex.node->op;
    if (rule.pattern == op.info.name || rule.pattern == op.full_name()) return true;
  }
  return matches_wildcard(rule.pattern, vertex.name) ||
         (is_in_region(vertex) && matches_wildcard(rule.pattern, vertex.node->full_name())) ||
         std::ranges::any_of(file_nodes_of(vertex),
                             [&](const FileNode& node) { return fits(rule, node); });
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
  for (const PrecisionVertex& vertex : vertices) {
    names.push_back(vertex.name);
    for (const FileNode& node : file_nodes_of(vertex)) names.push_back(node.name);
  }
  for (const OpRecord* op : op_table().all()) names.push_back(op->full_name());
  const std::string guess = suggestion(rule.pattern, names);
  return concat("precision: override '", rule.text,
                "': the model has no node of this name, and there is no such op", guess,
                guess.empty() ? ";" : "", " `narrowgauge explain --all` lists nodes and ops");
}

// Whether the override can change what the plan says of the vertex. Without masters parameters have
// a format, too.
bool has_choice(const Override& rule, const PrecisionVertex& vertex,
                const PrecisionRequest& wanted) {
  if (rule.precision && vertex.kind == PrecisionVertex::Kind::cast) return false;
  return !nothing_to_choose(vertex) || (!wanted.master_weights && is_parameter(vertex));
}

void require_reach(const Override& rule, std::span<const PrecisionVertex> vertices,
                   const PrecisionRequest& wanted) {
  const PrecisionVertex* first = nullptr;
  for (const PrecisionVertex& vertex : vertices) {
    if (!fits(rule, vertex)) continue;
    if (has_choice(rule, vertex, wanted)) return;
    if (!first) first = &vertex;
  }
  if (is_op_name(rule.pattern)) return;
  if (!first) throw UsageError(unknown_text(rule, vertices));
  const auto nothing = nothing_to_choose(*first);
  throw UsageError(concat("precision: override '", rule.text, "': ",
                          nothing ? concat("nothing to choose, ", text(*nothing))
                                  : "a cast has no class, only a format"));
}

// Nodes of a file that became one can be named apart, but it can follow one override only.
void require_agreement(const Override& last, const Override& other, const PrecisionVertex& vertex) {
  bool names_part = false, last_names_part = false, last_fits_both = false;
  for (const FileNode& node : file_nodes_of(vertex)) {
    const bool named = is_by_name(other, node), fitted = fits(last, node);
    names_part = names_part || named;
    last_names_part = last_names_part || fitted;
    last_fits_both = last_fits_both || (named && fitted);
  }
  require(!names_part || !last_names_part || last_fits_both || other.wants_as(last),
          "precision: override '", other.text, "' and override '", last.text,
          "' differ, and name nodes that became one, ", vertex.node->op->full_name(), " '",
          vertex.name, "'");
}

}  // namespace

bool is_by_name(const Override& rule, const PrecisionVertex& vertex) {
  if (rule.pattern == vertex.name) return true;
  if (vertex.kind == PrecisionVertex::Kind::source) return false;
  return (is_in_region(vertex) && rule.pattern == vertex.node->full_name()) ||
         std::ranges::any_of(file_nodes_of(vertex),
                             [&](const FileNode& node) { return is_by_name(rule, node); });
}

MatchedOverrides::MatchedOverrides(const PrecisionRequest& wanted,
                                   std::span<const PrecisionVertex> vertices)
    : matched_(vertices.size(), nullptr) {
  for (const std::string& text : wanted.overrides) overrides_.push_back(parse_override(text));
  for (const Override& rule : overrides_) {
    require_reach(rule, vertices, wanted);
    for (std::size_t v = 0; v < vertices.size(); ++v)
      if (fits(rule, vertices[v])) matched_[v] = &rule;
  }
  for (std::size_t v = 0; v < vertices.size(); ++v)
    for (const Override& rule : overrides_)
      if (matched_[v] && file_nodes_of(vertices[v]).size() > 1)
        require_agreement(*matched_[v], rule, vertices[v]);
}

}  // namespace narrowgauge
