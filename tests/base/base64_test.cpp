// SPDX-License-Identifier: Apache-2.0
#include "base/text/base64.h"

#include <gtest/gtest.h>

namespace narrowgauge::base64_test {
namespace {

// The vectors of RFC 4648, section 10.
TEST(base64, is_that_of_the_rfc) {
  const char* const pairs[][2] = {{"", ""},
                                  {"f", "Zg=="},
                                  {"fo", "Zm8="},
                                  {"foo", "Zm9v"},
                                  {"foob", "Zm9vYg=="},
                                  {"fooba", "Zm9vYmE="},
                                  {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : pairs) EXPECT_EQ(base64(bytes), text);
}

TEST(base64, takes_bytes_of_every_value) {
  EXPECT_EQ(base64(std::string_view("\xFF\xFE\x00\x80", 4)), "//4AgA==");
}

}  // namespace
}  // namespace narrowgauge::base64_test
