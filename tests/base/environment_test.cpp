// SPDX-License-Identifier: Apache-2.0
#include "base/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace narrowgauge::environment_test {
namespace {

TEST(environment, gives_the_value_or_nothing) {
  unsetenv("NARROWGAUGE_TEST_VALUE");
  EXPECT_EQ(environment("TEST_VALUE"), "");
  setenv("NARROWGAUGE_TEST_VALUE", "some text", 1);
  EXPECT_EQ(environment("TEST_VALUE"), "some text");
}

}  // namespace
}  // namespace narrowgauge::environment_test
