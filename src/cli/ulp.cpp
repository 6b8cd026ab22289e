// SPDX-License-Identifier: Apache-2.0
#include "cli/ulp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/text.h"
#include "tensor/values.h"

namespace narrowgauge::cli {
namespace {

constexpr std::array<double, 6> edges{1, 2, 4, 16, 64, 256};
constexpr std::size_t middle = ulp_places / 2;

struct Precision {
  int mantissa_bits, smallest_exponent;
};
Precision precision_of(DType dtype) {
  if (dtype == DType::f64) return {52, -1022};
  if (dtype == DType::f16) return {10, -14};
  if (dtype == DType::i32) return {0, 0};
  return {23, -126};
}

double ulp_of(double value, DType dtype) {
  const Precision precision = precision_of(dtype);
  if (dtype == DType::i32) return 1;
  const int exponent = value == 0 ? precision.smallest_exponent : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, precision.smallest_exponent) - precision.mantissa_bits);
}

class Gatherer {
 public:
  // `difference` is result - truth; `truth` is already rounded.
  void add(std::int64_t at, double result, double truth, double difference, double ulp) {
    ++statistics_.count;
    if (!std::isfinite(result) || !std::isfinite(truth)) {
      const bool same = result == truth || (std::isnan(result) && std::isnan(truth));
      ++(same ? statistics_.both_not_finite : statistics_.one_not_finite);
      return;
    }
    if (result == truth) {
      ++statistics_.equal;
      ++statistics_.histogram[middle];
      return;
    }
    const double size = std::fabs(difference) / ulp;
    const bool nearer = (difference < 0) != (truth < 0 || (truth == 0 && result < 0));
    ++(difference < 0 ? statistics_.below : statistics_.above);
    statistics_.nearer_zero += nearer;
    sum_ += size;
    drift_ += nearer ? -size : size;
    const auto step =
        static_cast<std::size_t>(std::ranges::lower_bound(edges, size) - edges.begin());
    ++statistics_.histogram[nearer ? middle - 1 - step : middle + 1 + step];
    if (size <= statistics_.largest) return;
    statistics_.largest = size;
    statistics_.largest_at = at;
  }
  void add_relative(double difference, double truth, double magnitude) {
    if (!(magnitude > 0) || !std::isfinite(difference)) return;
    const double share = difference / magnitude;
    statistics_.relative = std::max(statistics_.relative, std::fabs(share));
    ++measured_;
    squares_ += share * share;
    biases_ += truth < 0 ? -share : share;
  }
  UlpStatistics take() {
    const auto finite = static_cast<double>(
        std::max<std::int64_t>(statistics_.count - statistics_.not_finite(), 1));
    statistics_.mean = sum_ / finite;
    statistics_.drift = drift_ / finite;
    const auto measured = static_cast<double>(std::max<std::int64_t>(measured_, 1));
    statistics_.deviation = std::sqrt(squares_ / measured);
    statistics_.bias = biases_ / measured;
    return statistics_;
  }

 private:
  UlpStatistics statistics_;
  double sum_ = 0, drift_ = 0, squares_ = 0, biases_ = 0;
  std::int64_t measured_ = 0;
};

}  // namespace

std::string ulp_place_name(std::size_t place) {
  if (place == middle) return "equal";
  const bool nearer = place < middle;
  const std::size_t step = nearer ? middle - 1 - place : place - middle - 1;
  const auto number = [&](double edge) { return concat(nearer ? "-" : "+", edge); };
  if (step == 0) return concat("up to ", number(edges[0]));
  if (step == edges.size()) return concat("beyond ", number(edges.back()));
  return concat("up to ", number(edges[step]));
}

Tensor round_exact(const sim::ExactProduct& exact, DType dtype, const Dims& dims) {
  Tensor result(dtype, dims);
  for (std::size_t i = 0; i < exact.high.size(); ++i) {
    const bool wide = dtype == DType::f64;
    const double odd = wide ? exact.high[i] : sim::rounded_to_odd(exact.high[i], exact.low[i]);
    store_element(dtype, result.data(), static_cast<std::int64_t>(i), odd);
  }
  return result;
}

UlpStatistics ulp_against(const Tensor& result, const sim::ExactProduct& exact) {
  const Tensor truth = round_exact(exact, result.dtype(), result.dims());
  Gatherer gatherer;
  for (std::int64_t i = 0; i < result.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double got = result.at(i);
    const double difference = (got - exact.high[at]) - exact.low[at];
    gatherer.add(i, got, truth.at(i), difference, ulp_of(truth.at(i), result.dtype()));
    gatherer.add_relative(difference, exact.high[at], exact.magnitude[at]);
  }
  return gatherer.take();
}

UlpStatistics ulp_between(const Tensor& result, const Tensor& other) {
  // Differences count in ulp of the narrower format.
  const bool narrow = bits(result.dtype()) < bits(other.dtype());
  const DType dtype = narrow ? result.dtype() : other.dtype();
  Gatherer gatherer;
  for (std::int64_t i = 0; i < result.size(); ++i) {
    const double a = result.at(i), b = other.at(i);
    gatherer.add(i, a, b, a - b, ulp_of(b, dtype));
  }
  return gatherer.take();
}

std::string not_finite_text(const UlpStatistics& statistics) {
  if (statistics.not_finite() == 0) return "";
  return fmt::format(
      "{} of {} results are infinite or NaN and compared with nothing: {} in both, "
      "{} in one alone",
      grouped(statistics.not_finite()), grouped(statistics.count),
      grouped(statistics.both_not_finite), grouped(statistics.one_not_finite));
}

void add_fields(JsonObject& json, const UlpStatistics& statistics) {
  json.add("elements", statistics.count).add("equal", statistics.equal);
  json.add("below", statistics.below).add("above", statistics.above);
  json.add("nearer_zero", statistics.nearer_zero).add("not_comparable", statistics.not_finite());
  json.add("not_finite_in_both", statistics.both_not_finite);
  json.add("mean_ulp", statistics.mean).add("drift_ulp", statistics.drift);
  json.add("largest_ulp", statistics.largest).add("largest_at", statistics.largest_at);
  if (statistics.relative > 0) {
    json.add("largest_relative", statistics.relative).add("deviation", statistics.deviation);
    json.add("bias", statistics.bias);
  }
  JsonObject histogram;
  for (std::size_t place = 0; place < ulp_places; ++place)
    histogram.add(ulp_place_name(place), statistics.histogram[place]);
  json.add("histogram", histogram);
}

}  // namespace narrowgauge::cli
