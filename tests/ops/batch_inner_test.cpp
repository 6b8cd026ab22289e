// SPDX-License-Identifier: Apache-2.0
// Ops on images that lie batch-inner: each kernel against the reference on plain images.
#include "ops/offers/batch_inner.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/machine/cpu.h"
#include "ops/activation/relu.h"
#include "ops/convolution/conv.h"
#include "ops/kernel_run.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/pool/average_pool.h"
#include "ops/pool/max_pool.h"
#include "ops/shape/broadcast_gradient.h"
#include "ops/shape/concat.h"
#include "ops/shape/relayout.h"

namespace narrowgauge::batch_inner_test {
namespace {

using Inputs = std::vector<std::optional<Tensor>>;

struct Setup {
  std::string kernel;
  std::vector<int> unread = {};
  Math math = Math::none;
  double least_scale = 0;  // of the values that a small output was summed from
};

// Outputs equal those of the reference to `bound`.
template <class T>
void expect_equal_to_reference(const T& op, const Inputs& inputs, const Setup& setup,
                               double bound) {
  KernelRun how{
      .kernel = setup.kernel, .batch_inner = true, .math = setup.math, .unread = setup.unread};
  const KernelResult got = run_kernel(op, inputs, how);
  const KernelResult expected =
      run_kernel(op, inputs, {.reference = true, .math = setup.math, .unread = setup.unread});
  for (std::size_t o = 0; o < got.outputs.size(); ++o) {
    const auto unread = std::count(setup.unread.begin(), setup.unread.end(), int(o));
    if (unread == 0)
      expect_near(got.outputs[o], values_of(expected.outputs[o]), bound,
                  concat(T::info.name, " output ", o), setup.least_scale);
  }
}

Tensor bf16(Dims dims, std::int64_t seed = 0) {
  return pattern(DType::bf16, std::move(dims), seed);
}

TEST(batch_inner, convolutions_and_their_gradients) {
  if (isa() != Isa::amx) GTEST_SKIP() << "needs amx";
  const Tensor bias = pattern(DType::f32, {32}, 3);
  const Conv conv{.pads = {1, 1, 1, 1}, .strides = {2, 2}};
  const ConvDataGradient data{.pads = {1, 1, 1, 1}, .strides = {2, 2}, .shape = {32, 64, 5, 4}};
  const ConvWeightGradient weight{.pads = {1, 1, 1, 1}, .strides = {2, 2}, .shape = {32, 64, 3, 3}};
  for (const auto& [dtype, math] :
       {std::pair{DType::bf16, Math::bf16}, {DType::f32, Math::f32}, {DType::f16, Math::f16}}) {
    const double bound = dtype == DType::f32 ? 1e-5 : bound_of(dtype);
    const Tensor x = pattern(dtype, {32, 64, 5, 4}), w = pattern(dtype, {32, 64, 3, 3}, 1);
    const Tensor dy = pattern(dtype, {32, 32, 3, 2}, 2);
    expect_equal_to_reference(conv, {x, w, bias}, {.kernel = "tiles", .math = math}, bound);
    expect_equal_to_reference(data, {dy, w}, {.kernel = "tiles", .math = math}, bound);
    expect_equal_to_reference(weight, {x, dy}, {.kernel = "tiles", .math = math}, bound);
  }
}

TEST(batch_inner, products_in_two_parts_are_not_ieee) {
  const Tensor x = pattern(DType::f32, {32, 32, 2, 2}), w = pattern(DType::f32, {32, 32, 1, 1}, 1);
  for (const Math math : {Math::ieee, Math::none})
    EXPECT_ANY_THROW(
        run_kernel(Conv{}, {x, w}, {.kernel = "tiles", .batch_inner = true, .math = math}));
}

TEST(batch_inner, normalization_in_training_and_its_gradient) {
  const Tensor scale = pattern(DType::f32, {64}, 2), bias = pattern(DType::f32, {64}, 3);
  const Tensor mean = pattern(DType::f32, {64}, 4);
  Tensor variance(DType::f32, {64});
  for (int i = 0; i < 64; ++i) variance.set(i, 0.5 + i);
  BatchNormalization train;
  train.training_mode = 1;
  for (const DType dtype : {DType::bf16, DType::f32, DType::f16}) {
    const Tensor x = pattern(dtype, {32, 64, 3, 5}), dy = pattern(dtype, {32, 64, 3, 5}, 1);
    const double bound = bound_of(dtype);
    // Sums of values of up to 2 make means of no more than 0.06.
    expect_equal_to_reference(train, {x, scale, bias, mean, variance},
                              {.kernel = "rows", .least_scale = 2}, bound);
    expect_equal_to_reference(BatchNormalization{}, {x, scale, bias, mean, variance},
                              {.kernel = "rows", .unread = {1, 2, 3, 4}}, bound);
    BatchNormalizationGradient gradient;
    expect_equal_to_reference(gradient, {dy, x, scale, mean, variance}, {.kernel = "rows"}, bound);
  }
}

TEST(batch_inner, max_pools_in_vectors) {
  if (isa() != Isa::amx) GTEST_SKIP() << "needs amx";
  for (const DType dtype : {DType::bf16, DType::f32, DType::f16}) {
    Tensor x = pattern(dtype, {64, 32, 6, 5});
    x.set(7, std::numeric_limits<double>::quiet_NaN());
    // Row-major corners: windows that hold nothing larger, and begin in the padding.
    for (const int i : {30, 31, 32, 35, 36, 37, 40, 41, 42})
      x.set(i, -std::numeric_limits<double>::infinity());
    for (const Dims& strides : {Dims{2, 2}, Dims{1, 3}})
      for (const Dims& dilations : {Dims{1, 1}, Dims{2, 1}}) {
        const MaxPool pool{.dilations = dilations,
                           .kernel_shape = {3, 3},
                           .pads = {1, 1, 1, 1},
                           .strides = strides};
        expect_equal_to_reference(pool, {x}, {.kernel = "blocks", .unread = {1}}, 0);
        expect_equal_to_reference(pool, {x}, {.kernel = "blocks", .unread = {1, 2}}, 0);
        const KernelResult forward = run_kernel(pool, {x}, {.reference = true, .unread = {1}});
        const MaxPoolGradient gradient{.dilations = dilations,
                                       .kernel_shape = {3, 3},
                                       .pads = {1, 1, 1, 1},
                                       .strides = strides,
                                       .shape = {64, 32, 6, 5}};
        const Tensor dy = pattern(dtype, forward.outputs[0].dims(), 5);
        expect_equal_to_reference(gradient, {dy, forward.outputs[2]}, {.kernel = "blocks"},
                                  bound_of(dtype));
      }
  }
}

TEST(batch_inner, pools_and_their_gradients) {
  const double bound = bound_of(DType::bf16);
  const Tensor x = bf16({64, 32, 6, 5}), dy = bf16({64, 32, 3, 3}, 1);
  const Dims kernel{3, 3}, pads{1, 1, 1, 1}, strides{2, 2};
  const MaxPool pool{.kernel_shape = kernel, .pads = pads, .strides = strides};
  expect_equal_to_reference(pool, {x}, {.kernel = "rows", .unread = {1}}, 0);
  const Tensor taps = run_kernel(pool, {x}, {.reference = true, .unread = {1}}).outputs[2];
  const MaxPoolGradient max{
      .kernel_shape = kernel, .pads = pads, .strides = strides, .shape = {64, 32, 6, 5}};
  expect_equal_to_reference(max, {dy, taps}, {.kernel = "rows"}, bound);
  const AveragePool average{.kernel_shape = kernel, .pads = pads, .strides = strides};
  expect_equal_to_reference(average, {x}, {.kernel = "rows"}, bound);
  const AveragePoolGradient gradient{
      .kernel_shape = kernel, .pads = pads, .strides = strides, .shape = {64, 32, 6, 5}};
  expect_equal_to_reference(gradient, {dy}, {.kernel = "rows"}, bound);
  expect_equal_to_reference(GlobalAveragePool{}, {x}, {.kernel = "rows"}, bound);
  expect_equal_to_reference(GlobalAveragePoolGradient{{64, 32, 4, 3}}, {bf16({64, 32, 1, 1})},
                            {.kernel = "rows"}, bound);
}

TEST(batch_inner, indices_of_maxima_are_left_to_the_reference) {
  const Tensor x = bf16({32, 32, 4, 4});
  const MaxPool pool{.kernel_shape = {2, 2}, .strides = {2, 2}};
  expect_equal_to_reference(pool, {x}, {.kernel = "", .unread = {2}}, 0);
}

TEST(batch_inner, joined_and_cut_channels) {
  const Tensor a = bf16({64, 32, 2, 3}), b = bf16({64, 96, 2, 3}, 1);
  expect_equal_to_reference(Concat{1}, {a, b}, {.kernel = "copy"}, 0);
  const Tensor whole = bf16({64, 128, 2, 3}, 2);
  expect_equal_to_reference(ConcatGradient{1, {32, 96}}, {whole}, {.kernel = "copy"}, 0);
}

TEST(batch_inner, sums_of_channels) {
  expect_equal_to_reference(BroadcastGradient{{1, 64, 1, 1}}, {bf16({64, 64, 3, 2})},
                            {.kernel = "sums"}, bound_of(DType::bf16));
}

TEST(batch_inner, elementwise_ops) {
  expect_equal_to_reference(Relu{}, {bf16({32, 64, 3, 2})}, {.kernel = ""}, 0);
}

// Every pair of storages, also of sizes that leave blocks unfilled; the rest of a block is zero.
TEST(batch_inner, relayouts_keep_values) {
  const Storage storages[] = {{},
                              Storage::channels_last(4),
                              Storage::channels_blocked(4, 32),
                              Storage::channels_blocked(4, 16),
                              Storage::batch_inner()};
  for (const Dims& dims : {Dims{64, 32, 3, 2}, Dims{5, 40, 2, 3}, Dims{32, 3, 1, 2}})
    for (const Storage& from : storages)
      for (const Storage& to : storages) {
        const auto operand = [&](const Storage& storage) {
          Operand result{.dtype = DType::bf16, .dims = dims, .storage = storage};
          if (storage.blocks.empty()) result.strides = strides_of(dims, storage);
          return result;
        };
        const Operand x = operand(from), y = operand(to);
        const Attributes attributes = Attributes::of(Relayout{});
        const Target target = Target::machine();
        const Request request{
            record_of<Relayout>(), attributes, {&x, 1}, {&y, 1}, target, Math::none, "test"};
        const Offer offer = Relayout::kernels()[0].offer(request);
        const bool sixteens = from == storages[3] || to == storages[3];
        const bool mixed = sixteens && !(from == to) && !from.blocks.empty() && !to.blocks.empty();
        EXPECT_EQ(static_cast<bool>(offer), !mixed) << concat(from, " to ", to);
        if (!offer || !offer.aliases.empty()) continue;
        Tensor memory(DType::bf16, {stored_elements(dims, from)});
        Tensor result(DType::bf16, {stored_elements(dims, to)});
        std::fill_n(result.data(), result.size() * 2, std::byte{0x41});
        const std::int64_t count = element_count(dims);
        for (std::int64_t i = 0; i < count; ++i)
          memory.set(offset_of(x, i), static_cast<double>(i % 251));
        const View in{memory.data()}, out{result.data()};
        offer.run({{&in, 1}, {&out, 1}, nullptr, {}, {}});
        std::vector<double> expected(static_cast<std::size_t>(result.size()), 0.0);
        for (std::int64_t i = 0; i < count; ++i)
          expected[static_cast<std::size_t>(offset_of(y, i))] = static_cast<double>(i % 251);
        EXPECT_EQ(values_of(result), expected) << concat(from, " to ", to, " of ", dims);
      }
}

}  // namespace
}  // namespace narrowgauge::batch_inner_test
