// SPDX-License-Identifier: Apache-2.0
// BatchNormalization and its gradient against PyTorch's numbers and the reference.
#include "ops/nn/batch_normalization.h"

#include <gtest/gtest.h>

#include "ops/gradient_run.h"

namespace narrowgauge::batch_normalization_test {
namespace {

struct Case {
  Dims x;
  bool training;
  std::vector<double> expected;    // fingerprints of y, dx, dscale, dbias: torch 2, f64
  std::vector<double> statistics;  // of running_mean, running_var, batch_mean, batch_inverse_std
};

const Case cases[] = {
    {{4, 3, 2, 5},
     true,
     {-19.16867980857329, -31.166446012294454, 13.138075313585269, -4.7421875},
     {2.38515625, 0.7037945556640623, 0.4703125, -0.3621317777922902}},
    {{7, 2},
     true,
     {-4.89670059084362, -3.519062619334517, -3.3814253461464046, 1.35546875},
     {1.2013113839285714, -1.1674455915178572, 0.12946428571428573, -1.2562211456623489}},
    {{2, 17, 3},
     true,
     {62.61247892499791, -14.918099764204204, -32.39559089954534, -7.14453125},
     {5.328776041666667, 7.719804551866318, -5.263020833333333, 2.4199127337068798}},
    {{4, 3, 2, 5},
     false,
     {-24.481770163599926, -45.02706060967573, 1.9665724562032727, -4.7421875},
     {}},
    {{7, 2}, false, {-3.7528249699373517, -7.405454779021868, -3.075667310350867, 1.35546875}, {}},
};

BatchNormalization op_of(const Case& c) {
  return {.epsilon = 1e-3, .momentum = 0.75, .training_mode = c.training};
}

std::vector<std::optional<Tensor>> inputs_of(const Case& c, DType activations, DType vectors) {
  const Dims channels{c.x[1]};
  std::vector<std::optional<Tensor>> inputs(5);
  inputs[0] = pattern(activations, c.x, 1);
  for (std::size_t i = 1; i < 5; ++i)
    inputs[i] = pattern(vectors, channels, static_cast<std::int64_t>(i) + 1);
  for (std::int64_t i = 0; i < channels[0]; ++i)
    inputs[4]->set(i, std::abs(inputs[4]->at(i)) + 0.5);
  return inputs;
}

TEST(batch_normalization, results_and_gradients_are_those_of_pytorch) {
  for (const DType dtype : {DType::f64, DType::f32})
    for (const bool reference : {true, false})
      for (const Case& c : cases) {
        const auto seed = [&](const Dims& dims) { return pattern(dtype, dims, 6); };
        const double bound = dtype == DType::f64 ? 1e-12 : 2e-5;
        expect_fingerprints(run_gradient(op_of(c), inputs_of(c, dtype, dtype), seed, 0, reference),
                            c.expected, bound, concat(c.x));
        if (!c.training) continue;
        const KernelResult result =
            run_kernel(op_of(c), inputs_of(c, dtype, dtype), {.reference = reference});
        expect_fingerprints({result.outputs.begin() + 1, result.outputs.end()}, c.statistics, bound,
                            concat("statistics of ", c.x));
      }
}

TEST(batch_normalization, fast_kernels_agree_with_the_reference_in_every_dtype_and_layout) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const bool channels_last : {false, true})
      for (const std::int64_t wider : {0, 3}) {
        const KernelRun how{.kernel = "rows", .channels_last = channels_last, .wider = wider};
        EXPECT_EQ(expect_kernel_matches_reference<BatchNormalization>(dtype, how),
                  static_cast<int>(samples_of<BatchNormalization>().size()));
        EXPECT_EQ(expect_kernel_matches_reference<BatchNormalizationGradient>(dtype, how),
                  static_cast<int>(samples_of<BatchNormalizationGradient>().size()));
      }
}

