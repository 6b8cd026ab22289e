// SPDX-License-Identifier: Apache-2.0
// Conv and its gradients against PyTorch's numbers, and each kernel against the reference.
#include "ops/nn/conv.h"

#include <gtest/gtest.h>

#include "ops/gradient_run.h"
#include "ops/sample_run.h"

namespace narrowgauge::conv_test {
namespace {

struct Case {
  std::string name;
  Conv op;
  Dims x, w, b, y;
  std::vector<double> expected;  // fingerprints of y, dx, dw and db: torch 2, f64
};

const Case cases[] = {
    {"grouped",
     {.dilations = {1, 2}, .group = 2, .pads = {1, 0, 2, 1}, .strides = {2, 1}},
     {2, 4, 5, 4},
     {4, 2, 3, 2},
     {4},
     {2, 4, 3, 3},
     {-70.658935546875, -47.6337890625, -42.34326171875, 0.23046875}},
    {"same upper",
     {.auto_pad = "SAME_UPPER", .strides = {2, 2}},
     {2, 3, 5, 6},
     {4, 3, 3, 2},
     {4},
     {2, 4, 3, 3},
     {66.489990234375, 84.677978515625, 37.518798828125, 0.23046875}},
    {"same upper, odd padding",
     {.auto_pad = "SAME_UPPER"},
     {1, 2, 4, 5},
     {3, 2, 2, 2},
     {},
     {1, 3, 4, 5},
     {51.46826171875, -62.259033203125, -84.064697265625}},
    {"same lower, odd padding",
     {.auto_pad = "SAME_LOWER"},
     {1, 2, 4, 5},
     {3, 2, 2, 2},
     {},
     {1, 3, 4, 5},
     {-6.46435546875, 74.972900390625, 73.30419921875}},
    {"one axis",
     {.pads = {2, 1}, .strides = {2}},
     {2, 3, 9},
     {5, 3, 4},
     {5},
     {2, 5, 5},
     {22.9560546875, 6.178955078125, 38.97998046875, -2.01953125}},
    {"three axes",
     {.pads = {1, 0, 1, 0, 1, 1}, .strides = {1, 2, 1}},
     {1, 2, 4, 3, 5},
     {3, 2, 2, 2, 3},
     {3},
     {1, 3, 4, 2, 5},
     {127.2314453125, 221.21044921875, 43.28173828125, -1.1015625}},
    {"depthwise",
     {.group = 3, .pads = {1, 1, 1, 1}},
     {2, 3, 6, 6},
     {6, 1, 3, 3},
     {6},
     {2, 6, 6, 6},
     {-32.4716796875, 70.302001953125, -0.970703125, 6.5546875}},
    {"pointwise",
     {},
     {3, 17, 4, 4},
     {9, 17, 1, 1},
     {9},
     {3, 9, 4, 4},
     {-137.05419921875, -134.764404296875, -137.364501953125, -12.7734375}},
    {"as in a residual network",
     {.pads = {1, 1, 1, 1}, .strides = {2, 2}},
     {2, 16, 8, 8},
     {16, 16, 3, 3},
     {},
     {2, 16, 4, 4},
     {-222.391357421875, 260.76171875, 1.125732421875}},
};

std::vector<std::optional<Tensor>> inputs_of(const Case& c, DType dtype) {
  std::vector<std::optional<Tensor>> inputs(c.b.empty() ? 2 : 3);
  inputs[0] = pattern(dtype, c.x, 1);
  inputs[1] = pattern(dtype, c.w, 2);
  if (!c.b.empty()) inputs[2] = pattern(dtype, c.b, 3);
  return inputs;
}

TEST(conv, results_and_gradients_are_those_of_pytorch) {
  for (const DType dtype : {DType::f64, DType::f32})
    for (const bool reference : {true, false})
      for (const Case& c : cases) {
        const auto seed = [&](const Dims& dims) {
          EXPECT_EQ(dims, c.y) << c.name;
          return pattern(dtype, dims, 4);
        };
        expect_fingerprints(run_gradient(c.op, inputs_of(c, dtype), seed, 0, reference), c.expected,
                            dtype == DType::f64 ? 1e-12 : 2e-5, c.name);
      }
}

template <class T>
void expect_all_samples(DType dtype, bool channels_last, std::int64_t wider) {
  const int taken = expect_kernel_matches_reference<T>(
      dtype, {.kernel = "onednn", .channels_last = channels_last, .wider = wider});
  EXPECT_EQ(taken, static_cast<int>(samples_of<T>().size())) << name(dtype);
}

TEST(conv, kernels_agree_with_the_reference_in_every_dtype_and_layout) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (const bool channels_last : {false, true})
      for (const std::int64_t wider : {0, 3}) {
        if (wider > 0 && !channels_last) continue;
        expect_all_samples<Conv>(dtype, channels_last, wider);
        expect_all_samples<ConvDataGradient>(dtype, channels_last, wider);
        expect_all_samples<ConvWeightGradient>(dtype, channels_last, wider);
      }
}

TEST(conv, a_math_that_names_a_way_is_declined_with_it) {
  const auto run = [](Math math, DType dtype) {
    return run_kernel(Conv{}, {pattern(dtype, {1, 1, 3, 3}), pattern(dtype, {1, 1, 2, 2})},
                      {.kernel = "onednn", .math = math});
  };
  for (const Math math : {Math::none, Math::ieee, Math::f32, Math::dfp16, Math::bf16x3})
    EXPECT_NO_THROW(run(math, DType::f32));
  EXPECT_NO_THROW(run(Math::f16, DType::f16));
  EXPECT_NO_THROW(run(Math::bf16, DType::bf16));
  EXPECT_THROW(run(Math::tf32, DType::f32), UsageError);
  EXPECT_THROW(run(Math::bf16, DType::f32), UsageError);
}

TEST(conv, symbolic_sizes_are_inferred_as_expressions) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[N,3,H,W]"));
  const Value w = graph.input("w", TensorType::parse("f32[8,3,3,3]"));
  const Value y = graph.add(Conv{.pads = {1, 1, 1, 1}, .strides = {2, 2}}, {x, w});
  EXPECT_EQ(bind(graph.type(y).shape, {{"N", 5}, {"H", 9}, {"W", 10}}), (Shape{5, 8, 5, 5}));
  const Value same = graph.add(Conv{.auto_pad = "SAME_UPPER", .strides = {2, 2}}, {x, w});
  EXPECT_EQ(bind(graph.type(same).shape, {{"N", 5}, {"H", 9}, {"W", 10}}), (Shape{5, 8, 5, 5}));
}

