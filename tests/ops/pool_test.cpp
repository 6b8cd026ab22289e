// SPDX-License-Identifier: Apache-2.0
// Pools and their gradients against PyTorch's numbers and the reference.
#include <gtest/gtest.h>

#include "ops/gradient_run.h"
#include "ops/nn/average_pool.h"
#include "ops/nn/max_pool.h"

namespace narrowgauge::pool_test {
namespace {

template <class T>
struct Case {
  std::string name;
  T op;
  Dims x, y;
  std::vector<double> expected;  // fingerprints of y and dx: torch 2, f64
  double indices = 0;            // of the places in each plane
};

const Case<MaxPool> max_cases[] = {
    {"as in lenet",
     {.kernel_shape = {2, 2}, .strides = {2, 2}},
     {2, 6, 8, 8},
     {2, 6, 4, 4},
     {-1.17578125, 2.25},
     -62.1875},
    {"overlapping",
     {.kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}, .strides = {2, 2}},
     {2, 17, 9, 8},
     {2, 17, 5, 4},
     {6.6484375, -11.32421875},
     183.4375},
    {"ceil",
     {.ceil_mode = 1, .kernel_shape = {3, 3}, .strides = {2, 2}},
     {1, 3, 6, 5},
     {1, 3, 3, 2},
     {-0.40234375, -5.02734375},
     -20.5625},
    {"ceil and pads",
     {.ceil_mode = 1, .kernel_shape = {2, 2}, .pads = {1, 1, 1, 1}, .strides = {3, 3}},
     {1, 3, 6, 6},
     {1, 3, 3, 3},
     {-5.28515625, -1.50390625},
     -53.125},
    {"dilated",
     {.dilations = {2}, .kernel_shape = {3}},
     {2, 3, 9},
     {2, 3, 5},
     {3.4609375, 5.06640625},
     4.3125},
    {"three axes",
     {.kernel_shape = {2, 2, 3}, .strides = {2, 1, 2}},
     {1, 2, 4, 4, 5},
     {1, 2, 2, 3, 2},
     {6.00390625, -4.91015625},
     53.8125},
};

const Case<AveragePool> average_cases[] = {
    {"plain",
     {.kernel_shape = {2, 2}, .strides = {2, 2}},
     {2, 6, 8, 8},
     {2, 6, 4, 4},
     {-2.455078125, 8.4169921875}},
    {"pads counted",
     {.count_include_pad = 1, .kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}, .strides = {2, 2}},
     {2, 17, 9, 8},
     {2, 17, 5, 4},
     {10.095920138888886, -3.861979166666668}},
    {"pads not counted",
     {.kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}, .strides = {2, 2}},
     {2, 17, 9, 8},
     {2, 17, 5, 4},
     {11.077907986111114, -0.5237630208333344}},
    {"ceil, pads counted",
     {.ceil_mode = 1,
      .count_include_pad = 1,
      .kernel_shape = {3, 3},
      .pads = {1, 1, 1, 1},
      .strides = {2, 2}},
     {1, 3, 6, 6},
     {1, 3, 4, 4},
     {-1.3755425347222223, 2.530924479166666}},
    {"ceil, windows that begin behind x left out",
     {.ceil_mode = 1,
      .count_include_pad = 1,
      .kernel_shape = {2, 2},
      .pads = {1, 1, 1, 1},
      .strides = {3, 3}},
     {1, 3, 6, 6},
     {1, 3, 3, 3},
     {-1.74609375, 0.318359375}},
    {"ceil, pads not counted",
     {.ceil_mode = 1, .kernel_shape = {3, 3}, .strides = {2, 2}},
     {1, 3, 6, 5},
     {1, 3, 3, 2},
     {-0.8114149305555554, -0.6664496527777778}},
    {"three axes",
     {.kernel_shape = {2, 2, 3}, .strides = {2, 1, 2}},
     {1, 2, 4, 4, 5},
     {1, 2, 2, 3, 2},
     {2.3359375, 0.8912760416666663}},
};

template <class T, std::size_t count>
void expect_torch(const Case<T> (&cases)[count]) {
  for (const DType dtype : {DType::f64, DType::f32})
    for (const bool reference : {true, false})
      for (const Case<T>& c : cases) {
        const auto seed = [&](const Dims& dims) {
          EXPECT_EQ(dims, c.y) << c.name;
          return pattern(dtype, dims, 4);
        };
        expect_fingerprints(run_gradient(c.op, {pattern(dtype, c.x, 1)}, seed, 0, reference),
                            c.expected, dtype == DType::f64 ? 1e-12 : 2e-5, c.name);
      }
}

TEST(max_pool, results_and_gradients_are_those_of_pytorch) { expect_torch(max_cases); }
TEST(average_pool, results_and_gradients_are_those_of_pytorch) { expect_torch(average_cases); }

