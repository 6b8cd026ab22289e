// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/memory.h"
#include "narrowgauge/explain.h"
#include "narrowgauge/tf32.h"
#include "precision/reasons.h"

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

using Json = nlohmann::ordered_json;

template <class T>
std::string text_of(const T& value) {
  return concat(value);
}

Json types_json(const TensorTypes& types) {
  Json result = Json::array();
  for (const TensorType& type : types) result.push_back(text_of(type));
  return result;
}

Json bytes_json(std::optional<std::int64_t> bytes) { return bytes ? Json(*bytes) : Json(nullptr); }

void add_casts_json(Json& out, std::string_view side, const std::vector<CastNote>& casts) {
  for (const CastNote& cast : casts)
    out.push_back({{"side", side},
                   {"name", cast.name},
                   {"value", cast.value},
                   {"from", text_of(cast.from)},
                   {"to", text_of(cast.to)},
                   {"bytes", bytes_json(cast.bytes)}});
}

Json error_json(const std::optional<ContractionError>& error) {
  if (!error) return nullptr;
  return {{"depth", error->depth},
          {"unit", error->unit},
          {"bound", error->bound},
          {"expected", error->expected},
          {"bias", error->bias}};
}

Json node_json(const NodeExplanation& node) {
  const PlanEntry& entry = node.entry;
  Json casts = Json::array();
  add_casts_json(casts, "before", node.before);
  add_casts_json(casts, "after", node.after);
  const std::string note = math_note(entry);
  return {{"name", entry.name},
          {"op", entry.op},
          {"class", has_class(entry) ? Json(name(entry.precision)) : Json(nullptr)},
          {"dtype", entry.dtype ? Json(text_of(*entry.dtype)) : Json(nullptr)},
          {"math", entry.math == Math::none ? Json(nullptr) : Json(text_of(entry.math))},
          {"error", error_json(node.error)},
          {"math_note", note.empty() ? Json(nullptr) : Json(note)},
          {"inputs", types_json(node.inputs)},
          {"outputs", types_json(node.outputs)},
          {"rule", name(entry.rule)},
          {"reason", node.reason},
          {"chain", node.chain},
          {"casts", std::move(casts)}};
}

Json summary_json(const PrecisionSummary& summary) {
  Json nodes = Json::object();
  for (const auto& [dtype, count] : summary.nodes) nodes[text_of(dtype)] = count;
  return {{"nodes", std::move(nodes)},
          {"without_choice", summary.without_choice},
          {"casts", summary.casts},
          {"cast_bytes", bytes_json(summary.cast_bytes)},
          {"unlisted", summary.unlisted},
          {"unlisted_ops", summary.unlisted_ops},
          {"narrow_parameters", summary.narrow_parameters}};
}

// Names that are not UTF-8 are printed with replacement characters.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string explanation_json(const NodeExplanation& node) { return dump(node_json(node)); }

std::string explanation_json(const Explanation& explanation) {
  Json nodes = Json::array();
  for (const NodeExplanation& node : explanation.nodes) nodes.push_back(node_json(node));
  return dump({{"model", explanation.model_name},
               {"policy", explanation.policy},
               {"narrow", text_of(explanation.narrow)},
               {"reason", explanation.reason},
               {"nodes", std::move(nodes)},
               {"summary", summary_json(explanation.summary)}});
}

}  // namespace narrowgauge
