// SPDX-License-Identifier: Apache-2.0
// Convolutions of single pixels, which tiles compute as one product of all pixels and w: the kernel
// against the reference.
#include <gtest/gtest.h>

#include "base/machine/cpu.h"
#include "ops/convolution/conv.h"
#include "ops/kernel_run.h"

namespace narrowgauge::pixel_convolution_test {
namespace {

template <class T>
void expect_equal_to_reference(const T& op, const std::vector<std::optional<Tensor>>& inputs,
                               Math math, double bound) {
  const KernelResult got =
      run_kernel(op, inputs, {.kernel = "pixels", .channels_last = true, .math = math});
  const KernelResult expected = run_kernel(op, inputs, {.reference = true, .math = math});
  expect_near(got.outputs[0], values_of(expected.outputs[0]), bound,
              concat(T::info.name, " in ", math), 1);
}

TEST(pixels, give_convolutions_and_their_gradients) {
  if (isa() != Isa::amx) GTEST_SKIP() << "needs amx";
  const Tensor bias = pattern(DType::f32, {32}, 3);
  const ConvDataGradient data{.shape = {2, 64, 8, 6}};
  const ConvWeightGradient weight{.shape = {32, 64, 1, 1}};
  for (const auto& [dtype, math] :
       {std::pair{DType::bf16, Math::bf16}, {DType::f32, Math::f32}, {DType::f16, Math::f16}}) {
    const double bound = dtype == DType::f32 ? 1e-5 : bound_of(dtype);
    const Tensor x = pattern(dtype, {2, 64, 8, 6}), w = pattern(dtype, {32, 64, 1, 1}, 1);
    const Tensor dy = pattern(dtype, {2, 32, 8, 6}, 2);
    expect_equal_to_reference(Conv{}, {x, w, bias}, math, bound);
    expect_equal_to_reference(data, {dy, w}, math, bound);
    if (dtype == DType::bf16) expect_equal_to_reference(weight, {x, dy}, math, bound);
  }
}

}  // namespace
}  // namespace narrowgauge::pixel_convolution_test