std::string refusal(Conv op, std::string_view x, std::string_view w, std::string_view b = "") {
  Graph graph;
  Values inputs{graph.input("x", TensorType::parse(x)), graph.input("w", TensorType::parse(w))};
  if (!b.empty()) inputs.push_back(graph.input("b", TensorType::parse(b)));
  try {
    graph.add(std::move(op), inputs, {.name = "c"});
    return "accepted";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(conv, wrong_inputs_are_refused_with_what_was_expected) {
  EXPECT_EQ(refusal({}, "f32[1,3,8,8]", "f32[4,2,3,3]"),
            "node 'c': Conv: w [4,2,3,3] over 1 groups needs 2 channels, x is [1,3,8,8]");
  EXPECT_EQ(refusal({}, "f32[1,3]", "f32[4,3]"),
            "node 'c': Conv: expected x with one to three spatial axes, got [1,3]");
  EXPECT_EQ(refusal({.group = 3}, "f32[1,3,8,8]", "f32[4,1,3,3]"),
            "node 'c': Conv: 4 output channels are not a multiple of 3 groups");
  EXPECT_EQ(refusal({}, "f32[1,3,2,8]", "f32[4,3,3,3]"),
            "node 'c': Conv: a window of 3 does not fit into 2 with pads of 0");
  EXPECT_EQ(refusal({.pads = {1, 1}}, "f32[1,3,8,8]", "f32[4,3,3,3]"),
            "node 'c': Conv: expected 4 values in pads, got [1,1]");
  EXPECT_EQ(refusal({.strides = {0, 1}}, "f32[1,3,8,8]", "f32[4,3,3,3]"),
            "node 'c': Conv: strides must be at least 1 and below 2^31, got [0,1]");
  EXPECT_EQ(refusal({.auto_pad = "SAME"}, "f32[1,3,8,8]", "f32[4,3,3,3]"),
            "node 'c': Conv: auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, got 'SAME'");
  EXPECT_EQ(refusal({}, "f32[1,3,8,8]", "f32[4,3,3,3]", "f32[3]"),
            "node 'c': Conv: expected b of 4 values, got [3]");
  EXPECT_EQ(refusal({.kernel_shape = {5, 5}}, "f32[1,3,8,8]", "f32[4,3,3,3]"),
            "node 'c': Conv: kernel_shape [5,5] differs from w [4,3,3,3]");
}

TEST(conv, counts_a_multiplication_and_an_addition_for_each_tap) {
  const TensorType types[] = {TensorType::parse("f32[2,4,8,8]"), TensorType::parse("f32[6,2,3,3]")};
  const TensorType y[] = {TensorType::parse("f32[2,6,8,8]")};
  EXPECT_EQ(Conv{.group = 2}.flops(types, y), 2.0 * 2 * 6 * 64 * 2 * 9);
}

}  // namespace
}  // namespace narrowgauge::conv_test
