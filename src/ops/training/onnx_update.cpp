// SPDX-License-Identifier: Apache-2.0
#include "ops/training/onnx_update.h"

#include <vector>

#include "base/enumerate.h"
#include "base/indexed_vector.h"
#include "ops/control/composite.h"
#include "ops/elementwise/in_dtype.h"
#include "ops/no_gradient.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

constexpr int settings = 2;  // inputs before the values

// Types of the results: the tensors, then `moments` of each.
TensorTypes updated_types(const Inference& in, int moments) {
  require(in.rank(0) == 0 && in.rank(1) == 0, in.op_name(),
          ": rate and count must be single numbers, got ", in.type(0), " and ", in.type(1));
  const int values = in.count() - settings, kinds = 2 + moments;
  require(values > 0 && values % kinds == 0, in.op_name(),
          ": expected tensors, gradients and moments, so many of each that ", kinds,
          " divides their number, got ", values);
  const int tensors = values / kinds;
  TensorTypes types;
  for (int i = 0; i < values; ++i) {
    const TensorType& type = in.type(settings + i);
    require(type == in.type(settings + i % tensors), in.op_name(), ": value ", i, ", ", type,
            ", must be of the type of its tensor, ", in.type(settings + i % tensors));
    if (i < tensors || i >= 2 * tensors) types.push_back(type);
  }
  return types;
}

// One tensor on its way to the next step.
struct Update {
  Expression x, gradient;
  std::vector<Expression> moments;
};

// Calls step(update) for each tensor, and returns the results in the op's order.
template <class Step>
Values updated(Rewriting& r, int moments, double norm_coefficient, const Step& step) {
  const int tensors = (r.input_count() - settings) / (2 + moments);
  const auto value = [&](int kind, int tensor) {
    return Expression{r, r.input(settings + kind * tensors + tensor)};
  };
  IndexedVector<int, Values> kinds(1 + moments);
  for (int tensor = 0; tensor < tensors; ++tensor) {
    Update update{value(0, tensor), value(1, tensor), {}};
    for (int m = 0; m < moments; ++m) update.moments.push_back(value(2 + m, tensor));
    update.gradient = update.gradient + update.x * norm_coefficient;
    step(update);
    kinds[0].push_back(update.x);
    for (const auto& [m, moment] : enumerate(update.moments)) kinds[m + 1].push_back(moment);
  }
  Values results;
  for (const Values& kind : kinds) results.insert(results.end(), kind.begin(), kind.end());
  return results;
}

// The rate and the count in the dtype of the tensors.
Expression setting(Rewriting& r, int input) {
  return in_dtype(r, r.input(input), r.type(r.input(settings)).dtype);
}

}  // namespace

TensorTypes Adam::infer(const Inference& in) const { return updated_types(in, 2); }

Values Adam::decompose(Rewriting& r) const {
  const Expression rate = setting(r, 0), count = setting(r, 1);
  const Expression corrected =
      rate * sqrt(1 - pow(rate.number(beta), count)) / (1 - pow(rate.number(alpha), count));
  const Expression used = where(count > 0, corrected, rate);
  return updated(r, 2, norm_coefficient, [&](Update& u) {
    Expression &v = u.moments[0], &h = u.moments[1];
    v = v * alpha + u.gradient * (1 - alpha);
    h = h * beta + u.gradient * u.gradient * (1 - beta);
    u.x = (u.x - used * v / (sqrt(h) + epsilon)) * (1 - norm_coefficient_post);
  });
}

TensorTypes Momentum::infer(const Inference& in) const {
  require(mode == "standard" || mode == "nesterov",
          "Momentum: the mode must be standard or nesterov, got '", mode, "'");
  return updated_types(in, 1);
}

Values Momentum::decompose(Rewriting& r) const {
  const Expression rate = setting(r, 0), count = setting(r, 1);
  const Expression fresh = where(count > 0, rate.number(beta), rate.number(1));
  return updated(r, 1, norm_coefficient, [&](Update& u) {
    Expression& v = u.moments[0];
    v = v * alpha + fresh * u.gradient;
    u.x = u.x - rate * (mode == "nesterov" ? u.gradient + v * alpha : v);
  });
}

TensorTypes Adagrad::infer(const Inference& in) const { return updated_types(in, 1); }

Values Adagrad::decompose(Rewriting& r) const {
  const Expression rate = setting(r, 0) / (1 + setting(r, 1) * decay_factor);
  return updated(r, 1, norm_coefficient, [&](Update& u) {
    Expression& h = u.moments[0];
    h = h + u.gradient * u.gradient;
    u.x = u.x - rate * u.gradient / (sqrt(h) + epsilon);
  });
}

std::span<const Kernel> Adam::kernels() { return composite_kernels(); }
std::span<const Kernel> Momentum::kernels() { return composite_kernels(); }
std::span<const Kernel> Adagrad::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(onnx_update, narrowgauge::Adam, narrowgauge::Momentum, narrowgauge::Adagrad)
NG_NO_GRADIENT(onnx_update, "update of weights", narrowgauge::Adam, narrowgauge::Momentum,
               narrowgauge::Adagrad)
