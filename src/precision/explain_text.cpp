// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "narrowgauge/tf32.h"
#include "precision/explain.h"

namespace narrowgauge {

namespace {

constexpr std::size_t column_count = 7;
using Row = std::array<std::string, column_count>;

// "f32", or "f16,f32" where they differ, in the order of the ports.
std::string dtypes_text(const TensorTypes& types) {
  std::vector<DType> seen;
  for (const TensorType& type : types)
    if (std::find(seen.begin(), seen.end(), type.dtype) == seen.end()) seen.push_back(type.dtype);
  std::string out;
  for (const DType dtype : seen) out += concat(out.empty() ? "" : ",", dtype);
  return out.empty() ? "-" : out;
}

std::string bytes_text(std::optional<std::int64_t> bytes) {
  if (!bytes) return "? B";
  if (*bytes < 10'000) return concat(*bytes, " B");
  if (*bytes < 10'000'000) return concat(*bytes / 1000, " kB");
  return concat(*bytes / 1'000'000, " MB");
}

std::string casts_text(const NodeExplanation& node) {
  std::string out;
  if (!node.before.empty()) out += concat(node.before.size(), " in");
  if (!node.after.empty()) out += concat(out.empty() ? "" : ", ", node.after.size(), " out");
  return out;
}

Row row_of(const NodeExplanation& node) {
  const PlanEntry& entry = node.entry;
  std::string out = dtypes_text(node.outputs);
  if (node.outputs.empty() && entry.dtype) out = concat(*entry.dtype);
  std::string made_in = out;
  if (entry.math != Math::none) made_in += concat(" @", entry.math);
  return {entry.name,
          entry.op,
          std::string(name(entry.precision)),
          dtypes_text(node.inputs),
          made_in,
          std::string(name(entry.rule)),
          casts_text(node)};
}

// The end of a name says more than its beginning.
std::string shortened(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  return ".." + text.substr(text.size() - width + 2);
}

std::size_t sum(const std::array<std::size_t, column_count>& widths) {
  std::size_t total = 2 * (column_count - 1);
  for (const std::size_t width : widths) total += width;
  return total;
}

// Takes from the widest of name, op and rule until the table fits.
void fit(std::array<std::size_t, column_count>& widths, std::size_t width) {
  constexpr std::size_t least = 8;
  while (sum(widths) > width) {
    std::size_t& widest = widths[0] >= widths[1] ? widths[0] : widths[1];
    std::size_t& chosen = widest <= 14 && widths[5] > widest ? widths[5] : widest;
    if (chosen <= least) return;
    --chosen;
  }
}

}  // namespace

std::string explanation_table(const Explanation& explanation, int width) {
  std::vector<Row> rows{{"node", "op", "class", "in", "out", "rule", "casts"}};
  for (const NodeExplanation& node : explanation.nodes) rows.push_back(row_of(node));
  std::array<std::size_t, column_count> widths{};
  for (const Row& row : rows)
    for (std::size_t c = 0; c < column_count; ++c) widths[c] = std::max(widths[c], row[c].size());
  fit(widths, static_cast<std::size_t>(std::max(width, 60)));
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < column_count; ++c) {
      std::string cell = shortened(row[c], widths[c]);
      cell.resize(widths[c] + 2, ' ');
      line += cell;
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return out + summary_text(explanation);
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
                bytes_text(summary.cast_bytes), " read and written\n");
  out += concat("unlisted: ", summary.unlisted);
  for (std::size_t i = 0; i < summary.unlisted_ops.size(); ++i)
    out += concat(i == 0 ? " (" : ", ", summary.unlisted_ops[i]);
  out += summary.unlisted_ops.empty() ? "\n" : ")\n";
  if (summary.forbidden > 0)
    out += concat("tf32: ", summary.forbidden, " contractions ask for it and compute in ieee, ",
                  tf32_forbidden_by(), " forbids it\n");
  return out;
}

std::string explanation_text(const NodeExplanation& node) {
  const PlanEntry& entry = node.entry;
  std::string out = concat("node    ", entry.name, "\nop      ", entry.op, "\nclass   ",
                           name(entry.precision), '\n');
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
                    bytes_text(cast.bytes), '\n');
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
          {"class", name(entry.precision)},
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
  return {{"nodes", std::move(nodes)},    {"without_choice", summary.without_choice},
          {"casts", summary.casts},       {"cast_bytes", bytes_json(summary.cast_bytes)},
          {"unlisted", summary.unlisted}, {"unlisted_ops", summary.unlisted_ops}};
}

// Names that are no UTF-8 are printed with replacement characters.
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
