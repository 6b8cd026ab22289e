// SPDX-License-Identifier: Apache-2.0
#include "api/training/metric_watch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <locale>
#include <sstream>

#include "base/log.h"

namespace narrowgauge {

namespace {

// Serves both directions. Earlier versions wrote these alone, with one value as best and reference.
void visit_numbers(auto& state, auto&& visit) {
  visit(state.reference), visit(state.has_reference), visit(state.worse);
  visit(state.plateau.factor), visit(state.plateau.best), visit(state.plateau.has_best);
  visit(state.plateau.worse), visit(state.plateau.cooling);
}

bool is_at_end(std::istream& in) { return in.eof() || (in >> std::ws).eof(); }

// How much better a value is than another; below 0: worse.
double gain(const MetricValue& value, double other) {
  return value.better == Better::higher ? value.value - other : other - value.value;
}

}  // namespace

std::vector<std::string> measured_with(const std::vector<std::string>& metrics) {
  std::vector<std::string> names{"loss", "accuracy"};
  names.insert(names.end(), metrics.begin(), metrics.end());
  return names;
}

void check(const WatchOptions& options, const std::vector<std::string>& metrics) {
  const std::vector<std::string> measured = measured_with(metrics);
  require(std::ranges::find(measured, options.metric) != measured.end(),
          "watch: expected loss, accuracy or a metric that evaluations measure, got '",
          options.metric, '\'');
  require(options.patience >= 0, "watch: patience must be at least 0, got ", options.patience);
  require(std::isfinite(options.least_change) && options.least_change >= 0,
          "watch: least_change must be a number from 0 on, got ", options.least_change);
}

MetricValue watched_in(const Evaluation& evaluation, const std::string& metric) {
  if (metric == "loss") return {metric, evaluation.loss, Better::lower};
  if (metric == "accuracy") return {metric, evaluation.accuracy, Better::higher};
  const auto found = std::ranges::find(evaluation.metrics, metric, &MetricValue::name);
  NG_INVARIANT(found != evaluation.metrics.end());
  return *found;
}

void watch_by(WatchState& state, const std::string& metric) {
  if (!state.metric.empty() && state.metric != metric) {
    log(LogLevel::info, concat("watch: judges by ", metric, " from here on, by ", state.metric,
                               " before: what it saw of ", state.metric, " does not count"));
    WatchState anew;
    anew.plateau.factor = state.plateau.factor;
    state = anew;
  }
  state.metric = metric;
}

Verdict judge(WatchState& state, const WatchOptions& options, const MetricValue& value) {
  const bool is_number = !std::isnan(value.value);
  const bool counts =
      is_number && (!state.has_reference || gain(value, state.reference) > options.least_change);
  state.worse = counts ? 0 : state.worse + 1;
  if (counts) {
    state.reference = value.value;
    state.has_reference = true;
  }
  if (!is_number || (state.has_best && gain(value, state.best) <= 0)) return Verdict::no_better;
  state.best = value.value;
  state.has_best = true;
  return Verdict::best;
}

std::string why_over(const WatchState& state, const WatchOptions& options) {
  if (options.patience == 0 || state.worse < options.patience) return "";
  const std::string margin =
      options.least_change > 0 ? concat("by more than ", options.least_change, " ") : "";
  return concat(options.metric, " was no better than ", state.reference, ' ', margin, "in ",
                state.worse, state.worse == 1 ? " evaluation" : " evaluations in a row");
}

std::string text_of(const WatchState& state) {
  std::ostringstream out;
  out.exceptions(std::ios::badbit);  // as where memory ends
  out.imbue(std::locale::classic());
  out.precision(std::numeric_limits<double>::max_digits10);
  visit_numbers(state, [&](const auto& number) { out << number << ' '; });
  out << state.best << ' ' << state.has_best << ' ' << state.metric;
  return out.str();
}

WatchState parse_watch_state(const std::string& text, const std::string& where) {
  WatchState state;
  std::istringstream in(text);
  in.exceptions(std::ios::badbit);
  in.imbue(std::locale::classic());
  visit_numbers(state, [&](auto& number) { in >> number; });
  if (is_at_end(in)) {
    state.best = state.reference;
    state.has_best = state.has_reference;
  } else {
    in >> state.best >> state.has_best;
    if (!is_at_end(in)) std::getline(in, state.metric);
  }
  require<DataError>(!in.fail() && state.worse >= 0, where, ": 'watch' is '", text,
                     "', expected ten numbers and the name of a metric");
  return state;
}

}  // namespace narrowgauge
