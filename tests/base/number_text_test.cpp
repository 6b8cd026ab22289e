// SPDX-License-Identifier: Apache-2.0
#include "base/number_text.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <limits>
#include <locale>

#include "base/cores.h"
#include "base/memory.h"

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

// Writes 1.5 as 1,5 and groups digits.
struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(number_text, what_the_system_says_is_read_alike_in_every_locale) {
  const std::string usual = bytes_text(1536);
  const auto cores = parse_cpu_max("150000 100000");
  const std::locale former = std::locale::global(std::locale(std::locale::classic(), new Commas));
  EXPECT_EQ(bytes_text(1536), usual);
  EXPECT_EQ(parse_cpu_max("150000 100000"), cores);
  EXPECT_EQ(parse_cpu_max("1.5 1.0"), 1.5);
  EXPECT_GT(available_memory(), 0);
  std::locale::global(former);
}

}  // namespace
}  // namespace narrowgauge::number_text_test