TEST(max_pool, indices_are_places_in_all_of_x) {
  for (const bool reference : {true, false})
    for (const Case<MaxPool>& c : max_cases) {
      const Tensor x = pattern(DType::f32, c.x, 1);
      const KernelResult result = run_kernel(c.op, {x}, {.reference = reference, .unread = {2}});
      const Tensor& indices = result.outputs[1];
      Tensor in_plane(DType::f64, c.y);
      for (std::int64_t i = 0; i < indices.size(); ++i) {
        EXPECT_EQ(x.at(static_cast<std::int64_t>(indices.at(i))), result.outputs[0].at(i));
        const std::int64_t plane = element_count(std::span(c.x).subspan(2));
        in_plane.set(i, static_cast<double>(static_cast<std::int64_t>(indices.at(i)) % plane));
      }
      EXPECT_NEAR(fingerprint(in_plane), c.indices, 1e-9) << c.name;
    }
}

TEST(max_pool, column_major_indices_count_rows_first) {
  const Tensor x = Tensor::from<float>({1, 1, 2, 3}, {0, 1, 2, 3, 9, 5});
  const KernelResult result =
      run_kernel(MaxPool{.kernel_shape = {2, 2}, .storage_order = 1}, {x}, {.unread = {2}});
  EXPECT_EQ(values_of(result.outputs[1]), (std::vector<double>{3, 3}));
}

TEST(max_pool, nan_wins_and_its_gradient_stays_where_it_stands) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::from<float>({1, 1, 4}, {7, nan, 3, nan});
  for (const bool reference : {true, false}) {
    const auto ones = [](const Dims& dims) { return Tensor::full(DType::f32, dims, 1); };
    const auto results =
        run_gradient(MaxPool{.kernel_shape = {4}, .strides = {4}}, {x}, ones, 0, reference);
    EXPECT_TRUE(std::isnan(results[0].at(0)));
    EXPECT_EQ(values_of(results[1]), (std::vector<double>{0, 1, 0, 0}));
  }
}

template <class T>
void expect_kernels(int declined) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (const bool channels_last : {false, true})
      for (const std::int64_t wider : {0, 3}) {
        const int taken = expect_kernel_matches_reference<T>(
            dtype,
            {.kernel = "rows", .channels_last = channels_last, .wider = wider, .unread = {1}});
        EXPECT_EQ(taken, static_cast<int>(samples_of<T>().size()) - declined) << name(dtype);
      }
}

TEST(pools, fast_kernels_agree_with_the_reference_in_every_dtype_and_layout) {
  expect_kernels<MaxPool>(0);
  expect_kernels<MaxPoolGradient>(0);
  expect_kernels<AveragePool>(0);
  expect_kernels<AveragePoolGradient>(0);
  expect_kernels<GlobalAveragePool>(0);
  expect_kernels<GlobalAveragePoolGradient>(0);
}

TEST(pools, a_global_average_is_the_average_of_one_window_over_all) {
  const Tensor x = pattern(DType::f32, {2, 17, 5, 4}, 1);
  const Tensor all = run_kernel(GlobalAveragePool{}, {x}).outputs[0];
  const Tensor one = run_kernel(AveragePool{.kernel_shape = {5, 4}}, {x}).outputs[0];
  EXPECT_TRUE(all.same_bits(one));
  EXPECT_NEAR(
      all.at(0),
      [&] {
        double sum = 0;
        for (std::int64_t i = 0; i < 20; ++i) sum += x.at(i);
        return sum / 20;
      }(),
      1e-6);
}

template <class T>
std::string refusal(T op, std::string_view x) {
  Graph graph;
  try {
    graph.add(std::move(op), {graph.input("x", TensorType::parse(x))}, {.name = "p"});
    return "accepted";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(pools, wrong_inputs_are_refused) {
  EXPECT_EQ(refusal(MaxPool{}, "f32[1,2,4,4]"),
            "node 'p': MaxPool: expected a kernel_shape of 2 values, got []");
  EXPECT_EQ(refusal(MaxPool{.kernel_shape = {5}}, "f32[1,2,4]"),
            "node 'p': MaxPool: a window of 5 does not fit into 4 with pads of 0");
  EXPECT_EQ(refusal(AveragePool{.kernel_shape = {2}}, "f32[1,2]"),
            "node 'p': AveragePool: expected x with one to three spatial axes, got [1,2]");
  EXPECT_EQ(refusal(AveragePool{.kernel_shape = {2}, .pads = {2, 0}}, "f32[1,2,4]"),
            "node 'p': AveragePool: pads [2,0] would make windows of padding alone");
  EXPECT_EQ(refusal(AveragePool{.kernel_shape = {2}, .pads = {0, -1}}, "f32[1,2,4]"),
            "node 'p': AveragePool: pads must be at least 0 and below 2^31, got [0,-1]");
  EXPECT_EQ(refusal(GlobalAveragePool{}, "f32[1,2]"),
            "node 'p': GlobalAveragePool: expected x with one to three spatial axes, got [1,2]");
  EXPECT_EQ(refusal(MaxPool{.kernel_shape = {2}, .storage_order = 2}, "f32[1,2,4]"),
            "node 'p': MaxPool: storage_order must be 0 or 1, got 2");
}

}  // namespace
}  // namespace narrowgauge::pool_test
