// SPDX-License-Identifier: Apache-2.0
// What an offer tells before it is ready, and after.
#include <gtest/gtest.h>

#include "ops/convolution/conv.h"
#include "ops/math/matmul.h"

namespace narrowgauge::offers_test {
namespace {

Operand dense(DType dtype, Dims dims) { return {dtype, dims, strides_of(dims, {}), {}}; }

template <class Op>
std::vector<Offer> offers_of(const Op& op, const std::vector<Operand>& inputs, const Operand& y,
                             Math math) {
  const Attributes attributes = Attributes::of(op);
  const Target target = Target::machine();
  const Request request{record_of<Op>(), attributes, inputs, {&y, 1}, target, math, "tested"};
  std::vector<Offer> taken;
  const auto kernels = Op::kernels();
  for (const Kernel& kernel : kernels.first(kernels.size() - 1))
    if (Offer offer = kernel.offer(request)) taken.push_back(std::move(offer));
  return taken;
}

// Asking is what passes do, many times for a node.
void expect_work_only_when_chosen(std::vector<Offer> offers) {
  ASSERT_FALSE(offers.empty());
  for (Offer& offer : offers) {
    EXPECT_TRUE(offer.prepare);
    EXPECT_FALSE(offer.run);
    offer.get_ready();
    EXPECT_FALSE(offer.prepare);
    EXPECT_TRUE(offer.run);
    EXPECT_NE(offer.implementation, "");
  }
}

TEST(offers, of_contractions_make_nothing_before_they_are_chosen) {
  const Operand x = dense(DType::f32, {2, 8, 6, 6}), w = dense(DType::f32, {16, 8, 3, 3});
  const Operand y = dense(DType::f32, {2, 16, 4, 4});
  expect_work_only_when_chosen(offers_of(Conv{}, {x, w}, y, Math::ieee));
  const Operand a = dense(DType::f32, {32, 64}), b = dense(DType::f32, {64, 32});
  expect_work_only_when_chosen(offers_of(MatMul{}, {a, b}, dense(DType::f32, {32, 32}), Math::f32));
}

std::string kernels_that_take(DType dtype, Math math, const Target& target) {
  const std::vector<Operand> inputs{dense(dtype, {64, 128}), dense(dtype, {128, 64})};
  const Operand y = dense(dtype, {64, 64});
  const Attributes attributes = Attributes::of(MatMul{});
  const Request request{record_of<MatMul>(), attributes, inputs, {&y, 1}, target, math, "tested"};
  std::string names;
  const auto kernels = MatMul::kernels();
  for (const Kernel& kernel : kernels.first(kernels.size() - 1))
    if (kernel.offer(request)) names += concat(names.empty() ? "" : " ", kernel.name);
  return names;
}

TEST(offers, follow_the_target_and_not_this_machine) {
  const auto f32 = [](const Target& target) {
    return kernels_that_take(DType::f32, Math::f32, target);
  };
  EXPECT_EQ(f32({.isa = Isa::avx2}), "onednn");
  EXPECT_EQ(f32({.isa = Isa::avx512}), "onednn");
  EXPECT_EQ(f32({.isa = Isa::vnni}), "dfp16 onednn");
  EXPECT_EQ(f32({.isa = Isa::amx}), "tiles onednn");  // three products of bf16 beat dfp16
  for (const Isa isa : {Isa::vnni, Isa::bf16, Isa::amx})
    EXPECT_EQ(f32({.isa = isa, .fast_math = false}), "onednn") << name(isa);
  const auto bf16 = [](const Target& target) {
    return kernels_that_take(DType::bf16, Math::bf16, target);
  };
  EXPECT_EQ(bf16({.isa = Isa::vnni}), "dfp16 onednn");
  EXPECT_EQ(bf16({.isa = Isa::bf16}), "pairs dfp16 onednn");
  EXPECT_EQ(bf16({.isa = Isa::amx}), "tiles onednn");
  EXPECT_EQ(kernels_that_take(DType::bf16, Math::f32, {.isa = Isa::amx}), "tiles onednn");
  const auto tf32 = [](bool allowed) {
    return kernels_that_take(DType::f32, Math::tf32, {.isa = Isa::avx2, .tf32 = allowed});
  };
  EXPECT_EQ(tf32(true), "tf32");
  EXPECT_EQ(tf32(false), "onednn");
}

TEST(offers, of_products_are_for_floats) {
  EXPECT_EQ(kernels_that_take(DType::i64, Math::none, {.isa = Isa::avx2}), "");
  EXPECT_EQ(kernels_that_take(DType::f64, Math::none, {.isa = Isa::avx2}), "onednn");
}

TEST(offers, tell_whose_they_are_and_what_is_widened) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    const Operand a = dense(dtype, {32, 64}), b = dense(dtype, {64, 32});
    std::vector<Offer> offers = offers_of(MatMul{}, {a, b}, dense(dtype, {32, 32}), Math::ieee);
    ASSERT_FALSE(offers.empty());
    Offer& last = offers.back();
    last.get_ready();
    EXPECT_EQ(last.facts.vendor, Vendor::onednn) << last.implementation;
    EXPECT_EQ(last.facts.widened, dtype == DType::f16) << last.implementation;
    EXPECT_EQ(last.facts.way, Math::none) << last.implementation;
  }
}

}  // namespace
}  // namespace narrowgauge::offers_test
