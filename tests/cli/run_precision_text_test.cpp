// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/flags/run_precision.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli::run_precision_text_test {
namespace {

RunPrecision in(const Amp& amp) {
  RunPrecision precision;
  precision.set_amp(amp);
  return precision;
}

TEST(settle_precision, takes_the_flag_before_the_run_and_the_run_before_what_is_usual) {
  const RunPrecision of_run = in({DType::bf16});
  const PrecisionFlags none, off{.amp = Amp{}};
  EXPECT_EQ(settle_precision(none, {}), in({}));
  EXPECT_EQ(settle_precision(none, {}, {DType::f16}), in({DType::f16}));
  EXPECT_EQ(settle_precision(none, of_run, {DType::f16}), of_run);
  EXPECT_EQ(settle_precision(off, of_run), in({}));
  EXPECT_EQ(settle_precision({.amp = Amp{.automatic = true}}, of_run), in({.automatic = true}));
}

TEST(settle_precision, keeps_of_the_run_what_no_flag_says) {
  RunPrecision of_run = in({DType::f16});
  of_run.overrides = {"conv1=f32"};
  of_run.f32_math = Math::ieee;
  EXPECT_EQ(settle_precision({}, of_run), of_run);
  const RunPrecision settled =
      settle_precision({.policy = "contractions", .overrides = {"fc=f32"}}, of_run);
  EXPECT_EQ(settled.policy, "contractions");
  EXPECT_EQ(settled.overrides, std::vector<std::string>{"fc=f32"});
  EXPECT_EQ(settled.f32_math, Math::ieee);
}

TEST(settle_automatic, measures_only_where_a_format_is_to_be_chosen) {
  RunPrecision precision = in({DType::f16});
  const auto never = []() -> AmpChoice { throw InternalError("measured"); };
  EXPECT_EQ(settle_automatic(precision, never), "");
  EXPECT_EQ(precision, in({DType::f16}));
  precision = in({.automatic = true});
  EXPECT_EQ(settle_automatic(precision, [] { return AmpChoice{DType::bf16, "faster"}; }), "faster");
  EXPECT_EQ(precision, in({DType::bf16}));
}

TEST(is_as_trained, where_the_run_was_narrow_and_no_flag_changes_its_plan) {
  const RunPrecision f32 = in({}), f16 = in({DType::f16}), bf16 = in({DType::bf16});
  EXPECT_TRUE(is_as_trained(f16, f16, {}));
  EXPECT_TRUE(is_as_trained(f16, f16, {.amp = Amp{DType::f16}}));
  EXPECT_FALSE(is_as_trained(bf16, f16, {}));
  EXPECT_FALSE(is_as_trained(f32, f32, {}));
  EXPECT_FALSE(is_as_trained(f16, f16, {.policy = "lists"}));
  EXPECT_FALSE(is_as_trained(f16, f16, {.math = Math::ieee}));
  EXPECT_FALSE(is_as_trained(f16, f16, {.overrides = {"fc=f32"}}));
}

TEST(name_of_precision, tells_the_two_ways_of_f32_apart) {
  EXPECT_EQ(name_of(in({DType::bf16})), "bf16");
  RunPrecision f32 = in({});
  EXPECT_EQ(name_of(f32), "f32");
  f32.f32_math = Math::ieee;
  EXPECT_EQ(name_of(f32), "ieee");
}

}  // namespace
}  // namespace narrowgauge::cli::run_precision_text_test
