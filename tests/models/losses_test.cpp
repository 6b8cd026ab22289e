// SPDX-License-Identifier: Apache-2.0
// Losses and their gradients against the numbers that PyTorch gives in f64, which
// tests/losses_oracle.py stores in losses_cases.txt; and losses as text.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "narrowgauge/network.h"
#include "ops/composition/interpret.h"
#include "passes/training/differentiate.h"

namespace narrowgauge::losses_test {
namespace {

// "2x3"
Dims parse_dims(std::string text) {
  std::replace(text.begin(), text.end(), 'x', ' ');
  std::istringstream in(text);
  return {std::istream_iterator<std::int64_t>(in), {}};
}

Tensor read_tensor(DType dtype, const std::string& dims, const std::string& values) {
  Tensor tensor(dtype, parse_dims(dims));
  std::istringstream in(values);
  std::int64_t count = 0;
  for (double value = 0; in >> value; ++count) tensor.set(count, value);
  EXPECT_EQ(count, tensor.size());
  return tensor;
}

struct Case {
  std::string loss;
  Tensor prediction, labels, gradient;
  double value = 0;
};

// Each case has seven lines and an empty one; the script says which.
std::vector<Case> stored_cases() {
  const char* const root = std::getenv("NARROWGAUGE_SOURCE");
  std::ifstream in(std::string(root ? root : ".") + "/tests/models/losses_cases.txt");
  std::vector<Case> cases;
  std::string loss, dims, values, labels, label_values, value, gradient, blank;
  while (std::getline(in, loss) && std::getline(in, dims) && std::getline(in, values) &&
         std::getline(in, labels) && std::getline(in, label_values) && std::getline(in, value) &&
         std::getline(in, gradient)) {
    std::getline(in, blank);
    const DType dtype = labels.starts_with("i64") ? DType::i64 : DType::f32;
    cases.push_back({loss, read_tensor(DType::f32, dims, values),
                     read_tensor(dtype, labels.substr(4), label_values),
                     read_tensor(DType::f64, dims, gradient), std::stod(value)});
  }
  return cases;
}

// The loss and its gradient by the prediction, as the graph of a network.
std::vector<Tensor> computed(const Case& from) {
  Network network("one", Mode::train);
  Shape shape = from.prediction.type().shape;
  const Value x = network.input("prediction", std::move(shape));
  const Value y = parse_loss(from.loss)(network, x);
  Graph& graph = network.graph();
  graph.output("loss", y);
  const Value seed = graph.constant(Tensor::scalar(DType::f32, 1));
  graph.output("gradient",
               append_gradients(graph, std::span(&y, 1), std::span(&seed, 1), Values{x})[0]);
  return interpret(graph, std::vector{from.prediction, from.labels}, {});
}

TEST(losses, and_their_gradients_are_those_of_pytorch) {
  const std::vector<Case> cases = stored_cases();
  std::vector<std::string> seen;
  for (const Case& each : cases) {
    SCOPED_TRACE(each.loss);
    seen.push_back(each.loss.substr(0, each.loss.find('(')));
    const std::vector<Tensor> results = computed(each);
    EXPECT_NEAR(results[0].at(0), each.value, 1e-6 * (1 + std::abs(each.value)));
    for (std::int64_t i = 0; i < each.gradient.size(); ++i)
      EXPECT_NEAR(results[1].at(i), each.gradient.at(i), 1e-6) << i;
  }
  for (const std::string& name : loss_names())
    EXPECT_NE(std::find(seen.begin(), seen.end(), name), seen.end()) << name << " has no case";
}

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}
std::string refusal(std::string_view text) {
  return refusal([&] { parse_loss(text); });
}

TEST(losses, are_refused_by_name_and_parameter) {
  EXPECT_NE(refusal("hinge").find("loss: expected one of "), std::string::npos);
  EXPECT_NE(refusal("hinge").find("huber"), std::string::npos);
  EXPECT_EQ(refusal("focal(gama=2)"), "loss focal: expected parameters gamma, alpha, got 'gama'");
  EXPECT_EQ(refusal("mean_squared_error(delta=1)"),
            "loss mean_squared_error: expected no parameters, got 'delta'");
  EXPECT_EQ(refusal("huber(delta=)"), "loss huber: expected a number, got ''");
  EXPECT_EQ(refusal("huber(delta=1e999)"), "loss huber: expected a number, got '1e999'");
  EXPECT_EQ(refusal("huber(delta)"), "loss huber: expected name=number, got 'delta'");
  EXPECT_EQ(refusal("huber(delta=1,delta=2)"), "loss huber: delta is given twice");
  EXPECT_EQ(refusal("huber(delta=[1,2])"), "loss huber: expected one number for delta, got 2");
  EXPECT_EQ(refusal("huber(delta=1"), "loss huber: expected (name=number, ...), got '(delta=1'");
  EXPECT_EQ(refusal("huber(delta=0)"), "huber: expected delta above 0, got 0");
  EXPECT_EQ(refusal("focal(gamma=0.5)"), "focal: expected gamma of 0, or of 1 or more, got 0.5");
  EXPECT_EQ(refusal("softmax_cross_entropy(smoothing=2)"),
            "softmax_cross_entropy: expected smoothing from 0 to 1, got 2");
  EXPECT_EQ(refusal("huber()"), "accepted");
  EXPECT_EQ(refusal("softmax_cross_entropy( weights = [ 1 , 2 ] )"), "accepted");
}

TEST(losses, refuse_a_prediction_of_another_shape) {
  const auto refused = [](const char* loss, const Shape& shape) {
    return refusal([&] {
      Network network("refused", Mode::train);
      parse_loss(loss)(network, network.input("x", shape));
    });
  };
  EXPECT_EQ(refused("softmax_cross_entropy", {3}),
            "softmax_cross_entropy: expected [N,classes,...], got [3]");
  EXPECT_EQ(refused("softmax_cross_entropy(weights=[1,2])", {4, 3}),
            "softmax_cross_entropy: expected a weight for each of 3 classes, got 2");
  EXPECT_EQ(refused("dice", {4}), "dice: expected logits [N,...] of rank 2 or more, got f32[4]");
  EXPECT_NE(refused("span_cross_entropy", {4, 3, 3}).find("expected [N,positions,2]"),
            std::string::npos);
}

}  // namespace
}  // namespace narrowgauge::losses_test