TEST(batch_normalization, narrow_activations_keep_f32_statistics) {
  const Case& c = cases[0];
  const KernelResult narrow = run_kernel(op_of(c), inputs_of(c, DType::f16, DType::f32));
  const KernelResult wide = run_kernel(op_of(c), inputs_of(c, DType::f32, DType::f32));
  EXPECT_EQ(narrow.implementation, "rows, f32 statistics");
  EXPECT_EQ(narrow.outputs[0].dtype(), DType::f16);
  expect_near(narrow.outputs[0], values_of(wide.outputs[0]), 1e-3);
  for (std::size_t o = 1; o < 5; ++o)  // the pattern is exact in f16: the same sums
    EXPECT_TRUE(narrow.outputs[o].same_bits(wide.outputs[o])) << o;
}

TEST(batch_normalization, outputs_that_nobody_reads_change_nothing) {
  const Case& c = cases[2];
  const auto inputs = inputs_of(c, DType::f32, DType::f32);
  const KernelResult all = run_kernel(op_of(c), inputs);
  for (const std::vector<int>& unread :
       {std::vector<int>{1, 2}, std::vector<int>{3, 4}, std::vector<int>{1, 2, 3, 4}, {0}})
    for (const bool reference : {false, true}) {
      const KernelResult some =
          run_kernel(op_of(c), inputs, {.reference = reference, .unread = unread});
      for (std::size_t o = 0; o < 5; ++o)
        if (std::count(unread.begin(), unread.end(), int(o)) == 0)
          expect_near(some.outputs[o], values_of(all.outputs[o]), 1e-6, concat("output ", o));
    }
}

TEST(batch_normalization, primitives_agree_with_the_op) {
  expect_decomposition_matches_reference<BatchNormalization>();
  expect_decomposition_matches_reference<BatchNormalizationGradient>();
}

TEST(batch_normalization, gradients_of_the_statistics_flow_to_x) {
  const Case& c = cases[0];
  const auto inputs = inputs_of(c, DType::f64, DType::f64);
  for (const int output : {1, 2, 3, 4}) {
    const auto seed = [](const Dims& dims) { return pattern(DType::f64, dims, 6); };
    const Tensor dx = run_gradient(op_of(c), inputs, seed, output, true)[1];
    ASSERT_EQ(dx.dims(), c.x);
    const Tensor weights = seed({3});
    const auto value = [&](std::int64_t element, double change) {
      auto moved = inputs;
      moved[0] = inputs[0]->clone();
      moved[0]->set(element, inputs[0]->at(element) + change);
      const Tensor got = run_kernel(op_of(c), moved, {.reference = true})
                             .outputs[static_cast<std::size_t>(output)];
      double sum = 0;
      for (std::int64_t i = 0; i < 3; ++i) sum += got.at(i) * weights.at(i);
      return sum;
    };
    for (const std::int64_t element : {0, 17, 64, 119})
      EXPECT_NEAR(dx.at(element), (value(element, 1e-5) - value(element, -1e-5)) / 2e-5, 1e-8)
          << "output " << output << " element " << element;
  }
}

TEST(batch_normalization, wrong_inputs_are_refused) {
  const auto refusal = [](std::string_view x, std::string_view scale, BatchNormalization op) {
    Graph graph;
    const Value vector = graph.input("v", TensorType::parse("f32[3]"));
    try {
      graph.add(op,
                {graph.input("x", TensorType::parse(x)), graph.input("s", TensorType::parse(scale)),
                 vector, vector, vector},
                {.name = "b"});
      return std::string("accepted");
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refusal("f32[2,3,4]", "f32[4]", {}),
            "node 'b': BatchNormalization: expected one value for each of 3 channels as input 1, "
            "got f32[4]");
  EXPECT_EQ(refusal("f32[3]", "f32[3]", {}),
            "node 'b': BatchNormalization: expected x [N, C, ...], got f32[3]");
  EXPECT_EQ(refusal("f32[2,3]", "f32[3]", {.epsilon = 0}),
            "node 'b': BatchNormalization: epsilon must be positive, got 0");
  EXPECT_EQ(refusal("f32[2,3]", "f32[3]", {.momentum = 1.5}),
            "node 'b': BatchNormalization: momentum must be in [0, 1], got 1.5");
}

}  // namespace
}  // namespace narrowgauge::batch_normalization_test
