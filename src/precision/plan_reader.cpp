// SPDX-License-Identifier: Apache-2.0
#include "precision/plan_reader.h"

#include <algorithm>
#include <map>

#include "base/files/open_file.h"
#include "base/text/nearest.h"
#include "precision/colouring/follow.h"
#include "precision/colouring/policy.h"
#include "precision/plans/fingerprint.h"
#include "precision/plans/parameters.h"
#include "precision/plans/plan_text.h"
#include "precision/vertices/vertices.h"

namespace narrowgauge {

namespace {

class PlanReader {
 public:
  // `network` has the names of the network that the graph trains or predicts with.
  PlanReader(std::string_view text, const Graph& graph, std::vector<std::string> network)
      : text_(text),
        graph_(graph),
        fingerprint_(fingerprint(graph)),
        network_(std::move(network)),
        vertices_(precision_vertices(graph)) {
    for (const PrecisionVertex& vertex : vertices_) by_name_.emplace(vertex.name, &vertex);
  }

  PrecisionPlan read() {
    read_header();
    Tokens tokens = next_line();
    // The lines of nodes called so would have more words.
    if (tokens.size() == 2 && tokens[0] == "master-weights") {
      check(tokens[1] == "on" || tokens[1] == "off", "master-weights is on or off, got '",
            tokens[1], "'");
      plan_.master_weights = tokens[1] == "on";
      tokens = next_line();
    }
    if (tokens.size() == 2 && tokens[0] == "weight-rounding") {
      plan_.rounding = read_rounding(tokens[1]);
      tokens = next_line();
    }
    if (tokens.size() == 2 && tokens[0] == "reason") {
      plan_.reason = tokens[1];
      tokens = next_line();
    }
    for (; !tokens.empty(); tokens = next_line()) read_entry(tokens);
    if (is_of_other_graph()) return followed();
    for (const PrecisionVertex& vertex : vertices_)
      check(lines_.contains(vertex.name), "the plan ends without node '", vertex.name, "'");
    return put_in_order();
  }

 private:
  using Tokens = std::vector<std::string>;

  template <class... Parts>
  void check(bool holds, const Parts&... message) const {
    require<ModelError>(holds, "line ", number_, ": ", message...);
  }

  // The words of the next line that has any; none at the end.
  Tokens next_line() {
    while (!text_.empty()) {
      const std::size_t end = text_.find('\n');
      const std::string_view line = text_.substr(0, end);
      text_ = end == std::string_view::npos ? std::string_view{} : text_.substr(end + 1);
      ++number_;
      Tokens tokens = plan_tokens(line, number_);
      if (!tokens.empty()) return tokens;
    }
    return {};
  }

  // The first word of the next line that has any, which is still to be read.
  std::string next_word() {
    const auto [text, number] = std::pair(text_, number_);
    const Tokens tokens = next_line();
    text_ = text;
    number_ = number;
    return tokens.empty() ? std::string() : tokens[0];
  }

  bool is_of_other_graph() const { return plan_.model != fingerprint_; }

  // Whether the plan is of the graph, or of another graph of its network: predictions and trainings
  // of one network may follow each other's plans.
  bool is_of_graph_or_network() const {
    if (!is_of_other_graph()) return true;
    return std::ranges::any_of(network_, [&](const std::string& name) {
      return plan_.model == name || plan_.network == name;
    });
  }

  Tokens header_line(std::string_view key, std::size_t words) {
    Tokens tokens = next_line();
    check(!tokens.empty() && tokens[0] == key, "expected '", key, "', got ",
          tokens.empty() ? "the end" : concat('\'', tokens[0], '\''));
    check(tokens.size() == words, "'", key, "' takes ", words - 1, " words, got ",
          tokens.size() - 1);
    return tokens;
  }

  void read_header() {
    const std::string version = header_line("version", 2)[1];
    check(version == concat(plan_version), "version ", version, " is not known, only ",
          plan_version);
    const Tokens model = header_line("model", 3);
    plan_.model = model[1];
    plan_.model_name = model[2];
    if (next_word() == "network") plan_.network = header_line("network", 2)[1];
    check(is_of_graph_or_network(), "the plan belongs to another model: '", plan_.model_name, "' (",
          plan_.model, "), not to '", graph_.name(), "' (", fingerprint_, ")");
    plan_.narrow = read_dtype(header_line("narrow", 2)[1]);
    plan_.policy = header_line("policy", 2)[1];
    check(is_policy(plan_.policy), "unknown policy '", plan_.policy, "'");
    plan_.f32_math = read_math(header_line("f32-math", 2)[1]);
    check(is_f32_math(plan_.f32_math), "f32-math is ", f32_math_words, ", got ", plan_.f32_math);
  }

  WeightRounding read_rounding(const std::string& word) const {
    const auto names = weight_rounding_names();
    check(std::ranges::find(names, word) != names.end(),
          "weight-rounding is nearest, stochastic or kahan, got '", word, "'");
    return parse_weight_rounding(word);
  }

