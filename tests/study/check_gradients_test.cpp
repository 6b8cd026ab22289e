// SPDX-License-Identifier: Apache-2.0
// Gradients of a program's own ops against differences: right ones pass, wrong ones are named.
#include "narrowgauge/check_gradients.h"

#include <gtest/gtest.h>

#include <cmath>

#include "narrowgauge/error.h"
#include "narrowgauge/losses.h"
#include "narrowgauge/op.h"

namespace narrowgauge::check_gradients_test {
namespace {

// y = a * b^2 for f32 alone, whose gradient forgets the 2 where it is spoilt.
struct TimesSquare {
  static constexpr OpInfo info{.name = "TimesSquare",
                               .domain = "checked",
                               .inputs = "a:T, b:T",
                               .outputs = "y:T",
                               .types = "T:float"};
  static inline bool spoilt = false;
  double factor = 1;
  static std::vector<Sample<TimesSquare>> samples() {
    return {{{2.0}, {sample("f32[2,3]", 0.5, 2), sample("f32[2,3]", 0.5, 2)}},
            {{}, {sample(Tensor::from<float>({2}, std::vector{1.0F, -2.0F})), sample("f32[2]")}}};
  }
  static void attributes(auto& self, auto&& visit) { visit("factor", self.factor); }
  TensorTypes infer(const Inference& in) const { return {in.type(0)}; }
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels() {
    static constexpr Kernel list[] = {{"checked:f32", offer}};
    return list;
  }
  static Offer offer(const Request& request) {
    if (request.input(0).dtype != DType::f32) return Offer::decline("only f32");
    Offer made;
    made.run = [factor = static_cast<float>(request.as<TimesSquare>().factor),
                count = element_count(request.input(0).dims)](const KernelCall& call) {
      for (std::int64_t i = 0; i < count; ++i) {
        const float b = call.input(1).as<const float>()[i];
        call.output(0).as<float>()[i] = factor * call.input(0).as<const float>()[i] * b * b;
      }
    };
    return made;
  }
};

// factor * a * b
struct Times {
  static constexpr OpInfo info{.name = "Times",
                               .domain = "checked",
                               .inputs = "a:T, b:T, c:T",
                               .outputs = "y:T",
                               .types = "T:float"};
  double factor = 1;
  static void attributes(auto& self, auto&& visit) { visit("factor", self.factor); }
  TensorTypes infer(const Inference& in) const { return {in.type(0)}; }
  static std::span<const Kernel> kernels() {
    static constexpr Kernel list[] = {{"checked:f32", offer}};
    return list;
  }
  static Offer offer(const Request& request) {
    Offer made;
    made.run = [factor = static_cast<float>(request.as<Times>().factor),
                count = element_count(request.input(0).dims)](const KernelCall& call) {
      for (std::int64_t i = 0; i < count; ++i)
        call.output(0).as<float>()[i] = factor * call.input(0).as<const float>()[i] *
                                        call.input(1).as<const float>()[i] *
                                        call.input(2).as<const float>()[i];
    };
    return made;
  }
};

Values TimesSquare::gradient(Gradient& g) const {
  const Value dy = g.output_gradient(), a = g.input(0), b = g.input(1);
  return {g.add(Times{factor}, {dy, b, b}), g.add(Times{spoilt ? factor : 2 * factor}, {dy, a, b})};
}

Tensor numbers(Dims dims) {
  Tensor made(DType::f32, std::move(dims));
  for (std::int64_t i = 0; i < made.size(); ++i)
    made.set(i, std::sin(static_cast<double>(3 * i + 1)));
  return made;
}

class CheckGradients : public testing::Test {
 protected:
  void TearDown() override { TimesSquare::spoilt = false; }
};

TEST_F(CheckGradients, pass_where_an_op_of_the_program_is_right) {
  const GradientReport report =
      check_gradients(TimesSquare{1.5}, {numbers({2, 3}), numbers({2, 3})});
  EXPECT_TRUE(report.passed()) << text(report);
  EXPECT_EQ(report.checked, 12);
  EXPECT_EQ(report.computed_in, DType::f32);
  EXPECT_LT(report.worst, 1e-3);
}

TEST_F(CheckGradients, name_input_element_and_both_values_where_it_is_wrong) {
  TimesSquare::spoilt = true;
  const GradientReport report =
      check_gradients(TimesSquare{1.5}, {numbers({2, 3}), numbers({2, 3})});
  EXPECT_FALSE(report.passed());
  ASSERT_GE(report.wrong.size(), 4U) << text(report);
  for (const WrongDerivative& each : report.wrong) {
    EXPECT_EQ(each.input, "b");
    EXPECT_EQ(each.element.size(), 2U);
    EXPECT_NEAR(each.numeric, 2 * each.analytic, 2e-3 * std::abs(each.numeric) + 1e-4);
  }
  EXPECT_NE(text(report).find("b[0,0]: gradient() gives "), std::string::npos) << text(report);
}

TEST_F(CheckGradients, of_a_network_of_built_in_ops_are_compared_in_f64) {
  const BuildNetwork build = [](Network& net) {
    Value x = net.input("x", {net.batch(), 1, 6, 6});
    x = net.tanh(net.batch_norm(net.conv(x, 2, {}, "conv"), "norm"));
    return softmax_cross_entropy()(net, net.linear(net.flatten(net.max_pool(x)), 3, "last"));
  };
  const GradientReport report =
      check_gradients(build, {.ranges = {{"labels", {0, 3}}}, .most_elements = 8});
  EXPECT_TRUE(report.passed()) << text(report);
  EXPECT_EQ(report.computed_in, DType::f64);
  EXPECT_LT(report.worst, 1e-6);
  EXPECT_GT(report.checked, 30);
}

// A penalty on the slope of the loss: second derivatives of what is in between.
TEST_F(CheckGradients, go_through_the_gradients_of_pools_and_of_cross_entropy) {
  for (const char* attributes :
       {"kernel_shape=[2,2], strides=[2,2]", "ceil_mode=1, dilations=[2,1], kernel_shape=[2,3]",
        "kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2], auto_pad=\"NOTSET\""}) {
    const BuildNetwork build = [&](Network& net) {
      const Value x = net.input("x", {net.batch(), 1, 6, 6});
      Value y = net.tanh(net.conv(x, 2, {}, "conv"));
      y = net.average_pool(net.op("MaxPool", {y}, attributes), {.stride = 1});
      y = net.linear(net.flatten(y), 3, "last");
      const Value slope = net.gradients(softmax_cross_entropy()(net, y), {x})[0];
      return net.op("ReduceSum", {net.op("Mul", {slope, slope})}, "keepdims=0");
    };
    const GradientReport report =
        check_gradients(build, {.ranges = {{"labels", {0, 3}}}, .most_elements = 12});
    EXPECT_TRUE(report.passed()) << attributes << ": " << text(report);
    EXPECT_EQ(report.computed_in, DType::f64);
  }
}

TEST_F(CheckGradients, leave_out_the_kink_of_a_relu) {
  Tensor x = numbers({1, 4});
  x.set(2, 0);
  const GradientReport report = check_gradients(
      [](Network& net) {
        return net.relu(net.input("x", {net.batch(), 4}));
      },
      {.batch = 1, .values = {{"x", x}}});
  EXPECT_TRUE(report.passed()) << text(report);
  EXPECT_EQ(report.kinks, 1);
  EXPECT_EQ(report.checked, 3);
}

TEST_F(CheckGradients, refuse_values_that_do_not_fit) {
  const BuildNetwork build = [](Network& net) { return net.input("x", {net.batch(), 4}); };
  EXPECT_THROW(check_gradients(build, {.values = {{"y", numbers({3, 4})}}}), UsageError);
  EXPECT_THROW(check_gradients(build, {.values = {{"x", numbers({2, 4})}}}), UsageError);
  EXPECT_THROW(check_gradients(build, {.batch = 0}), UsageError);
}

TEST(check_gradients, of_an_op_takes_the_samples_that_it_has) {
  TimesSquare::spoilt = false;
  const GradientReport right = check_gradients<TimesSquare>();
  EXPECT_TRUE(right.passed()) << text(right);
  EXPECT_EQ(right.checked, 2 * 6 + 2 * 2);
  TimesSquare::spoilt = true;
  const GradientReport wrong = check_gradients<TimesSquare>();
  TimesSquare::spoilt = false;
  EXPECT_EQ(wrong.checked, right.checked);
  EXPECT_GE(wrong.wrong.size(), 4U) << text(wrong);  // but for those near 0
  for (const WrongDerivative& each : wrong.wrong) EXPECT_EQ(each.input, "b");
  EXPECT_GT(wrong.worst, 0.1);
}

}  // namespace
}  // namespace narrowgauge::check_gradients_test
