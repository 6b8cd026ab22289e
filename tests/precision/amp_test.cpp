// SPDX-License-Identifier: Apache-2.0
#include "precision/amp.h"

#include <gtest/gtest.h>

namespace narrowgauge::amp_test {
namespace {

TEST(amp, has_a_word_for_each_wish) {
  EXPECT_EQ(name(Amp{}), "off");
  EXPECT_EQ(name(Amp{DType::f16}), "f16");
  EXPECT_EQ(name(Amp{DType::bf16}), "bf16");
  EXPECT_EQ(name(Amp{.automatic = true}), "auto");
}

TEST(parse_amp, is_the_inverse_of_name) {
  for (const DType format : amp_formats) EXPECT_EQ(parse_amp(name(Amp{format})), Amp{format});
  EXPECT_EQ(parse_amp("auto"), Amp{.automatic = true});
  for (const char* word : {"", "f32", "f64", "Off", "f16 "}) EXPECT_FALSE(parse_amp(word)) << word;
}

}  // namespace
}  // namespace narrowgauge::amp_test
