// SPDX-License-Identifier: Apache-2.0
// MatMul, FusedMatMul and Gemm against PyTorch's numbers, and each kernel against the reference.
#include "ops/math/matmul.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/cpu.h"
#include "ops/gradient_run.h"
#include "ops/math/gemm.h"
#include "ops/offers/contraction.h"
#include "ops/sample_run.h"

namespace narrowgauge::matmul_test {
namespace {

template <class T>
struct Case {
  std::string name;
  T op;
  std::vector<Dims> inputs;
  std::vector<double> expected;  // fingerprints of y and of the gradients: torch 2, f64
};

template <class T>
void expect_torch(const std::vector<Case<T>>& cases) {
  for (const DType dtype : {DType::f64, DType::f32})
    for (const bool reference : {true, false})
      for (const Case<T>& c : cases) {
        std::vector<std::optional<Tensor>> inputs;
        for (const Dims& dims : c.inputs)
          inputs.emplace_back(pattern(dtype, dims, static_cast<std::int64_t>(inputs.size()) + 1));
        const auto seed = [&](const Dims& dims) { return pattern(dtype, dims, 4); };
        expect_fingerprints(run_gradient(c.op, inputs, seed, 0, reference), c.expected,
                            dtype == DType::f64 ? 1e-12 : 2e-5, c.name);
      }
}

TEST(matmul, results_and_gradients_are_those_of_pytorch) {
  expect_torch<MatMul>({
      {"plain", {}, {{17, 33}, {33, 9}}, {59.97607421875, 71.49169921875, -25.08642578125}},
      {"batch", {}, {{2, 1, 3, 4}, {3, 4, 5}}, {13.165771484375, -27.196044921875, -10.5849609375}},
      {"left vector", {}, {{4}, {2, 4, 3}}, {6.86181640625, 3.384765625, -7.93310546875}},
      {"right vector", {}, {{2, 3, 4}, {4}}, {8.664794921875, -5.571044921875, -2.433837890625}},
      {"dot", {}, {{4}, {4}}, {-0.03271484375, -0.791015625, -2.90625}},
      {"shared", {}, {{2, 3, 5, 4}, {4, 6}}, {27.163330078125, 8.216552734375, 11.77734375}},
  });
}

TEST(fused_matmul, results_and_gradients_are_those_of_pytorch) {
  expect_torch<FusedMatMul>({
      {"a",
       {true, false},
       {{2, 4, 3}, {2, 4, 5}},
       {-9.291259765625, -17.8896484375, -7.65283203125}},
      {"b", {false, true}, {{2, 3, 4}, {5, 4}}, {17.053466796875, -40.9052734375, 25.5458984375}},
      {"both",
       {true, true},
       {{4, 3}, {2, 5, 4}},
       {-8.901611328125, -17.70751953125, -2.5986328125}},
  });
}

TEST(gemm, results_and_gradients_are_those_of_pytorch) {
  expect_torch<Gemm>({
      {"linear layer",
       {1, 1, 0, 1},
       {{7, 33}, {10, 33}, {10}},
       {148.848876953125, 158.419189453125, -132.668212890625, 7.0078125}},
      {"scaled",
       {0.5, -2, 1, 0},
       {{6, 5}, {6, 4}, {5, 1}},
       {17.7613525390625, 3.114501953125, -10.1278076171875, -11.3203125}},
      {"both transposed",
       {-1.5, 0.25, 1, 1},
       {{6, 5}, {4, 6}, {5, 4}},
       {-3.615478515625, -0.2955322265625, 3.802001953125, 2.8935546875}},
  });
}

template <class T>
void expect_all_samples(std::string_view kernel) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (const bool channels_last : {false, true}) {
      const int taken = expect_kernel_matches_reference<T>(
          dtype, {.kernel = std::string(kernel), .channels_last = channels_last});
      EXPECT_EQ(taken, static_cast<int>(samples_of<T>().size())) << kernel << ' ' << name(dtype);
    }
}

TEST(matmul, kernels_agree_with_the_reference_in_every_dtype) {
  expect_all_samples<MatMul>("onednn");
  expect_all_samples<FusedMatMul>("onednn");
  expect_all_samples<Gemm>("onednn, scaled");
  EXPECT_GE(expect_kernel_matches_reference<Gemm>(DType::f32, {.kernel = "onednn"}), 6);
}

TEST(gemm, results_that_f16_stores_as_zero_are_counted) {
  const Tensor a = Tensor::full(DType::f16, {3, 1}, 0x1p-14);
  const Tensor b = Tensor::full(DType::f16, {1, 2}, 0x1p-13);
  for (const double alpha : {1.0, 0.5}) {
    const KernelResult result = run_kernel(Gemm{.alpha = alpha}, {a, b});
    EXPECT_EQ(result.outputs[0].at(5), 0);
    EXPECT_EQ(result.flushed[0], 6) << result.implementation;
  }
}

template <class T>
std::string refusal(T op, std::string_view a, std::string_view b, std::string_view c = "") {
  Graph graph;
  Values inputs{graph.input("a", TensorType::parse(a)), graph.input("b", TensorType::parse(b))};
  if (!c.empty()) inputs.push_back(graph.input("c", TensorType::parse(c)));
  try {
    graph.add(std::move(op), inputs, {.name = "p"});
    return "accepted";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(matmul, wrong_inputs_are_refused_with_what_came) {
  EXPECT_EQ(refusal(MatMul{}, "f32[2,3]", "f32[4,5]"),
            "node 'p': MatMul: a [2,3] and b [4,5] do not share the axis to sum over");
  EXPECT_EQ(refusal(MatMul{}, "f32[2,2,3]", "f32[3,3,5]"),
            "node 'p': MatMul: shapes [2] and [3] do not broadcast");
  EXPECT_EQ(refusal(MatMul{}, "f32[]", "f32[3]"),
            "node 'p': MatMul: expected operands of rank 1 or more, got f32[] and f32[3]");
  EXPECT_EQ(refusal(FusedMatMul{}, "f32[3]", "f32[3,3]"),
            "node 'p': FusedMatMul: expected operands of rank 2 or more, got f32[3] and f32[3,3]");
  EXPECT_EQ(refusal(Gemm{.transA = 1}, "f32[2,3]", "f32[3,4]"),
            "node 'p': Gemm: a [2,3] and b [3,4] do not share the axis to sum over");
  EXPECT_EQ(refusal(Gemm{}, "f32[1,2,3]", "f32[3,4]"),
            "node 'p': Gemm: expected a matrix as input 'a', got f32[1,2,3]");
  EXPECT_EQ(refusal(Gemm{}, "f32[2,3]", "f32[3,4]", "f32[2]"),
            "node 'p': Gemm: shapes [2] and [2,4] do not broadcast");
  EXPECT_EQ(refusal(Gemm{}, "f32[1,3]", "f32[3,4]", "f32[2,4]"),
            "node 'p': Gemm: c [2,4] does not broadcast to [1,4]");
}

TEST(matmul, a_symbolic_batch_goes_through_the_gradient) {
  Graph graph;
  const Value a = graph.input("a", TensorType::parse("f32[N,7,4]"));
  const Value b = graph.input("b", TensorType::parse("f32[4,6]"));
  const Value y = graph.add(MatMul{}, {a, b});
  const Value dy = graph.input("dy", graph.type(y));
  Gradient gradient(graph, {a, b}, {y}, {dy}, {true, true}, nullptr);
  const Values found = MatMul{}.gradient(gradient);
  EXPECT_EQ(graph.type(found[0]), graph.type(a));
  EXPECT_EQ(graph.type(found[1]), graph.type(b));
}

// f32 as bf16x3 where that is worth what is asked for; never for ieee, nor without fast math.
TEST(matmul, tiles_take_what_their_products_are_worth) {
  if (isa() != Isa::amx) GTEST_SKIP() << "tiles need amx, this is " << name(isa());
  const auto takes = [](DType dtype, Math math) {
    const std::vector<std::optional<Tensor>> inputs{pattern(dtype, {40, 64}, 1),
                                                    pattern(dtype, {64, 48}, 2)};
    try {
      run_kernel(MatMul{}, inputs, {.kernel = "tiles", .math = math});
      run_kernel(FusedMatMul{}, inputs, {.kernel = "tiles", .math = math});
      run_kernel(Gemm{}, inputs, {.kernel = "tiles", .math = math});
    } catch (const UsageError&) {
      return false;
    }
    return true;
  };
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    EXPECT_FALSE(takes(dtype, Math::ieee)) << name(dtype);
  EXPECT_TRUE(takes(DType::bf16, Math::bf16));
  EXPECT_TRUE(takes(DType::f16, Math::f16));
  EXPECT_TRUE(takes(DType::f32, Math::f32));
  EXPECT_TRUE(takes(DType::f32, Math::bf16x3));
  EXPECT_FALSE(takes(DType::f32, Math::dfp16));
  ASSERT_EQ(setenv("NARROWGAUGE_FAST_MATH", "0", 1), 0);
  EXPECT_FALSE(takes(DType::f32, Math::f32));
  EXPECT_TRUE(takes(DType::f16, Math::f16));
  ASSERT_EQ(setenv("NARROWGAUGE_FAST_MATH", "no", 1), 0);
  EXPECT_THROW(Target::machine(), UsageError);
  ASSERT_EQ(unsetenv("NARROWGAUGE_FAST_MATH"), 0);
}

}  // namespace
}  // namespace narrowgauge::matmul_test
