// SPDX-License-Identifier: Apache-2.0
// The words in which kernels are asked and answer.
#include "narrowgauge/kernel.h"

#include <gtest/gtest.h>

#include "narrowgauge/tf32.h"

namespace narrowgauge::kernel_test {
namespace {

TEST(math, words_are_read_as_they_are_written) {
  for (const char* text : {"none", "ieee", "f32", "f16", "bf16", "tf32", "tf32x3", "bf16x3",
                           "dfp16", "sim:a100", "sim:h100:f8e4m3", "sim:ieee-split4"})
    EXPECT_EQ(name(parse_math(text)), text);
  for (const char* text : {"", "f64", "sim:", "sim:a101", "sim:a100:f99"})
    EXPECT_THROW(parse_math(text), UsageError) << text;
}

TEST(math, a_simulated_unit_keeps_its_format) {
  const Math math = simulated(MatrixUnit::h100, UnitFormat::f8e4m3);
  EXPECT_TRUE(is_simulated(math));
  EXPECT_EQ(unit_of(math), MatrixUnit::h100);
  EXPECT_EQ(operand_format_of(math), UnitFormat::f8e4m3);
  EXPECT_EQ(operand_format_of(simulated(MatrixUnit::a100)), UnitFormat::automatic);
  EXPECT_FALSE(is_simulated(Math::dfp16));
}

TEST(math, of_f32_values_is_what_keeps_or_rounds_f32) {
  for (const Math math : {Math::ieee, Math::f32, Math::tf32, Math::tf32x3, Math::bf16x3,
                          Math::dfp16, simulated(MatrixUnit::v100)})
    EXPECT_TRUE(is_f32_math(math)) << name(math);
  for (const Math math : {Math::none, Math::f16, Math::bf16})
    EXPECT_FALSE(is_f32_math(math)) << name(math);
}

TEST(math, rounds_its_operands_where_the_target_allows_it) {
  const Target allowed, forbidden{.tf32 = false};
  for (const Math math : {Math::tf32, Math::tf32x3}) {
    EXPECT_TRUE(rounds_to_tf32(math, allowed));
    EXPECT_TRUE(rounds_operands(math, allowed));
    EXPECT_FALSE(rounds_to_tf32(math, forbidden));
    EXPECT_FALSE(rounds_operands(math, forbidden));
  }
  const Math unit = simulated(MatrixUnit::a100);
  EXPECT_FALSE(rounds_to_tf32(unit, allowed));
  EXPECT_TRUE(rounds_operands(unit, forbidden));
  EXPECT_FALSE(rounds_operands(Math::f32, allowed));
}

TEST(storage, words_are_read_as_they_are_written) {
  for (const Storage& storage :
       {Storage{}, Storage::channels_last(4), Storage::channels_blocked(4, 16),
        Storage::batch_inner(), Storage::parse("021!packed")})
    EXPECT_EQ(Storage::parse(concat(storage)), storage) << concat(storage);
  EXPECT_EQ(concat(Storage::channels_last(5)), "02341");
  EXPECT_EQ(concat(Storage::channels_blocked(4, 16)), "0123|1:16");
  for (const char* text : {"013", "0123|1", "0123|1:", "plainly", "0 1"})
    EXPECT_THROW(Storage::parse(text), UsageError) << text;
}

TEST(storage, blocks_are_padded_and_strides_are_of_logical_axes) {
  EXPECT_EQ(stored_elements({33, 20, 3, 5}, Storage::batch_inner()), 64 * 32 * 3 * 5);
  EXPECT_EQ(stored_elements({2, 20, 3, 5}, Storage::channels_blocked(4, 16)), 2 * 32 * 3 * 5);
  EXPECT_EQ(stored_elements({2, 3}, {}), 6);
  EXPECT_EQ(strides_of({2, 3, 4, 5}, {}), (Dims{60, 20, 5, 1}));
  EXPECT_EQ(strides_of({2, 3, 4, 5}, Storage::channels_last(4)), (Dims{60, 1, 15, 3}));
}

TEST(offer, accepts_unless_it_has_a_reason) {
  EXPECT_TRUE(Offer{});
  const Offer declined = Offer::decline("too small");
  EXPECT_FALSE(declined);
  EXPECT_EQ(declined.reason, "too small");
}

TEST(offer, is_made_ready_once) {
  int times = 0;
  Offer offer;
  offer.prepare = [&](Offer& ready) {
    ++times;
    ready.workspace = 64;
  };
  offer.get_ready();
  offer.get_ready();
  EXPECT_EQ(times, 1);
  EXPECT_EQ(offer.workspace, 64);
}

TEST(kernel_call, counts_flushed_values_only_where_they_are_asked_for) {
  std::int64_t counts[] = {0, 0};
  KernelCall asked;
  asked.flushed = counts;
  EXPECT_EQ(asked.flushed_at(1), &counts[1]);
  EXPECT_EQ(asked.flushed_at(2), nullptr);
  EXPECT_EQ(KernelCall{}.flushed_at(0), nullptr);
}

TEST(isa, words_are_read_as_they_are_written) {
  for (const Isa isa : {Isa::avx2, Isa::avx512, Isa::vnni, Isa::bf16, Isa::amx})
    EXPECT_EQ(parse_isa(name(isa)), isa);
  EXPECT_THROW(parse_isa("sse2"), UsageError);
}

}  // namespace
}  // namespace narrowgauge::kernel_test