  DType read_dtype(const std::string& word) const {
    const auto dtype = parse_dtype(word);
    check(dtype && is_plan_dtype(*dtype), "unknown dtype '", word, "', expected f32, f16 or bf16");
    return *dtype;
  }

  Math read_math(const std::string& word) const {
    Math math = Math::none;
    try {
      math = parse_math(word);
    } catch (const UsageError& error) {
      check(false, error.what(), ", expected ", f32_math_words, ", f16 or bf16");
    }
    check(math == Math::f16 || math == Math::bf16 || is_f32_math(math), "math ", math,
          " is for no contraction, expected ", f32_math_words, ", f16 or bf16");
    return math;
  }

  void read_entry(const Tokens& tokens) {
    check(tokens.size() >= 4, "expected name, op, class and dtype, got ", tokens.size(), " words");
    PlanEntry entry;
    entry.name = tokens[0];
    entry.op = tokens[1];
    const auto found = by_name_.find(entry.name);
    if (is_of_other_graph() && !is_same_op(found, entry.op)) return;
    if (found == by_name_.end()) refuse_node(entry.name);
    const auto [known, fresh] = lines_.emplace(entry.name, number_);
    check(fresh, "node '", entry.name, "' was on line ", known->second, " already");
    const PrecisionVertex& vertex = *found->second;
    check(entry.op == vertex.node->op->full_name(), "node '", entry.name, "' is ",
          vertex.node->op->full_name(), " in the model, not ", entry.op);
    const auto precision = parse_class(tokens[2]);
    check(precision.has_value(), "unknown class '", tokens[2],
          "', expected allow, infer, clear, deny or unlisted");
    entry.precision = *precision;
    if (tokens[3] != "-") entry.dtype = read_dtype(tokens[3]);
    read_settings(tokens, entry);
    const PrecisionRule rule_of_line = entry.rule;
    check_dtype(vertex, entry);
    settle_math(vertex, entry, entry.rule != rule_of_line);
    entries_.emplace(entry.name, std::move(entry));
  }

  using Vertices = std::map<std::string, const PrecisionVertex*>;

  bool is_same_op(Vertices::const_iterator vertex, const std::string& op) const {
    return vertex != by_name_.end() && vertex->second->node->op->full_name() == op;
  }

  [[noreturn]] void refuse_node(const std::string& name) const {
    std::vector<std::string> names;
    for (const PrecisionVertex& vertex : vertices_) names.push_back(vertex.name);
    throw ModelError(
        concat("line ", number_, ": unknown node '", name, "'", suggestion(name, names)));
  }
  [[noreturn]] void refuse_rule(const std::string& word) const {
    std::vector<std::string> names;
    for (int i = 0; i < precision_rule_count; ++i)
      names.emplace_back(name(static_cast<PrecisionRule>(i)));
    throw ModelError(
        concat("line ", number_, ": unknown rule '", word, "'", suggestion(word, names)));
  }

  // Reads math=, rule=, cause= and note=, each at most once; rule is required.
  void read_settings(const Tokens& tokens, PlanEntry& entry) {
    std::map<std::string, std::string> settings;
    for (std::size_t i = 4; i < tokens.size(); ++i) {
      const std::size_t equals = tokens[i].find('=');
      const std::string key = tokens[i].substr(0, equals);
      const bool known = key == "math" || key == "rule" || key == "cause" || key == "note";
      check(equals != std::string::npos && known, "unknown setting '", tokens[i], "'");
      check(settings.emplace(key, tokens[i].substr(equals + 1)).second, "two settings '", key, "'");
    }
    const auto rule = parse_precision_rule(settings["rule"]);
    if (!rule) refuse_rule(settings["rule"]);
    entry.rule = *rule;
    entry.cause = settings["cause"];
    if (is_of_other_graph() && !by_name_.contains(entry.cause)) entry.cause.clear();
    check(entry.cause.empty() || by_name_.contains(entry.cause), "unknown cause '", entry.cause,
          "'");
    entry.note = settings["note"];
    if (settings.contains("math")) entry.math = read_math(settings["math"]);
  }

  // A parameter has f16 or bf16, or no format of its own.
  void check_parameter(PlanEntry& entry) const {
    using enum PrecisionRule;
    if (entry.dtype == DType::f32) entry.dtype.reset();
    const bool fits = entry.rule == source || entry.rule == kept_narrow ||
                      entry.rule == override_by_name || entry.rule == edited;
    check(fits, "rule ", name(entry.rule), " does not fit parameter '", entry.name, "'");
    const bool narrow = entry.dtype.has_value();
    if ((entry.rule == source && narrow) || (entry.rule == kept_narrow && !narrow))
      mark_edited(entry);
  }

