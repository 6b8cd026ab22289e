// SPDX-License-Identifier: Apache-2.0
// How messages are put together, and the two checks that throw them.
#include "narrowgauge/error.h"

#include <gtest/gtest.h>

#include <limits>

#include "narrowgauge/kernel.h"

namespace narrowgauge::error_test {
namespace {

TEST(concat, joins_what_has_a_text) {
  EXPECT_EQ(concat("a", std::string("b"), std::string_view("c"), 'd'), "abcd");
  EXPECT_EQ(concat(true, ' ', false), "true false");
  EXPECT_EQ(concat(-3, ' ', std::uint64_t{18446744073709551615U}), "-3 18446744073709551615");
  EXPECT_EQ(concat(0.5, ' ', 1e300, ' ', std::numeric_limits<double>::infinity()),
            "0.5 1e+300 inf");
  EXPECT_EQ(concat(std::vector<int>{1, 2, 3}, std::vector<std::string>{}), "[1,2,3][]");
  EXPECT_EQ(concat(std::vector<std::vector<int>>{{1}, {2, 3}}), "[[1],[2,3]]");
  EXPECT_EQ(concat(), "");
}

TEST(concat, joins_the_types_of_the_library) {
  EXPECT_EQ(concat(DType::bf16, ' ', Dim::symbol("N") + 1, ' ', TensorType::parse("f32[N,3]"), ' ',
                   Math::tf32x3, ' ', Storage::channels_last(4)),
            "bf16 N+1 f32[N,3] tf32x3 0231");
}

template <class Error>
std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(require, throws_its_message_as_the_error_that_is_named) {
  EXPECT_NO_THROW(require(true, "not this"));
  EXPECT_EQ(message_of<UsageError>([] { require(false, "axis ", 3, " is outside ", "f32[2]"); }),
            "axis 3 is outside f32[2]");
  EXPECT_EQ(message_of<DataError>([] { require<DataError>(false, "damaged"); }), "damaged");
  EXPECT_EQ(message_of<DeviceError>([] { require<DeviceError>(false, "gone"); }), "gone");
}

// A caller that catches UsageError must see what files and models did wrong, but not our own bugs.
TEST(error, what_the_caller_can_mend_is_a_usage_error) {
  EXPECT_THROW(throw ModelError("m"), UsageError);
  EXPECT_THROW(throw DataError("d"), UsageError);
  EXPECT_FALSE((std::is_base_of_v<UsageError, DivergedError>));
  EXPECT_FALSE((std::is_base_of_v<UsageError, DeviceError>));
  EXPECT_FALSE((std::is_base_of_v<UsageError, CheckError>));
  EXPECT_FALSE((std::is_base_of_v<std::runtime_error, InternalError>));
}

TEST(invariant, names_its_place_and_the_condition) {
  const int one = 1;
  EXPECT_NO_THROW(NG_INVARIANT(one == 1));
  const std::string message = message_of<InternalError>([&] { NG_INVARIANT(one == 2); });
  EXPECT_NE(message.find("error_test.cpp:"), std::string::npos) << message;
  EXPECT_TRUE(message.ends_with(": invariant broken: one == 2")) << message;
}

}  // namespace
}  // namespace narrowgauge::error_test
