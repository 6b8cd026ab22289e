// SPDX-License-Identifier: Apache-2.0
// Kernels of an update rule that computes each weight by itself, from one formula for f32 and f64:
//
//   template <class T>
//   struct Formula {
//     static constexpr std::size_t moments = 2;  // all of the ports, all in use
//     // What is the same for all elements, computed in f64; `step` counts this one.
//     Formula(const Rule& op, double learning_rate, double step);
//     // The next weight, from the true gradient; changes the moments.
//     T operator()(T weight, T gradient, std::array<T, moments>& moments) const;
//   };
//
// The op has the switch `maximize`: it goes along the gradient, not against it.
#pragma once

#include <array>

#include "ops/training/update_op.h"

namespace narrowgauge {

template <class Formula>
void update_strip(const Formula& formula, float multiplier, const cpu::UpdateStrip& strip) {
  constexpr std::size_t count = Formula::moments;
  const float *weight = strip.weight, *gradient = strip.gradient;
  float* next_weight = strip.next_weight;
  const auto arrays = strip.moments;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < strip.count; ++i) {
    std::array<float, count> moments;
    for (std::size_t m = 0; m < count; ++m) moments[m] = arrays[m].now[i];
    next_weight[i] = formula(weight[i], gradient[i] * multiplier, moments);
    for (std::size_t m = 0; m < count; ++m) arrays[m].next[i] = moments[m];
  }
}

// An update of strips in the form in which cpu::update_by_strips() calls it.
template <class Formula>
struct StripUpdate {
  const Formula& formula;
  float multiplier;
  void operator()(const cpu::UpdateStrip& strip) const { update_strip(formula, multiplier, strip); }
};

template <class Rule, template <class> class Formula>
Offer offer_element_rule(const Request& request) {
  std::array<bool, Formula<float>::moments> in_use;
  in_use.fill(true);
  return offer_update(request, in_use, [op = request.as<Rule>()](UpdateCall& call) {
    const cpu::UpdateCommon& common = call.common;
    const Formula<float> formula(op, double{common.learning_rate}, static_cast<double>(call.step));
    const float multiplier = op.maximize ? -common.multiplier : common.multiplier;
    cpu::update_by_strips(common, call.moments, StripUpdate<Formula<float>>{formula, multiplier});
  });
}

template <class Rule, template <class> class Formula>
Offer reference_element_rule(const Request& request) {
  constexpr std::size_t count = Formula<double>::moments;
  return reference_update_of_arrays(request, [op = request.as<Rule>()](UpdateArrays& arrays) {
    const Formula<double> formula(op, arrays.learning_rate, arrays.step);
    for (std::size_t i = 0; i < arrays.weight.size(); ++i) {
      std::array<double, count> moments;
      for (std::size_t m = 0; m < count; ++m) moments[m] = arrays.moments[m][i];
      const double gradient = op.maximize ? -arrays.gradient[i] : arrays.gradient[i];
      arrays.weight[i] = formula(arrays.weight[i], gradient, moments);
      for (std::size_t m = 0; m < count; ++m) arrays.moments[m][i] = moments[m];
    }
  });
}

// The kernels of the rule, for its kernels().
template <class Rule, template <class> class Formula>
constexpr Kernel element_rule_kernels[] = {{"rows", offer_element_rule<Rule, Formula>},
                                           {"reference", reference_element_rule<Rule, Formula>}};

}  // namespace narrowgauge
