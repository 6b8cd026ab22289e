// SPDX-License-Identifier: Apache-2.0
// Losses and their gradients against the numbers that PyTorch 2.15 gives in f64.
#include <gtest/gtest.h>

#include "narrowgauge/network.h"
#include "ops/control/interpret.h"
#include "passes/differentiate.h"

namespace narrowgauge {
namespace {

struct Expected {
  double loss;
  std::vector<double> gradient;
};

const Tensor scores =
    Tensor::from<float>({2, 3}, std::vector<float>{0.5F, -1.25F, 2, -0.75F, 3, 0.25F});

void expect_loss(const Loss& loss, const Tensor& labels, const Expected& expected,
                 const Tensor& logits = scores) {
  Network network("one", Mode::train);
  const Value x = network.input("logits", logits.type().shape);
  const Value y = loss(network, x);
  Graph& graph = network.graph();
  graph.output("loss", y);
  const Value seed = graph.constant(Tensor::scalar(DType::f32, 1));
  graph.output("gradient",
               append_gradients(graph, std::span(&y, 1), std::span(&seed, 1), Values{x})[0]);
  const std::vector<Tensor> results = interpret(graph, std::vector{logits, labels}, {});
  EXPECT_NEAR(results[0].at(0), expected.loss, 1e-6);
  for (std::size_t i = 0; i < expected.gradient.size(); ++i)
    EXPECT_NEAR(results[1].at(static_cast<std::int64_t>(i)), expected.gradient[i], 1e-6) << i;
}

const Tensor soft_labels = Tensor::from<float>({2, 3}, std::vector<float>{0, 1, 0.25F, 1, 0.5F, 0});

TEST(losses, softmax_cross_entropy) {
  expect_loss(softmax_cross_entropy(),
              Tensor::from<std::int64_t>({2}, std::vector<std::int64_t>{2, 0}),
              {2.03322672467,
               {0.0884100910537, 0.0153633701632, -0.103773461217, -0.489186702441, 0.459793112182,
                0.0293935902594}});
}

TEST(losses, span_cross_entropy) {
  expect_loss(
      span_cross_entropy(),
      Tensor::from<std::int64_t>({2, 2}, std::vector<std::int64_t>{2, 0, 1, 1}),
      {0.923847287504,
       {0.0141529330601, -0.214938904208, 0.0634290454088, 0.0578059744055, -0.0775819784689,
        0.157132929803, 0.160828428381, 0.0135055723526, -0.174030029703, -0.0387373033031,
        0.0132016013223, 0.0252317309505}},
      Tensor::from<float>({2, 3, 2}, std::vector<float>{0.5F, -1.25F, 2, -0.75F, 3, 0.25F, 1.5F,
                                                        -0.5F, 0.75F, 2.25F, -1, 0.125F}));
}

TEST(losses, mean_squared_error) {
  expect_loss(
      mean_squared_error(), soft_labels,
      {2.95833333333,
       {0.166666666667, -0.75, 0.583333333333, -0.583333333333, 0.833333333333, 0.0833333333333}});
}

TEST(losses, binary_cross_entropy) {
  expect_loss(binary_cross_entropy(), soft_labels,
              {1.26905530902,
               {0.103743221867, -0.129549976862, 0.10513284633, -0.113196449863, 0.0754290211371,
                0.093696083481}});
}

}  // namespace
}  // namespace narrowgauge
