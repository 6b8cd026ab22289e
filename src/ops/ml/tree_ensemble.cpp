// SPDX-License-Identifier: Apache-2.0
#include "ops/ml/tree_ensemble.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>

#include "base/indexed_vector.h"
#include "ops/ml/trees.h"
#include "ops/no_gradient.h"
#include "ops/reference.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

enum Aggregate { average, sum, least, greatest };
enum Transform { none, softmax, logistic, softmax_of_others, probit };

using Scores = IndexedVector<std::int64_t, double>;  // of the targets

// The number below which normally distributed ones are with this probability. Newton's method from
// 0 stays on one side of the result, as the distribution is convex below 0 and concave above.
double inverse_of_normal(double probability) {
  if (!(probability > 0 && probability < 1))
    return probability == 0   ? -std::numeric_limits<double>::infinity()
           : probability == 1 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  constexpr int enough = 2000;  // for the smallest numbers; steps in the tail are 1 / |x|
  double x = 0;
  for (int i = 0; i < enough; ++i) {
    const double below = std::erfc(-x / std::numbers::sqrt2) / 2;
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    const double step = (below - probability) / density;
    x -= step;
    if (!(std::abs(step) > 1e-15 * std::abs(x))) break;
  }
  return x;
}

void take_softmax(Scores& row, bool of_all) {
  const auto counts = [&](double value) { return of_all || value != 0; };
  double most = -std::numeric_limits<double>::infinity(), total = 0;
  for (const double value : row)
    if (counts(value)) most = std::max(most, value);
  for (double& value : row)
    if (counts(value)) total += value = std::exp(value - most);
  for (double& value : row)
    if (total > 0) value /= total;
}

void transform(Scores& row, std::int64_t kind) {
  if (kind == softmax || kind == softmax_of_others) take_softmax(row, kind == softmax);
  for (double& value : row) {
    if (kind == logistic) value = 1 / (1 + std::exp(-value));
    if (kind == probit) value = inverse_of_normal(value);
  }
}

double combined(std::int64_t kind, double a, double b) {
  return kind == least ? std::min(a, b) : kind == greatest ? std::max(a, b) : a + b;
}

Scores scores_of(const TreeEnsemble& op, const Trees& trees,
                 const std::function<double(std::int64_t)>& features) {
  Scores values(op.n_targets);
  IndexedVector<std::int64_t, bool> reached(op.n_targets);
  trees.visit(features, [&](std::int64_t target, double weight) {
    values[target] =
        reached[target] ? combined(op.aggregate_function, values[target], weight) : weight;
    reached[target] = true;
  });
  if (op.aggregate_function == average)
    for (double& value : values) value /= static_cast<double>(trees.count());
  transform(values, op.post_transform);
  return values;
}

Offer tree_ensemble_reference(const Request& request) {
  const auto& op = request.as<TreeEnsemble>();
  return reference_offer(request, [op, trees = std::make_shared<const Trees>(op)](
                                      const auto& in, const auto& out, const KernelCall&) {
    const std::int64_t rows = in[0].dims()[0], features = in[0].dims()[1];
    std::int64_t place = 0;
    for (std::int64_t row = 0; row < rows; ++row)
      for (const double value : scores_of(
               op, *trees, [&](std::int64_t feature) { return in[0][row * features + feature]; }))
        out[0].set(place++, value);
  });
}

constexpr Kernel tree_ensemble_kernels[] = {{"reference", tree_ensemble_reference}};

}  // namespace

TensorTypes TreeEnsemble::infer(const Inference& in) const {
  require(aggregate_function >= average && aggregate_function <= greatest,
          "TreeEnsemble: aggregate_function must be 0 to 3, got ", aggregate_function);
  require(post_transform >= none && post_transform <= probit,
          "TreeEnsemble: post_transform must be 0 to 4, got ", post_transform);
  require(n_targets > 0 && n_targets <= Tensor::most_elements,
          "TreeEnsemble: n_targets must be from 1 to ", Tensor::most_elements, ", got ", n_targets);
  const Trees trees(*this);
  require(
      in.rank(0) == 2 && in.shape(0)[1].is_known() && in.shape(0)[1].value() >= trees.features(),
      "TreeEnsemble: expected rows of at least ", trees.features(), " features, got ", in.type(0));
  return {{in.dtype(0), {in.shape(0)[0], n_targets}}};
}

std::span<const Kernel> TreeEnsemble::kernels() { return tree_ensemble_kernels; }

}  // namespace narrowgauge

NG_OPS(tree_ensemble, narrowgauge::TreeEnsemble)
NG_NO_GRADIENT(tree_ensemble, "constant almost everywhere", narrowgauge::TreeEnsemble)
