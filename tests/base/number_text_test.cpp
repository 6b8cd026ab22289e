// SPDX-License-Identifier: Apache-2.0
#include "base/text/number_text.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <limits>

#include "base/files/memory.h"
#include "base/machine/cores.h"
#include "support/comma_locale.h"

namespace narrowgauge::number_text_test {
namespace {

std::string printed(const char* format, int precision, double value) {
  std::array<char, 512> text;
  std::snprintf(text.data(), text.size(), format, precision, value);
  return text.data();
}

TEST(number_text, is_that_of_printf_in_its_own_locale) {
  for (const double value : {0.0, -0.0, 1.0, 0.1, -123.456, 1e-7, 9.9996, 1e20, 5e-324,
                             std::numeric_limits<double>::max()})
    for (const int precision : {1, 2, 3, 9}) {
      EXPECT_EQ(general_text(value, precision), printed("%.*g", precision, value));
      EXPECT_EQ(fixed_text(value, precision), printed("%.*f", precision, value));
    }
}

TEST(number_text, what_the_system_says_is_read_alike_in_every_locale) {
  const std::string usual = bytes_text(1536);
  const auto cores = parse_cpu_max("150000 100000");
  const testing_support::CommasInStreams commas;
  EXPECT_EQ(bytes_text(1536), usual);
  EXPECT_EQ(parse_cpu_max("150000 100000"), cores);
  EXPECT_EQ(parse_cpu_max("1.5 1.0"), 1.5);
  EXPECT_GT(available_memory(), 0);
}

}  // namespace
}  // namespace narrowgauge::number_text_test
