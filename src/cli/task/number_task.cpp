// SPDX-License-Identifier: Apache-2.0
#include "cli/task/number_task.h"

#include <algorithm>
#include <cmath>

#include "narrowgauge/error.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/reduce/reduce.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* node_names[] = {"target.scale", "target.shift"};

Value constant_row(Network& net, const std::vector<float>& numbers) {
  return net.graph().constant(Tensor::from<float>({1, std::ssize(numbers)}, numbers));
}

}  // namespace

NumberFacts numbers_in(const Tensor& targets, const std::string& data) {
  const std::int64_t rows = targets.dims()[0], count = targets.dims()[1];
  NumberFacts facts;
  for (std::int64_t k = 0; k < count; ++k) {
    // Two passes compute the deviation, since a mean may be far larger than it.
    double sum = 0, squares = 0;
    for (std::int64_t row = 0; row < rows; ++row) sum += targets.at(row * count + k);
    const double mean = sum / static_cast<double>(rows);
    for (std::int64_t row = 0; row < rows; ++row)
      squares += std::pow(targets.at(row * count + k) - mean, 2);
    const auto deviation = static_cast<float>(std::sqrt(squares / static_cast<double>(rows)));
    require<DataError>(std::isfinite(mean) && std::isfinite(deviation), data,
                       ": some targets are not finite, or too large");
    facts.mean.push_back(static_cast<float>(mean));
    facts.deviation.push_back(deviation > 0 ? deviation : 1);
  }
  return facts;
}

BuildNetwork predict_numbers(BuildNetwork build, const NumberFacts& numbers) {
  return [build = std::move(build), numbers](Network& net) {
    const Value deviations = build(net);
    const Value scaled =
        net.apply(Mul{}, {deviations, constant_row(net, numbers.deviation)}, node_names[0]);
    return net.apply(Add{}, {scaled, constant_row(net, numbers.mean)}, node_names[1]);
  };
}

Loss number_loss(const NumberFacts& numbers) {
  return [numbers](Network& net, Value prediction) {
    const Value labels = net.input("labels", net.shape(prediction));
    const Value error = net.apply(Sub{}, {prediction, labels}, "error");
    const Value relative =
        net.apply(Div{}, {error, constant_row(net, numbers.deviation)}, "error.relative");
    const Value square = net.apply(Mul{}, {relative, relative}, "error.square");
    return net.apply(ReduceMean{.keepdims = 0}, {square}, "loss");
  };
}

void keep_numbers_wide(RunPrecision& precision, const Task& task) {
  if (!task.images || task.images->numbers.empty()) return;
  if (!precision.is_mixed() && !precision.automatic) return;
  for (const char* const name : node_names) {
    const std::string wish = concat(name, "=f32");
    if (std::ranges::find(precision.overrides, wish) == precision.overrides.end())
      precision.overrides.push_back(wish);
  }
}

}  // namespace narrowgauge::cli