  void check_dtype(const PrecisionVertex& vertex, PlanEntry& entry) const {
    if (is_parameter(vertex)) return check_parameter(entry);
    const auto nothing = nothing_to_choose(vertex);
    check(!nothing || !entry.dtype, "node '", entry.name,
          "' takes '-': ", text(nothing.value_or(PrecisionRule::source)));
    check(nothing || entry.dtype, "node '", entry.name, "' needs a format: f32, f16 or bf16");
    if (nothing) {
      check(entry.rule == *nothing, "rule ", name(entry.rule), " does not fit node '", entry.name,
            "', expected ", name(*nothing));
      return;
    }
    if (const auto narrow = makes_narrow(entry.rule)) {
      const DType expected = *narrow ? plan_.narrow : DType::f32;
      if (*entry.dtype != expected) mark_edited(entry);
    }
    if (entry.rule == PrecisionRule::autocast) {  // its note begins with the format
      const std::string_view note = entry.note;
      if (note.substr(0, note.find(':')) != name(*entry.dtype)) mark_edited(entry);
    }
    if (entry.rule == PrecisionRule::override_by_name) {  // its note is "pattern=format"
      const std::string asked = entry.note.substr(entry.note.rfind('=') + 1);
      if (asked != name(*entry.dtype)) mark_edited(entry);
    }
    if (*entry.dtype == DType::f32) return;
    check(vertex.takes(*entry.dtype), entry.op, " of node '", entry.name, "' does not take ",
          *entry.dtype);
  }

  static void mark_edited(PlanEntry& entry) {
    if (entry.rule == PrecisionRule::edited) return;
    entry.note = concat("was ", name(entry.rule));
    entry.rule = PrecisionRule::edited;
    entry.cause.clear();
  }

  // Whether values of the entry's format may have this math.
  bool can_have(const PrecisionVertex& vertex, const PlanEntry& entry) const try {
    if (entry.math == Math::none) return false;
    if (is_simulated(entry.math))
      return math_contract(vertex, entry.dtype, entry.math) == entry.math;
    if (entry.dtype == DType::f32) return is_f32_math(entry.math);
    return math_contract(vertex, entry.dtype, Math::f32) == entry.math;
  } catch (const UsageError& error) {
    check(false, error.what());
    return false;
  }

  // If only the format was edited, its usual contract replaces the old one; any other contract must
  // fit.
  void settle_math(const PrecisionVertex& vertex, PlanEntry& entry, bool new_format) const {
    const Math usual = math_contract(vertex, entry.dtype, plan_.f32_math);
    if (entry.math == usual) return;
    if (usual == Math::none) {
      check(false, "node '", entry.name, "' is no contraction, it takes no math");
    }
    if (can_have(vertex, entry)) {
      mark_edited(entry);
      return;
    }
    check(new_format || entry.math == Math::none, "math ", entry.math, " does not fit ",
          entry.dtype ? concat(*entry.dtype) : concat(*vertex.dtype), ", expected ", usual,
          ", as a line without math= has");
    entry.math = usual;
  }

  PrecisionPlan followed() {
    for (auto& [name, entry] : entries_) plan_.entries.push_back(std::move(entry));
    return follow(plan_, graph_);
  }

  PrecisionPlan put_in_order() {
    for (const PrecisionVertex& vertex : vertices_)
      plan_.entries.push_back(std::move(entries_.at(vertex.name)));
    return std::move(plan_);
  }

  std::string_view text_;
  const Graph& graph_;
  const std::string fingerprint_;
  const std::vector<std::string> network_;
  std::vector<PrecisionVertex> vertices_;
  std::map<std::string, const PrecisionVertex*> by_name_;
  std::map<std::string, int> lines_;
  std::map<std::string, PlanEntry> entries_;
  PrecisionPlan plan_;
  int number_ = 0;
};

}  // namespace

PrecisionPlan read_plan(std::string_view text, const Graph& f32_graph) {
  return PlanReader(text, f32_graph, names_of_network(f32_graph)).read();
}

PrecisionPlan read_named_plan(std::string_view text, const std::string& who, const Graph& f32_graph,
                              const std::vector<std::string>& network) try {
  return PlanReader(text, f32_graph, network.empty() ? names_of_network(f32_graph) : network)
      .read();
} catch (const ModelError& error) {
  throw ModelError(concat(who, ", ", error.what()));
}

PrecisionPlan load_plan(const std::string& path, const Graph& f32_graph) {
  return read_named_plan(read_text_file(path), path, f32_graph);
}

void require_same_model(const PrecisionPlan& plan, const Graph& f32_graph) {
  require<ModelError>(plan.model == fingerprint(f32_graph), "precision: the plan belongs to ",
                      "another model: '", plan.model_name, "' (", plan.model, "), not to '",
                      f32_graph.name(), "' (", fingerprint(f32_graph), ")");
}

void require_same_network(const PrecisionPlan& plan, const Graph& f32_graph) {
  const std::vector<std::string> names = names_of_network(f32_graph);
  if (std::ranges::find(names, plan.network) == names.end()) require_same_model(plan, f32_graph);
}

}  // namespace narrowgauge
