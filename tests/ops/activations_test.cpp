// SPDX-License-Identifier: Apache-2.0
// The f32 strips of functions against long double, with the bound that each keeps.
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>

#include "ops/activation/gelu.h"
#include "ops/activation/linear_units.h"
#include "ops/activation/sigmoid.h"
#include "ops/activation/swish.h"
#include "ops/pointwise/exponential.h"
#include "support/run_op.h"

namespace narrowgauge::activations_test {
namespace {

using testing_support::run_op;
using Real = long double;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr Real inv_sqrt_2 = std::numbers::sqrt2_v<Real> / 2;

// Values spread evenly over the range, and towards zero.
Tensor points(double low, double high) {
  constexpr int count = 20'000;
  std::vector<float> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(low + (high - low) * i / (count - 1)));
    const double small = std::exp2(-30.0 * i / count);
    if (low < 0) values.push_back(static_cast<float>(-small));
    if (high > 0) values.push_back(static_cast<float>(small));
  }
  return Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values);
}

using Function = Real (*)(Real);
using Strips = Tensor (*)(const Tensor&);

template <auto op>
Tensor forward(const Tensor& x) {
  return run_op(op(), {x})[0];
}
// The derivative: the gradient op with dy = 1.
template <auto op>
Tensor slope(const Tensor& x) {
  return run_op(op(), {x, Tensor::full(DType::f32, x.dims(), 1)})[0];
}

Real sigmoid_of(Real x) { return 1 / (1 + std::exp(-x)); }
Real density_of(Real x) {
  return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi_v<Real> * inv_sqrt_2;
}
Real distribution_of(Real x) { return std::erfc(-x * inv_sqrt_2) / 2; }
Real tanh_softplus_of(Real x) { return std::tanh(std::log1p(std::exp(x))); }

// The functions of glibc's vector library, which promises 4 units in the last place: 8 of ours.
// What is composed of several gets the sum. Errors are relative to the result or, where it passes
// through zero, to `scale`.
struct Accuracy {
  const char* name;
  Strips strips;
  Function exact;
  double low, high;
  double bound;  // in units of 2^-24, half a unit in the last place of the smallest of a binade
  double scale = 0;
};

const Accuracy table[] = {
    {"Exp", forward<[] { return Exp{}; }>, [](Real x) { return std::exp(x); }, -80, 80, 8},
    {"Log", forward<[] { return Log{}; }>, [](Real x) { return std::log(x); }, 1e-30, 1e30, 8},
    {"Sin", forward<[] { return Sin{}; }>, [](Real x) { return std::sin(x); }, -100, 100, 8, 1},
    {"Cos", forward<[] { return Cos{}; }>, [](Real x) { return std::cos(x); }, -100, 100, 8, 1},
    {"Sigmoid", forward<[] { return Sigmoid{}; }>, sigmoid_of, -80, 80, 10},
    {"Tanh", forward<[] { return Tanh{}; }>, [](Real x) { return std::tanh(x); }, -20, 20, 8},
    {"Softplus", forward<[] { return Softplus{}; }>, [](Real x) { return std::log1p(std::exp(x)); },
     -80, 80, 10},
    {"SoftplusGradient", slope<[] { return SoftplusGradient{}; }>, sigmoid_of, -80, 80, 10},
    {"Elu", forward<[] { return Elu{}; }>, [](Real x) { return x < 0 ? std::expm1(x) : x; }, -80,
     80, 10},
    {"EluGradient", slope<[] { return EluGradient{}; }>,
     [](Real x) { return x < 0 ? std::exp(x) : 1; }, -80, 80, 8},
    {"Swish", forward<[] { return Swish{}; }>, [](Real x) { return x * sigmoid_of(x); }, -80, 80,
     10},
    {"SwishGradient", slope<[] { return SwishGradient{}; }>,
     [](Real x) { return sigmoid_of(x) * (1 + x * (1 - sigmoid_of(x))); }, -80, 80, 8, 0.1},
    {"Mish", forward<[] { return Mish{}; }>, [](Real x) { return x * tanh_softplus_of(x); }, -80,
     80, 10},
    {"MishGradient", slope<[] { return MishGradient{}; }>,
     [](Real x) {
       const Real t = tanh_softplus_of(x);
       return t + x * sigmoid_of(x) * (1 - t * t);
     },
     -80, 80, 16, 0.1},
    {"Gelu", forward<[] { return Gelu{}; }>, [](Real x) { return x * distribution_of(x); }, -5, 80,
     64},
    {"Gelu, left tail", forward<[] { return Gelu{}; }>,
     [](Real x) { return x * distribution_of(x); }, -13, -5, 400},
    {"GeluGradient", slope<[] { return GeluGradient{}; }>,
     [](Real x) { return distribution_of(x) + x * density_of(x); }, -80, 80, 16, 0.1},
    {"Gelu tanh", forward<[] { return Gelu{"tanh"}; }>,
     [](Real x) {
       return x * sigmoid_of(2 * std::sqrt(2 * std::numbers::inv_pi_v<Real>) *
                             (x + Real(0.044715) * x * x * x));
     },
     -5, 80, 100},
    {"Erf", forward<[] { return Erf{}; }>, [](Real x) { return std::erf(x); }, -6, 6, 8},
    {"ErfGradient", slope<[] { return ErfGradient{}; }>,
     [](Real x) { return 2 * std::numbers::inv_sqrtpi_v<Real> * std::exp(-x * x); }, -5, 5, 64},
};

class StripAccuracy : public ::testing::TestWithParam<Accuracy> {};

