// SPDX-License-Identifier: Apache-2.0
// Softmax, cross entropies and their gradients against PyTorch's numbers and the reference.
#include "ops/nn/softmax.h"

#include <gtest/gtest.h>

#include "ops/gradient_run.h"
#include "ops/loss/sigmoid_cross_entropy.h"
#include "ops/loss/softmax_cross_entropy.h"

namespace narrowgauge::softmax_test {
namespace {

template <class T>
void expect_kernels(const char* kernel = "rows") {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const int taken = expect_kernel_matches_reference<T>(dtype, {.kernel = kernel});
    EXPECT_EQ(taken, static_cast<int>(samples_of<T>().size())) << name(dtype);
    expect_kernel_matches_reference<T>(dtype, {.channels_last = true});
  }
}

TEST(softmax, results_and_gradients_are_those_of_pytorch) {
  const struct {
    Dims x;
    std::int64_t axis;
    std::vector<double> softmax, log_softmax;  // fingerprints of y and dx: torch 2, f64
  } cases[] = {
      {{3, 10},
       -1,
       {-1.6804018017885507, 0.9095470181486228},
       {-16.880796657363227, 15.728567037812402}},
      {{2, 5, 3, 4},
       1,
       {-13.75059606741689, 3.5668008500421617},
       {-65.24547390704194, 42.35341208342362}},
      {{17, 3},
       0,
       {-1.8455872316032278, 0.8686637460620196},
       {-19.37963639085886, 23.824404851637777}},
  };
  for (const auto& c : cases)
    for (const bool reference : {true, false}) {
      const DType dtype = reference ? DType::f64 : DType::f32;
      const auto seed = [&](const Dims& dims) { return pattern(dtype, dims, 4); };
      const Tensor x = pattern(dtype, c.x, 1);
      const double bound = reference ? 1e-12 : 2e-5;
      expect_fingerprints(run_gradient(Softmax{c.axis}, {x}, seed, 0, reference), c.softmax, bound,
                          "softmax");
      expect_fingerprints(run_gradient(LogSoftmax{c.axis}, {x}, seed, 0, reference), c.log_softmax,
                          bound, "log softmax");
    }
}

TEST(softmax, fast_kernels_agree_with_the_reference) {
  expect_kernels<Softmax>();
  expect_kernels<LogSoftmax>();
  expect_kernels<SoftmaxGradient>();
  expect_kernels<LogSoftmaxGradient>();
}

TEST(softmax, primitives_agree_with_the_gradient_ops) {
  expect_decomposition_matches_reference<SoftmaxGradient>();
  expect_decomposition_matches_reference<LogSoftmaxGradient>();
}

TEST(softmax, an_axis_outside_the_tensor_is_refused) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[2,3]"));
  EXPECT_THROW(graph.add(Softmax{2}, {x}), UsageError);
  EXPECT_THROW(graph.add(Softmax{-3}, {x}), UsageError);
}

// The labels that the Python had.
Tensor labels(Dims dims, std::int64_t classes) {
  Tensor tensor(DType::i64, std::move(dims));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, static_cast<double>((i * 7 + 2) % classes));
  return tensor;
}

struct LossCase {
  Dims scores;
  std::int64_t ignored;
  bool weighted;
  double log_probabilities;
  std::vector<double> none, mean, sum;  // of the loss and of dscores: torch 2, f64
};

const LossCase loss_cases[] = {
    {{6, 10},
     no_ignored_label,
     false,
     -27.92885690450496,
     {-0.8913449977447563, -2.0349989708780862},
     {0.5039181352630416, -1.1519019228133356},
     {3.0235088115782496, -6.9114115368800135}},
    {{6, 5},
     2,
     true,
     -14.853292571098699,
     {-0.9876766631722296, -6.780489757461117},
     {0.27576361476787914, -2.6993956165984527},
     {1.5684055589923127, -15.3528125694037}},
    {{2, 3, 2, 4},
     1,
     false,
     -14.29858470504671,
     {-3.6463360729247345, -7.0224349069968675},
     {0.19374920964496856, -0.2262324230396048},
     {2.1312413060946542, -2.488556653435652}},
    // Every label is ignored: the mean of nothing, and no gradient.
    {{5, 7}, 2, true, -21.85755140953019, {0, 0}, {std::nan(""), 0}, {0, 0}},
};

TEST(softmax_cross_entropy, losses_and_gradients_are_those_of_pytorch) {
  for (const LossCase& c : loss_cases)
    for (const std::string reduction : {"none", "mean", "sum"})
      for (const bool reference : {true, false}) {
        const DType dtype = reference ? DType::f64 : DType::f32;
        SoftmaxCrossEntropyLoss op;
        op.ignore_index = c.ignored;
        op.reduction = reduction;
        Dims rows = c.scores;
        rows.erase(rows.begin() + 1);
        std::vector<std::optional<Tensor>> inputs(3);
        inputs[0] = pattern(dtype, c.scores, 1);
        inputs[1] = labels(rows, c.scores[1]);
        if (c.weighted) {
          inputs[2] = pattern(dtype, {c.scores[1]}, 2);
          for (std::int64_t i = 0; i < c.scores[1]; ++i)
            inputs[2]->set(i, std::abs(inputs[2]->at(i)) + 0.25);
        }
        const auto seed = [&](const Dims& dims) {
          return dims.empty() ? Tensor::scalar(dtype, 1.5) : pattern(dtype, dims, 4);
        };
        std::vector<double> expected = reduction == "none"   ? c.none
                                       : reduction == "mean" ? c.mean
                                                             : c.sum;
        const std::vector<Tensor> got = run_gradient(op, inputs, seed, 0, reference);
        if (std::isnan(expected[0])) {
          EXPECT_TRUE(std::isnan(got[0].at(0)));
          expected[0] = fingerprint(got[1]);
          EXPECT_EQ(expected[0], 0);
          continue;
        }
        const double bound = reference ? 1e-12 : 2e-5;
        expect_fingerprints(got, expected, bound, concat(reduction, ' ', c.scores));
        const Tensor log_probabilities =
            run_kernel(op, inputs, {.reference = reference}).outputs[1];
        EXPECT_NEAR(fingerprint(log_probabilities), c.log_probabilities, bound * 30);
      }
}

