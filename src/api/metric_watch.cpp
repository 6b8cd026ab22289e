// SPDX-License-Identifier: Apache-2.0
#include "api/metric_watch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <locale>
#include <sstream>

namespace narrowgauge {

namespace {

// Serves both directions.
void visit_numbers(auto& state, auto&& visit) {
  visit(state.best), visit(state.has_best), visit(state.worse);
  visit(state.plateau.factor), visit(state.plateau.best), visit(state.plateau.has_best);
  visit(state.plateau.worse), visit(state.plateau.cooling);
}

}  // namespace

void check(const WatchOptions& options, const std::vector<std::string>& metrics) {
  const bool measured = options.metric == "loss" || options.metric == "accuracy" ||
                        std::ranges::find(metrics, options.metric) != metrics.end();
  require(measured, "watch: expected loss, accuracy or a metric that evaluations measure, got '",
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

Verdict judge(WatchState& state, const WatchOptions& options, const MetricValue& value) {
  const double gain =
      value.better == Better::higher ? value.value - state.best : state.best - value.value;
  const bool better = !std::isnan(value.value) && (!state.has_best || gain > options.least_change);
  state.worse = better ? 0 : state.worse + 1;
  if (!better) return Verdict::no_better;
  state.best = value.value;
  state.has_best = true;
  return Verdict::best;
}

std::string why_over(const WatchState& state, const WatchOptions& options) {
  if (options.patience == 0 || state.worse < options.patience) return "";
  return concat(options.metric, " was no better than ", state.best, " in ", state.worse,
                state.worse == 1 ? " evaluation" : " evaluations in a row");
}

std::string text_of(const WatchState& state) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(std::numeric_limits<double>::max_digits10);
  visit_numbers(state, [&](const auto& number) { out << number << ' '; });
  return out.str();
}

WatchState parse_watch_state(const std::string& text, const std::string& where) {
  WatchState state;
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  visit_numbers(state, [&](auto& number) { in >> number; });
  require<DataError>(!in.fail() && (in >> std::ws).eof() && state.worse >= 0, where,
                     ": 'watch' is '", text, "', expected eight numbers");
  return state;
}

}  // namespace narrowgauge
