// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/files/memory.h"
#include "base/text/json_writing.h"
#include "narrowgauge/explain.h"
#include "narrowgauge/tf32.h"
#include "precision/vertices/reasons.h"

namespace narrowgauge {

namespace {

// "f32", or "f16,f32" if they differ, in the order of the ports.
std::string dtypes_text(const TensorTypes& types) {
  std::vector<DType> seen;
  for (const TensorType& type : types)
    if (std::find(seen.begin(), seen.end(), type.dtype) == seen.end()) seen.push_back(type.dtype);
  std::string out;
  for (const DType dtype : seen) out += concat(out.empty() ? "" : ",", dtype);
  return out.empty() ? "-" : out;
}

std::string size_text(std::optional<std::int64_t> bytes) {
  return bytes ? bytes_text(*bytes) : "? B";
}

std::string casts_text(const NodeExplanation& node) {
  std::string out;
  if (!node.before.empty()) out += concat(node.before.size(), " in");
  if (!node.after.empty()) out += concat(out.empty() ? "" : ", ", node.after.size(), " out");
  return out;
}

// Whether a list decided about the node. Other nodes have no class: sources, and nodes that are no
// contraction and store what their type says.
bool has_class(const PlanEntry& entry) {
  return entry.precision != PrecisionClass::unlisted || entry.rule == PrecisionRule::unlisted ||
         entry.rule == PrecisionRule::override_by_name;
}

std::string class_text(const PlanEntry& entry) {
  return has_class(entry) ? std::string(name(entry.precision)) : "-";
}

}  // namespace

ExplanationRow row_of(const NodeExplanation& node) {
  const PlanEntry& entry = node.entry;
  std::string out = dtypes_text(node.outputs);
  if (node.outputs.empty() && entry.dtype) out = concat(*entry.dtype);
  if (entry.math != Math::none) out += concat(" @", entry.math);
  return {.node = entry.name,
          .op = entry.op,
          .precision = class_text(entry),
          .in = dtypes_text(node.inputs),
          .out = std::move(out),
          .rule = std::string(name(entry.rule)),
          .casts = casts_text(node)};
}

std::string summary_text(const Explanation& explanation) {
  const PrecisionSummary& summary = explanation.summary;
  std::string out;
  if (!explanation.reason.empty())
    out += concat(explanation.narrow, " by --amp auto: ", explanation.reason, '\n');
  const std::size_t before = out.size();
  for (const auto& [dtype, count] : summary.nodes)
    out += concat(out.size() == before ? "" : ", ", count, " in ", dtype);
  if (out.size() == before) out += "none with a choice of format";
  out.insert(before, "nodes: ");
  out += concat("; ", summary.without_choice, " without a choice\ncasts: ", summary.casts, ", ",
                size_text(summary.cast_bytes), " read and written\n");
  for (std::size_t i = 0; i < summary.unlisted_ops.size(); ++i)
    out += concat(i == 0 ? concat("unlisted: ", summary.unlisted, " (") : ", ",
                  summary.unlisted_ops[i]);
  if (!summary.unlisted_ops.empty()) out += ")\n";
  if (summary.narrow_parameters > 0)
    out += concat("parameters: ", summary.narrow_parameters,
                  explanation.master_weights ? " seen narrow, with masters in f32\n"
                                             : " kept narrow, without masters\n");
  if (summary.forbidden > 0)
    out += concat("tf32: ", summary.forbidden, " contractions ask for it and compute in ieee, ",
                  tf32_forbidden_by(), " forbids it\n");
  return out;
}

std::string explanation_text(const NodeExplanation& node) {
  const PlanEntry& entry = node.entry;
  std::string out =
      concat("node    ", entry.name, "\nop      ", entry.op, "\nclass   ", class_text(entry), '\n');
  if (entry.dtype) out += concat("format  ", *entry.dtype, '\n');
  if (entry.math != Math::none) {
    const std::string note = math_note(entry);
    out += concat("math    ", entry.math, note.empty() ? "" : "; ", note, '\n');
  }
  if (node.error) out += concat("error   ", error_text(*node.error), '\n');
  out += concat("rule    ", name(entry.rule), ": ", node.reason, '\n');
  for (const TensorType& type : node.inputs) out += concat("in      ", type, '\n');
  for (const TensorType& type : node.outputs) out += concat("out     ", type, '\n');
  const auto add_casts = [&](std::string_view side, const std::vector<CastNote>& casts) {
    for (const CastNote& cast : casts)
      out += concat("cast    ", side, ": ", cast.value, " from ", cast.from, " to ", cast.to, ", ",
                    size_text(cast.bytes), '\n');
  };
  add_casts("before", node.before);
  add_casts("after", node.after);
  for (std::size_t i = 0; i < node.chain.size(); ++i)
    out += concat(i == 0 ? "because " : "        ", node.chain[i], '\n');
  return out;
}

namespace {

using Json = nlohmann::json;
constexpr const char* json_null = "null";

// Names that are not UTF-8 are printed with replacement characters.
std::string json_of(std::string_view text) {
  return json_text<Json>(text, Json::error_handler_t::replace);
}

std::string json_of(const std::vector<std::string>& texts) {
  return json_list(texts, [](const std::string& text) { return json_of(text); });
}

std::string json_of(const TensorTypes& types) {
  return json_list(types, [](const TensorType& type) { return json_of(concat(type)); });
}

std::string json_of(std::optional<std::int64_t> bytes) {
  return bytes ? concat(*bytes) : json_null;
}

std::string json_of(const std::optional<ContractionError>& error) {
  if (!error) return json_null;
  return json_object({{"depth", concat(error->depth)},
                      {"unit", json_of(error->unit)},
                      {"bound", json_number<Json>(error->bound)},
                      {"expected", json_number<Json>(error->expected)},
                      {"bias", json_number<Json>(error->bias)}});
}

std::vector<std::string> casts_json(const NodeExplanation& node) {
  std::vector<std::string> all;
  const auto add = [&](std::string_view side, const std::vector<CastNote>& casts) {
    for (const CastNote& cast : casts)
      all.push_back(json_object({{"side", json_of(side)},
                                 {"name", json_of(cast.name)},
                                 {"value", json_of(cast.value)},
                                 {"from", json_of(concat(cast.from))},
                                 {"to", json_of(concat(cast.to))},
                                 {"bytes", json_of(cast.bytes)}}));
  };
  add("before", node.before);
  add("after", node.after);
  return all;
}

std::string json_of(const PrecisionSummary& summary) {
  std::string nodes;
  for (const auto& [dtype, count] : summary.nodes)
    nodes += concat(nodes.empty() ? "" : ",", json_of(concat(dtype)), ':', count);
  return json_object({{"nodes", concat('{', nodes, '}')},
                      {"without_choice", concat(summary.without_choice)},
                      {"casts", concat(summary.casts)},
                      {"cast_bytes", json_of(summary.cast_bytes)},
                      {"unlisted", concat(summary.unlisted)},
                      {"unlisted_ops", json_of(summary.unlisted_ops)},
                      {"narrow_parameters", concat(summary.narrow_parameters)}});
}

}  // namespace

std::string explanation_json(const NodeExplanation& node) {
  const PlanEntry& entry = node.entry;
  const std::string note = math_note(entry);
  return json_object({{"name", json_of(entry.name)},
                      {"op", json_of(entry.op)},
                      {"class", has_class(entry) ? json_of(name(entry.precision)) : json_null},
                      {"dtype", entry.dtype ? json_of(concat(*entry.dtype)) : json_null},
                      {"math", entry.math == Math::none ? json_null : json_of(concat(entry.math))},
                      {"error", json_of(node.error)},
                      {"math_note", note.empty() ? json_null : json_of(note)},
                      {"inputs", json_of(node.inputs)},
                      {"outputs", json_of(node.outputs)},
                      {"rule", json_of(name(entry.rule))},
                      {"reason", json_of(node.reason)},
                      {"chain", json_of(node.chain)},
                      {"casts", json_list(casts_json(node), std::identity())}});
}

std::string explanation_json(const Explanation& explanation) {
  const auto of_node = [](const NodeExplanation& node) { return explanation_json(node); };
  return json_object({{"model", json_of(explanation.model_name)},
                      {"policy", json_of(explanation.policy)},
                      {"narrow", json_of(concat(explanation.narrow))},
                      {"reason", json_of(explanation.reason)},
                      {"nodes", json_list(explanation.nodes, of_node)},
                      {"summary", json_of(explanation.summary)}});
}

}  // namespace narrowgauge
