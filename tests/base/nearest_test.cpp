// SPDX-License-Identifier: Apache-2.0
#include "base/text/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace narrowgauge::nearest_test {
namespace {

const std::vector<std::string> words{"lenet", "resnet20", "resnet50", "Relu", "MaxPool"};

TEST(nearest, is_the_word_with_the_fewest_changes) {
  EXPECT_EQ(nearest("lennet", words), "lenet");
  EXPECT_EQ(nearest("resnet5", words), "resnet50");
  EXPECT_EQ(nearest("relu", words), "Relu");
  EXPECT_EQ(nearest("rleu", std::vector<std::string>{"Elu", "Relu"}), "Relu");
  EXPECT_EQ(nearest("maxpool", words), "MaxPool");
  EXPECT_EQ(nearest("resnet", words), "resnet20");
}

TEST(nearest, is_nothing_where_no_word_is_close) {
  EXPECT_EQ(nearest("transformer", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest("lenet", {}), "");
  EXPECT_EQ(nearest(std::string(100000, 'x'), words), "");
}

TEST(nearest, is_told_as_a_question) {
  EXPECT_EQ(suggestion("lennet", words), "; did you mean lenet?");
  EXPECT_EQ(suggestion("transformer", words), "");
}

}  // namespace
}  // namespace narrowgauge::nearest_test
