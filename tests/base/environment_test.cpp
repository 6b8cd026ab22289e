// SPDX-License-Identifier: Apache-2.0
#include "base/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

TEST(Environment, GivesTheValueOrNothing) {
  unsetenv("NARROWGAUGE_TEST_VALUE");
  EXPECT_EQ(environment("TEST_VALUE"), "");
  setenv("NARROWGAUGE_TEST_VALUE", "some text", 1);
  EXPECT_EQ(environment("TEST_VALUE"), "some text");
}

TEST(Environment, ReadsSwitchesAndRefusesOtherWords) {
  unsetenv("NARROWGAUGE_TEST_SWITCH");
  EXPECT_TRUE(environment_switch("TEST_SWITCH", true));
  EXPECT_FALSE(environment_switch("TEST_SWITCH", false));
  for (const char* yes : {"1", "on", "true", "yes"}) {
    setenv("NARROWGAUGE_TEST_SWITCH", yes, 1);
    EXPECT_TRUE(environment_switch("TEST_SWITCH", false)) << yes;
  }
  for (const char* no : {"0", "off", "false", "no"}) {
    setenv("NARROWGAUGE_TEST_SWITCH", no, 1);
    EXPECT_FALSE(environment_switch("TEST_SWITCH", true)) << no;
  }
  setenv("NARROWGAUGE_TEST_SWITCH", "maybe", 1);
  EXPECT_THROW(environment_switch("TEST_SWITCH", true), UsageError);
}

}  // namespace
}  // namespace narrowgauge
