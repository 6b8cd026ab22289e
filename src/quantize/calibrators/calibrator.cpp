// SPDX-License-Identifier: Apache-2.0
#include "quantize/calibrators/calibrator.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text/nearest.h"
#include "narrowgauge/error.h"

namespace narrowgauge {

namespace {

struct Chosen {
  const Calibrator* calibrator;
  double parameter;
};

double parse_parameter(const Calibrator& calibrator, std::string_view text) {
  if (text.empty()) return calibrator.parameter ? calibrator.parameter->usual : 0;
  require(calibrator.parameter.has_value(), "calibrator: ", calibrator.name,
          " takes no number, got '", text, '\'');
  const CalibratorParameter& parameter = *calibrator.parameter;
  double value = 0;
  const char *const begin = text.data() + 1, *const last = text.data() + text.size() - 1;
  const auto [end, error] = std::from_chars(begin, last, value);
  require(text.ends_with(')') && error == std::errc{} && end == last && value > parameter.above &&
              value <= parameter.most,
          "calibrator: ", calibrator.name, ": expected a ", parameter.name, " above ",
          parameter.above, " and up to ", parameter.most, " in parentheses, got '", text, '\'');
  return value;
}

Chosen parse_calibrator(std::string_view text) {
  const std::size_t open = std::min(text.find('('), text.size());
  const std::string_view name = text.substr(0, open);
  const Calibrator* const calibrator = find_record(calibrators(), name);
  require(calibrator != nullptr, "calibrator: expected one of ", listed_names(calibrators()),
          ", got '", name, '\'', suggestion(std::string(name), names_of(calibrators())));
  return {calibrator, parse_parameter(*calibrator, text.substr(open))};
}

}  // namespace

Range whole_range(const Histogram& histogram, const RangeOptions& options) {
  const float low = std::min(histogram.least(), 0.0f), high = std::max(histogram.most(), 0.0f);
  const float most = std::max(-low, high);
  return options.symmetric ? Range{-most, most} : Range{low, high};
}

Range clipped_range(const Histogram& histogram, const RangeOptions& options, double limit) {
  const Range whole = whole_range(histogram, options);
  const auto most = static_cast<float>(limit);
  return {std::max(whole.low, -most), std::min(whole.high, most)};
}

Range choose_range(std::string_view calibrator, const Histogram& histogram,
                   const RangeOptions& options) {
  const Chosen chosen = parse_calibrator(calibrator);
  constexpr int least_levels = 3;  // with one on each side of 0
  require(options.levels >= least_levels, "calibrator: expected at least ", least_levels,
          " levels, got ", options.levels);
  if (histogram.is_empty()) return {};
  return chosen.calibrator->choose(histogram, options, chosen.parameter);
}

void check_calibrator(std::string_view text) { parse_calibrator(text); }

namespace {

std::string usual_name(const Calibrator& calibrator) {
  std::string name(calibrator.name);
  if (calibrator.parameter) name += concat('(', calibrator.parameter->usual, ')');
  return name;
}

}  // namespace

std::string calibrator_help() {
  std::string text;
  for (const Calibrator* calibrator : calibrators())
    text += concat(text.empty() ? "" : ", ", usual_name(*calibrator), ' ', calibrator->help);
  return text;
}

std::vector<std::string> usual_calibrators() {
  std::vector<std::string> names;
  for (const Calibrator* calibrator : calibrators()) names.push_back(usual_name(*calibrator));
  return names;
}

}  // namespace narrowgauge
