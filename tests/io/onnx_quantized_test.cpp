// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's own ops on quantised values, against what they stand for in f64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "io/onnx_small_model.h"
#include "narrowgauge/error.h"
#include "support/run_op.h"

namespace narrowgauge::testing_support::onnx_quantized_test {
namespace {

struct Steps {
  double scale;
  std::int64_t zero;
  double number(double byte) const { return (byte - static_cast<double>(zero)) * scale; }
  double byte(double number) const {
    return std::clamp(std::nearbyint(number / scale) + static_cast<double>(zero), 0.0, 255.0);
  }
};
constexpr Steps a{0.5, 3}, b{0.25, 100}, y{0.75, 20};

Tensor bytes(Dims dims, int first, int step) {
  Tensor tensor(DType::u8, std::move(dims));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, static_cast<double>((first + i * step) % 256));
  return tensor;
}

// A model of one node of com.microsoft, whose scales and zero points are initializers.
class Runtime {
 public:
  Runtime() : model_(21) {
    model_.model.opset_imports.emplace_back();
    model_.model.opset_imports.back().domain = "com.microsoft";
    model_.model.opset_imports.back().version = 1;
    for (const auto& [name, steps] : {std::pair{"a", a}, {"b", b}, {"y", y}}) {
      const std::string begin = name;
      model_.initializer(begin + "_scale", Tensor::scalar(DType::f32, steps.scale));
      model_.initializer(begin + "_zero",
                         Tensor::scalar(DType::u8, static_cast<double>(steps.zero)));
    }
  }
  Runtime& input(const std::string& name, const Tensor& tensor) {
    model_.input(name, concat(tensor.type()));
    given_.push_back(tensor);
    return *this;
  }
  Runtime& initializer(const std::string& name, const Tensor& tensor) {
    model_.initializer(name, tensor);
    return *this;
  }
  std::vector<double> run(const std::string& op, Names inputs,
                          const OnnxAttributes& attributes = {}) {
    model_.node(op, std::move(inputs), {"result"}, attributes).output("result");
    model_.model.graph.nodes.back().domain = "com.microsoft";
    return to_doubles(model_.run(given_).at(0));
  }

 private:
  SmallModel model_;
  std::vector<Tensor> given_;
};

std::vector<double> expected(const Tensor& left, const Tensor& right,
                             const std::function<double(double, double)>& of) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < left.size(); ++i)
    result.push_back(y.byte(of(a.number(left.at(i)), b.number(right.at(i)))));
  return result;
}

const Names two{"a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"};

TEST(onnx_quantized, sums_and_products_are_of_the_numbers) {
  const Tensor left = bytes({2, 5}, 0, 23), right = bytes({2, 5}, 90, 7);
  EXPECT_EQ(Runtime().input("a", left).input("b", right).run("QLinearAdd", two),
            expected(left, right, std::plus<>()));
  EXPECT_EQ(Runtime().input("a", left).input("b", right).run("QLinearMul", two),
            expected(left, right, std::multiplies<>()));
}

TEST(onnx_quantized, activations_are_of_the_numbers) {
  const Tensor x = bytes({9}, 0, 3);
  const Names one{"a", "a_scale", "a_zero", "y_scale", "y_zero"};
  EXPECT_EQ(Runtime().input("a", x).run("QLinearLeakyRelu", one, {{"alpha", 0.5F}}),
            expected(x, x, [](double v, double) { return v < 0 ? v / 2 : v; }));
  EXPECT_EQ(Runtime().input("a", x).run("QLinearSigmoid", one),
            expected(x, x, [](double v, double) { return 1 / (1 + std::exp(-v)); }));
}

TEST(onnx_quantized, parts_are_joined_in_the_steps_of_the_result) {
  const Tensor left = bytes({1, 2}, 5, 60), right = bytes({1, 2}, 90, 30);
  const std::vector<double> joined =
      Runtime()
          .input("a", left)
          .input("b", right)
          .run("QLinearConcat",
               {"y_scale", "y_zero", "a", "a_scale", "a_zero", "b", "b_scale", "b_zero"},
               {{"axis", std::int64_t{1}}});
  EXPECT_EQ(joined,
            (std::vector<double>{y.byte(a.number(left.at(0))), y.byte(a.number(left.at(1))),
                                 y.byte(b.number(right.at(0))), y.byte(b.number(right.at(1)))}));
}

TEST(onnx_quantized, averages_are_over_the_numbers) {
  const Tensor x = bytes({1, 2, 1, 3}, 3, 11);
  std::vector<double> means;
  for (std::int64_t channel = 0; channel < 2; ++channel) {
    double sum = 0;
    for (std::int64_t i = 0; i < 3; ++i) sum += a.number(x.at(3 * channel + i));
    means.push_back(y.byte(sum / 3));
  }
  EXPECT_EQ(Runtime().input("a", x).run("QLinearGlobalAveragePool",
                                        {"a", "a_scale", "a_zero", "y_scale", "y_zero"}),
            means);
  EXPECT_THROW(Runtime().input("a", x).run("QLinearGlobalAveragePool",
                                           {"a", "a_scale", "a_zero", "y_scale", "y_zero"},
                                           {{"channels_last", std::int64_t{1}}}),
               ModelError);
}

// alpha a b + alpha a_scale b_scale bias, with bytes or f32 behind it.
TEST(onnx_quantized, products_have_a_bias_in_units_of_both_scales) {
  const Tensor left = bytes({1, 3}, 1, 9), right = bytes({3, 2}, 95, 4);
  const Tensor bias = Tensor::from<std::int32_t>({2}, std::vector<std::int32_t>{40, -60});
  std::vector<double> numbers;
  for (std::int64_t j = 0; j < 2; ++j) {
    double sum = a.scale * b.scale * bias.at(j);
    for (std::int64_t k = 0; k < 3; ++k)
      sum += a.number(left.at(k)) * b.number(right.at(2 * k + j));
    numbers.push_back(2 * sum);
  }
  const Names inputs{"a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "bias"};
  Names narrow = inputs;
  narrow.insert(narrow.end(), {"y_scale", "y_zero"});
  EXPECT_EQ(Runtime()
                .input("a", left)
                .initializer("b", right)
                .initializer("bias", bias)
                .run("QGemm", inputs, {{"alpha", 2.0F}}),
            numbers);
  EXPECT_EQ(Runtime()
                .input("a", left)
                .initializer("b", right)
                .initializer("bias", bias)
                .run("QGemm", narrow, {{"alpha", 2.0F}}),
            (std::vector<double>{y.byte(numbers[0]), y.byte(numbers[1])}));
}

TEST(onnx_quantized, a_choice_is_between_the_numbers) {
  const Tensor left = bytes({4}, 5, 60), right = bytes({4}, 90, 30);
  const Tensor condition = floats({4}, {1, 0, 0, 1}).cast(DType::boolean);
  Names inputs{"condition"};
  inputs.insert(inputs.end(), two.begin(), two.end());
  std::vector<double> chosen;
  for (std::int64_t i = 0; i < 4; ++i)
    chosen.push_back(y.byte(condition.at(i) != 0 ? a.number(left.at(i)) : b.number(right.at(i))));
  EXPECT_EQ(Runtime()
                .input("condition", condition)
                .input("a", left)
                .input("b", right)
                .run("QLinearWhere", inputs),
            chosen);
}

}  // namespace
}  // namespace narrowgauge::testing_support::onnx_quantized_test
