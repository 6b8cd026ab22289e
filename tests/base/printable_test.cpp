// SPDX-License-Identifier: Apache-2.0
// What reaches a terminal: nothing that moves its cursor, and UTF-8 throughout.
#include "base/text/printable.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "narrowgauge/error.h"

namespace narrowgauge::printable_test {
namespace {

TEST(printable, leaves_text_as_it_is) {
  for (const char* text : {"", "conv1.weight", "Größe", "重み", "\xf0\x9f\x99\x82"})
    EXPECT_EQ(printable(text), text);
}

TEST(printable, escapes_what_a_terminal_would_obey) {
  EXPECT_EQ(printable("a\x1b[2Jb\a\r\n\t\x7f"), "a\\x1b[2Jb\\x07\\x0d\\n\\t\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");           // CSI in one character
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // right-to-left override
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(printable, escapes_what_is_not_utf8) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("a\x80z"), "a\\x80z");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // two bytes where one would do
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xe9\x87"), "\\xe9\\x87");  // cut off
}

TEST(printable, leaves_out_the_middle_of_what_is_too_long) {
  const std::string text = std::string(50, 'a') + std::string(1000, 'x') + std::string(50, 'z');
  EXPECT_EQ(printable(text, 100),
            std::string(50, 'a') + " ... 1000 bytes ... " + std::string(50, 'z'));
  for (std::size_t most = 0; most < 9; ++most)  // no character is cut
    EXPECT_EQ(printable("é重é重", most).find('\\'), std::string::npos) << most;
}

TEST(printable, keeps_lines) {
  EXPECT_EQ(printable_lines("a\n\n\x1b\nb"), "a\n\n\\x1b\nb");
  EXPECT_EQ(printable_lines("a\n"), "a\n");
}

TEST(printable, leaves_nan_without_a_sign) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {nan, -nan}) {
    EXPECT_TRUE(std::isnan(printable(value)));
    EXPECT_FALSE(std::signbit(printable(value)));
    EXPECT_EQ(concat(value), "nan");
  }
  EXPECT_EQ(concat(printable(-1.5)), "-1.5");
  EXPECT_TRUE(std::signbit(printable(-0.0)));
}

}  // namespace
}  // namespace narrowgauge::printable_test
