// SPDX-License-Identifier: Apache-2.0
// LayerNormalization and its gradient against PyTorch's numbers and the reference.
#include "ops/nn/layer_normalization.h"

#include <gtest/gtest.h>

#include "ops/gradient_run.h"

namespace narrowgauge::layer_normalization_test {
namespace {

struct Case {
  Dims x;
  std::int64_t axis;
  std::vector<double> expected;    // fingerprints of y, dx, dscale, dbias: torch 2, f64
  std::vector<double> statistics;  // of mean and inverse_std
};

const Case cases[] = {
    {{4, 3, 10},
     -1,
     {-2.4658238546199973, -7.500261099561131, -15.201328647890026, -2.2734375},
     {0.046875, 0.9323914663255259}},
    {{2, 3, 4, 5},
     -2,
     {35.20098581388291, 5.431982903707721, 13.136334954529612, -25.3359375},
     {0.9001953125000001, -0.29407590527247807}},
    {{6, 33},
     1,
     {-4.991118987991271, 8.697090731763886, 33.030748112124314},
     {0.09185606060606062, -0.22889230185955323}},
};

std::vector<std::optional<Tensor>> inputs_of(const Case& c, DType dtype) {
  const std::size_t first =
      static_cast<std::size_t>(c.axis < 0 ? c.axis + std::ssize(c.x) : c.axis);
  const Dims normalized(c.x.begin() + static_cast<std::ptrdiff_t>(first), c.x.end());
  const bool bias = c.expected.size() > 3;
  std::vector<std::optional<Tensor>> inputs(bias ? 3 : 2);
  inputs[0] = pattern(dtype, c.x, 1);
  inputs[1] = pattern(dtype, normalized, 2);
  if (bias) inputs[2] = pattern(dtype, normalized, 3);
  return inputs;
}

TEST(layer_normalization, results_and_gradients_are_those_of_pytorch) {
  for (const DType dtype : {DType::f64, DType::f32})
    for (const bool reference : {true, false})
      for (const Case& c : cases) {
        const LayerNormalization op{c.axis, 1e-3};
        const auto seed = [&](const Dims& dims) { return pattern(dtype, dims, 6); };
        const double bound = dtype == DType::f64 ? 1e-12 : 2e-5;
        expect_fingerprints(run_gradient(op, inputs_of(c, dtype), seed, 0, reference), c.expected,
                            bound, concat(c.x));
        const KernelResult result = run_kernel(op, inputs_of(c, dtype), {.reference = reference});
        expect_fingerprints({result.outputs.begin() + 1, result.outputs.end()}, c.statistics, bound,
                            concat("statistics of ", c.x));
      }
}

TEST(layer_normalization, fast_kernels_agree_with_the_reference_in_every_dtype) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    EXPECT_EQ(expect_kernel_matches_reference<LayerNormalization>(dtype, {.kernel = "rows"}),
              static_cast<int>(samples_of<LayerNormalization>().size()));
    EXPECT_EQ(
        expect_kernel_matches_reference<LayerNormalizationGradient>(dtype, {.kernel = "rows"}),
        static_cast<int>(samples_of<LayerNormalizationGradient>().size()));
  }
}

TEST(layer_normalization, outputs_that_nobody_reads_change_nothing) {
  const auto inputs = inputs_of(cases[1], DType::f32);
  const KernelResult all = run_kernel(LayerNormalization{-2}, inputs);
  const KernelResult some = run_kernel(LayerNormalization{-2}, inputs, {.unread = {1, 2}});
  EXPECT_TRUE(some.outputs[0].same_bits(all.outputs[0]));
}

TEST(layer_normalization, primitives_agree_with_the_op) {
  expect_decomposition_matches_reference<LayerNormalization>();
  expect_decomposition_matches_reference<LayerNormalizationGradient>();
}

TEST(layer_normalization, gradients_of_the_statistics_flow_to_x) {
  const Case& c = cases[0];
  const auto inputs = inputs_of(c, DType::f64);
  const LayerNormalization op{c.axis, 1e-3};
  for (const int output : {1, 2}) {
    const auto seed = [](const Dims& dims) { return pattern(DType::f64, dims, 6); };
    const Tensor dx = run_gradient(op, inputs, seed, output, true)[1];
    const auto value = [&](std::int64_t element, double change) {
      auto moved = inputs;
      moved[0] = inputs[0]->clone();
      moved[0]->set(element, inputs[0]->at(element) + change);
      const Tensor got =
          run_kernel(op, moved, {.reference = true}).outputs[static_cast<std::size_t>(output)];
      const Tensor weights = seed(got.dims());
      double sum = 0;
      for (std::int64_t i = 0; i < got.size(); ++i) sum += got.at(i) * weights.at(i);
      return sum;
    };
    for (const std::int64_t element : {0, 17, 64, 119})
      EXPECT_NEAR(dx.at(element), (value(element, 1e-5) - value(element, -1e-5)) / 2e-5, 1e-8)
          << "output " << output << " element " << element;
  }
}

TEST(layer_normalization, a_scale_of_another_shape_is_refused) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[2,3,4]"));
  const Value scale = graph.input("s", TensorType::parse("f32[3]"));
  try {
    graph.add(LayerNormalization{}, {x, scale}, {.name = "l"});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "node 'l': LayerNormalization: expected input 1 of shape [4] for x [2,3,4], got "
                 "f32[3]");
  }
}

}  // namespace
}  // namespace narrowgauge::layer_normalization_test