TEST_P(StripAccuracy, stays_within_its_bound) {
  const Accuracy& entry = GetParam();
  const Tensor x = points(entry.low, entry.high);
  const Tensor y = entry.strips(x);
  double worst = 0, at = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (x.at(i) < entry.low || x.at(i) > entry.high) continue;
    const Real exact = entry.exact(static_cast<Real>(x.at(i)));
    const Real size = std::max<Real>(std::abs(exact), static_cast<Real>(entry.scale));
    if (size < Real(0x1p-126)) continue;  // subnormal results
    const auto error = static_cast<double>(std::abs(static_cast<Real>(y.at(i)) - exact) / size);
    if (!(error <= worst)) worst = error, at = x.at(i);
  }
  std::printf("    %s on [%g, %g]: %.2f x 2^-24 at %.9g\n", entry.name, entry.low, entry.high,
              worst * 0x1p24, at);
  EXPECT_LE(worst * 0x1p24, entry.bound) << "at " << at;
}

INSTANTIATE_TEST_SUITE_P(Functions, StripAccuracy, ::testing::ValuesIn(table),
                         [](const auto& each) {
                           std::string text;
                           for (const char* c = each.param.name; *c; ++c)
                             if (std::isalnum(*c)) text += *c;
                           return text;
                         });

template <class Op>
float at(Op op, float x) {
  const std::vector<Tensor> results = run_op(op, {Tensor::from<float>({1}, std::vector{x})});
  return static_cast<float>(results[0].at(0));
}
template <class Op>
float slope_at(Op op, float x) {
  const Tensor one = Tensor::from<float>({1}, std::vector<float>{1});
  const std::vector<Tensor> results = run_op(op, {Tensor::from<float>({1}, std::vector{x}), one});
  return static_cast<float>(results[0].at(0));
}

TEST(activations, reach_their_limits_without_overflow) {
  for (const float x : {90.0F, 1e4F, 1e15F, 3e38F}) {
    EXPECT_EQ(at(Sigmoid{}, x), 1);
    EXPECT_EQ(at(Sigmoid{}, -x) < 1e-38F, true);
    for (const float y : {at(Softplus{}, x), at(Swish{}, x), at(Mish{}, x), at(Gelu{}, x),
                          at(Gelu{"tanh"}, x), at(HardSwish{}, x), at(Elu{}, x)})
      EXPECT_EQ(y, x);
    for (const float y : {at(Softplus{}, -x), at(Swish{}, -x), at(Mish{}, -x), at(Gelu{}, -x),
                          at(Gelu{"tanh"}, -x), at(HardSwish{}, -x), at(Elu{}, -x) + 1})
      EXPECT_NEAR(y, 0, 1e-36);
    for (const float y : {slope_at(SoftplusGradient{}, x), slope_at(SwishGradient{}, x),
                          slope_at(MishGradient{}, x), slope_at(GeluGradient{}, x),
                          slope_at(GeluGradient{"tanh"}, x), slope_at(HardSwishGradient{}, x),
                          slope_at(EluGradient{}, x)})
      EXPECT_EQ(y, 1);
    for (const float y : {slope_at(SoftplusGradient{}, -x), slope_at(SwishGradient{}, -x),
                          slope_at(MishGradient{}, -x), slope_at(GeluGradient{}, -x),
                          slope_at(GeluGradient{"tanh"}, -x), slope_at(HardSwishGradient{}, -x),
                          slope_at(EluGradient{}, -x)})
      EXPECT_NEAR(y, 0, 1e-36);
  }
  EXPECT_EQ(at(Sigmoid{}, infinity), 1);
  EXPECT_EQ(at(Sigmoid{}, -infinity), 0);
  EXPECT_EQ(at(Softplus{}, infinity), infinity);
}

TEST(activations, keep_nan) {
  for (const float y :
       {at(Sigmoid{}, nan), at(Tanh{}, nan), at(Softplus{}, nan), at(Swish{}, nan), at(Mish{}, nan),
        at(Gelu{}, nan), at(Gelu{"tanh"}, nan), at(Erf{}, nan), at(Elu{}, nan),
        at(LeakyRelu{}, nan), at(HardSigmoid{}, nan), at(HardSwish{}, nan)})
    EXPECT_TRUE(std::isnan(y));
}

// The values are those of torch 2 in f64: nn.functional at x = -1.25.
TEST(activations, equal_known_values) {
  constexpr float x = -1.25F;
  EXPECT_NEAR(at(Gelu{}, x), -0.13206222, 1e-6);
  EXPECT_NEAR(at(Gelu{"tanh"}, x), -0.13228580, 1e-6);
  EXPECT_NEAR(at(Swish{}, x), -0.27837517, 1e-6);
  EXPECT_NEAR(at(Swish{2.0}, x), -0.09482273, 1e-6);
  EXPECT_NEAR(at(Mish{}, x), -0.30841396, 1e-6);
  EXPECT_NEAR(at(Softplus{}, x), 0.25192905, 1e-6);
  EXPECT_NEAR(at(HardSigmoid{}, x), 0.25, 1e-6);
  EXPECT_NEAR(at(HardSwish{}, x), -0.36458333, 1e-6);
  EXPECT_NEAR(at(Elu{0.5}, x), -0.3567476, 1e-6);
  EXPECT_NEAR(at(LeakyRelu{}, x), -0.0125, 1e-8);
}

TEST(activations, refuse_an_unknown_approximation) {
  EXPECT_THROW(at(Gelu{"fast"}, 1), UsageError);
  EXPECT_THROW(slope_at(GeluGradient{"fast"}, 1), UsageError);
}

}  // namespace
}  // namespace narrowgauge::activations_test
