// SPDX-License-Identifier: Apache-2.0
#include "base/text/wildcard.h"

#include <gtest/gtest.h>

namespace narrowgauge::wildcard_test {
namespace {

TEST(wildcard, names_match_as_in_a_shell) {
  EXPECT_TRUE(matches_wildcard("conv*", "conv"));
  EXPECT_TRUE(matches_wildcard("*/weight*2", "a/b/weight_12"));
  EXPECT_TRUE(matches_wildcard("a?c*", "abc"));
  EXPECT_FALSE(matches_wildcard("a?c", "abcd"));
  EXPECT_FALSE(matches_wildcard("*b", "abc"));
  EXPECT_TRUE(matches_wildcard("*a*a*", "banana"));
}

}  // namespace
}  // namespace narrowgauge::wildcard_test