TEST(softmax_cross_entropy, the_second_output_has_the_gradient_of_log_softmax) {
  const Tensor x = pattern(DType::f64, {3, 10}, 1);
  const auto seed = [](const Dims& dims) { return pattern(DType::f64, dims, 4); };
  const auto got = run_gradient(SoftmaxCrossEntropyLoss{}, {x, labels({3}, 10)}, seed, 1, true);
  EXPECT_NEAR(fingerprint(got[1]), 15.728567037812402, 1e-11);
}

TEST(softmax_cross_entropy, fast_kernels_agree_with_the_reference) {
  expect_kernels<SoftmaxCrossEntropyLoss>();
  expect_kernels<SoftmaxCrossEntropyLossGradient>();
}

TEST(softmax_cross_entropy, a_label_that_is_no_class_is_a_data_error) {
  const Tensor x = pattern(DType::f32, {2, 3}, 1);
  for (const bool reference : {true, false})
    for (const std::int64_t label : {std::int64_t{3}, std::int64_t{-1}}) {
      const Tensor wrong = Tensor::from<std::int64_t>({2}, std::vector<std::int64_t>{0, label});
      EXPECT_THROW(run_kernel(SoftmaxCrossEntropyLoss{}, {x, wrong}, {.reference = reference}),
                   DataError);
      EXPECT_THROW(run_kernel(SoftmaxCrossEntropyLossGradient{},
                              {Tensor::scalar(DType::f32, 1), x, wrong}, {.reference = reference}),
                   DataError);
    }
}

TEST(softmax_cross_entropy, large_scores_do_not_overflow) {
  const Tensor x = Tensor::from<float>({2, 2}, std::vector<float>{1000, -1000, 3e38F, -3e38F});
  const Tensor label = Tensor::from<std::int64_t>({2}, std::vector<std::int64_t>{0, 0});
  EXPECT_EQ(run_kernel(SoftmaxCrossEntropyLoss{}, {x, label}).outputs[0].at(0), 0);
}

TEST(softmax_cross_entropy, wrong_inputs_are_refused) {
  const auto refusal = [](std::string_view scores, std::string_view label,
                          std::string_view reduction) {
    Graph graph;
    SoftmaxCrossEntropyLoss op;
    op.reduction = reduction;
    try {
      graph.add(
          op,
          {graph.input("x", TensorType::parse(scores)), graph.input("l", TensorType::parse(label))},
          {.name = "e"});
      return std::string("accepted");
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(
      refusal("f32[4,5]", "i64[3]", "mean"),
      "node 'e': SoftmaxCrossEntropyLoss: expected labels of [4] for scores [4,5], got i64[3]");
  EXPECT_EQ(refusal("f32[4]", "i64[4]", "mean"),
            "node 'e': SoftmaxCrossEntropyLoss: expected scores [N, C, ...], got f32[4]");
  EXPECT_EQ(refusal("f32[4,5]", "i64[4]", "median"),
            "node 'e': SoftmaxCrossEntropyLoss: reduction must be none, mean or sum, got 'median'");
  EXPECT_EQ(refusal("f32[4,5]", "f32[4]", "mean"),
            "node 'e': SoftmaxCrossEntropyLoss: input 'labels' must be of a index type, got f32");
}

TEST(sigmoid_cross_entropy, losses_and_gradients_are_those_of_pytorch) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const auto seed = [&](const Dims& dims) { return pattern(dtype, dims, 4); };
    Tensor targets = pattern(dtype, {3, 7}, 2);
    for (std::int64_t i = 0; i < targets.size(); ++i) targets.set(i, std::abs(targets.at(i)) / 2);
    expect_fingerprints(
        run_gradient(SigmoidCrossEntropy{}, {pattern(dtype, {3, 7}, 1), targets}, seed),
        {3.35536451078349, 1.562069252820522, -0.5703125}, dtype == DType::f64 ? 1e-12 : 2e-5,
        "binary cross entropy");
  }
}

TEST(sigmoid_cross_entropy, small_losses_of_large_logits_are_not_lost) {
  const Tensor x = Tensor::from<float>({4}, std::vector<float>{60, -60, 1000, -1000});
  const Tensor target = Tensor::from<float>({4}, std::vector<float>{1, 0, 0, 1});
  const Tensor loss = run_kernel(SigmoidCrossEntropy{}, {x, target}).outputs[0];
  EXPECT_NEAR(loss.at(0), std::exp(-60.0), 1e-6 * std::exp(-60.0));
  EXPECT_NEAR(loss.at(1), std::exp(-60.0), 1e-6 * std::exp(-60.0));
  EXPECT_EQ(loss.at(2), 1000);
  EXPECT_EQ(loss.at(3), 1000);
}

TEST(sigmoid_cross_entropy, primitives_agree_with_the_gradient) {
  expect_decomposition_matches_reference<SigmoidCrossEntropyGradient>();
}

}  // namespace
}  // namespace narrowgauge::softmax_test
