// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/ulp.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/machine/floating_environment.h"
#include "narrowgauge/error.h"
#include "narrowgauge/simulate.h"
#include "tensor/values.h"
#include "units/exact_product.h"

namespace narrowgauge {
namespace {

std::vector<double> doubles(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.at(i));
  return values;
}

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
      ++statistics_.histogram[equal_place];
      return;
    }
    const double size = std::fabs(difference) / ulp;
    const bool nearer = (difference < 0) != (truth < 0 || (truth == 0 && result < 0));
    ++(difference < 0 ? statistics_.below : statistics_.above);
    statistics_.nearer_zero += nearer;
    sum_ += size;
    drift_ += nearer ? -size : size;
    const auto step =
        static_cast<std::size_t>(std::ranges::lower_bound(ulp_edges, size) - ulp_edges.begin());
    ++statistics_.histogram[nearer ? equal_place - 1 - step : equal_place + 1 + step];
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

ExactProduct exact_product(const Tensor& a, const Tensor& b, const Tensor* c) {
  const FloatingEnvironment environment(Subnormals::keep);
  const Dims dims = product_dims(a.dims(), b.dims());
  require(!c || c->dims() == dims, "matrix product: expected c of ", dims, ", got ",
          c ? c->dims() : Dims());
  const std::int64_t depth = a.dims().back(), columns = b.dims().size() > 1 ? b.dims().back() : 1;
  const bool one_b = b.dims().size() <= 2;
  const std::int64_t count = one_b || element_count(dims) == 0
                                 ? 1
                                 : element_count(dims) / (a.dims()[a.dims().size() - 2] * columns);
  const std::int64_t outputs = element_count(dims) / count;
  const std::vector<double> left = doubles(a), right = doubles(b);
  const std::vector<double> start = c ? doubles(*c) : std::vector<double>();
  const sim::ExactSize size{columns ? outputs / columns : 0, columns, depth};
  ExactProduct all;
  for (std::int64_t i = 0; i < count; ++i) {
    ExactProduct one = sim::exact_product(size, left.data() + i * size.rows * depth,
                                          right.data() + i * depth * columns,
                                          c ? start.data() + i * outputs : nullptr);
    if (count == 1) return one;
    all.high.insert(all.high.end(), one.high.begin(), one.high.end());
    all.low.insert(all.low.end(), one.low.begin(), one.low.end());
    all.magnitude.insert(all.magnitude.end(), one.magnitude.begin(), one.magnitude.end());
  }
  return all;
}

Tensor round_exact(const ExactProduct& exact, DType dtype, const Dims& dims) {
  const FloatingEnvironment environment(Subnormals::keep);
  Tensor result(dtype, dims);
  for (std::size_t i = 0; i < exact.high.size(); ++i) {
    const bool wide = dtype == DType::f64;
    const double odd = wide ? exact.high[i] : sim::rounded_to_odd(exact.high[i], exact.low[i]);
    store_element(dtype, result.data(), static_cast<std::int64_t>(i), odd);
  }
  return result;
}

UlpStatistics ulp_against(const Tensor& result, const ExactProduct& exact) {
  const FloatingEnvironment environment(Subnormals::keep);
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
  const FloatingEnvironment environment(Subnormals::keep);
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

}  // namespace narrowgauge
