// SPDX-License-Identifier: Apache-2.0
// x sigmoid(a x) as Swish; x (1 + erf(x / sqrt(2))) / 2 and its approximation by tanh as Gelu
// (Hendrycks and Gimpel 2016).
#include <numbers>

#include "ops/activation/gelu.h"
#include "ops/activation/sigmoid.h"
#include "ops/activation/swish.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/exponential.h"
#include "passes/forms/form.h"

namespace narrowgauge {

namespace {

// The factor of x in `value`; nothing if it is not a multiple of x.
std::optional<double> multiple_of(const Forms& forms, Value value, Value x) {
  if (value == x) return 1;
  if (const Node* const quotient = forms.made_by<Div>(value); quotient && quotient->input(0) == x)
    if (const auto divisor = forms.number(quotient->input(1))) return 1 / *divisor;
  return find_in<Mul>(forms, value,
                      [&](Value a, Value b) { return a == x ? forms.number(b) : std::nullopt; });
}

bool is_near(std::optional<double> value, double wanted) {
  return value && std::abs(*value - wanted) <= 1e-4 * std::abs(wanted);
}

bool is_cube(const Forms& forms, Value value, Value x) {
  if (const Node* const power = forms.made_by<Pow>(value))
    return power->input(0) == x && forms.is(power->input(1), 3);
  const auto is_square = [&](Value v) {
    const Node* const node = forms.made_by<Mul>(v);
    if (node) return node->input(0) == x && node->input(1) == x;
    const Node* const power = forms.made_by<Pow>(v);
    return power && power->input(0) == x && forms.is(power->input(1), 2);
  };
  return find_in<Mul>(forms, value,
                      [&](Value a, Value b) -> std::optional<bool> {
                        return a == x && is_square(b) ? std::optional(true) : std::nullopt;
                      })
      .has_value();
}

// sqrt(2 / pi) (x + 0.044715 x^3)
bool is_tanh_argument(const Forms& forms, Value value, Value x) {
  const double factor = std::sqrt(2 / std::numbers::pi);
  const auto is_sum = [&](Value a, Value b) -> std::optional<bool> {
    if (a != x) return {};
    return find_in<Mul>(forms, b, [&](Value c, Value d) -> std::optional<bool> {
      return forms.is(c, 0.044715) && is_cube(forms, d, x) ? std::optional(true) : std::nullopt;
    });
  };
  return find_in<Mul>(forms, value,
                      [&](Value a, Value b) -> std::optional<bool> {
                        return forms.is(a, factor) ? find_in<Add>(forms, b, is_sum) : std::nullopt;
                      })
      .has_value();
}

// How the value is 1 + erf or tanh of x: Gelu's attribute `approximate`.
std::optional<std::string> curve_of(const Forms& forms, Value value, Value x) {
  return find_in<Add>(forms, value, [&](Value one, Value curve) -> std::optional<std::string> {
    if (!forms.is(one, 1)) return {};
    const Node* const erf = forms.made_by<Erf>(curve);
    if (erf && is_near(multiple_of(forms, erf->input(0), x), std::numbers::sqrt2 / 2))
      return "none";
    const Node* const tanh = forms.made_by<Tanh>(curve);
    if (tanh && is_tanh_argument(forms, tanh->input(0), x)) return "tanh";
    return {};
  });
}

struct FoundGelu {
  Value x;
  std::string approximate;
};

// x, 1/2 and the curve multiplied in any order.
std::optional<FoundGelu> gelu_of(const Forms& forms, Value value) {
  return find_in<Mul>(forms, value, [&](Value a, Value b) {
    return find_in<Mul>(forms, a, [&](Value c, Value d) -> std::optional<FoundGelu> {
      for (const auto& [x, half, curve] :
           {std::tuple(c, d, b), std::tuple(b, d, c), std::tuple(c, b, d)})
        if (forms.is(half, 0.5))
          if (const auto approximate = curve_of(forms, curve, x)) return FoundGelu{x, *approximate};
      return {};
    });
  });
}

struct FoundSwish {
  Value x;
  double alpha;
};

std::optional<FoundSwish> swish_of(const Forms& forms, Value value) {
  return find_in<Mul>(forms, value, [&](Value x, Value b) -> std::optional<FoundSwish> {
    const Node* const sigmoid = forms.made_by<Sigmoid>(b);
    if (!sigmoid) return {};
    const auto alpha = multiple_of(forms, sigmoid->input(0), x);
    return alpha ? std::optional(FoundSwish{x, *alpha}) : std::nullopt;
  });
}

}  // namespace

std::optional<Value> activation_form(Forms& forms, int node) {
  const Value value{node, 0};
  if (const auto gelu = gelu_of(forms, value))
    return forms.put(value, Gelu{.approximate = gelu->approximate}, {forms.mapped(gelu->x)});
  if (const auto swish = swish_of(forms, value))
    return forms.put(value, Swish{.alpha = swish->alpha}, {forms.mapped(swish->x)});
  return {};
}

}  // namespace narrowgauge
