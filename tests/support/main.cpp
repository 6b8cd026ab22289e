// SPDX-License-Identifier: Apache-2.0
// The program of a folder of tests: ops_tests runs all of them, `ops_tests ops/conv_test.cpp` those
// of one source.
#include <gtest/gtest.h>

#include <iostream>
#include <string>

namespace {

// GoogleTest's filter for the tests of a source; empty where it has none.
std::string tests_in(const std::string& source) {
  std::string filter;
  const testing::UnitTest& program = *testing::UnitTest::GetInstance();
  for (int i = 0; i < program.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *program.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      if (std::string_view(test.file()).ends_with("/" + source))
        filter += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

}  // namespace

int main(int count, char** words) {
  testing::InitGoogleTest(&count, words);
  // A death test starts this program again with a filter of its own.
  if (count > 1 && GTEST_FLAG_GET(filter) == "*") {
    const std::string filter = tests_in(words[1]);
    if (filter.empty()) {
      std::cerr << "error: no test of " << words[1] << " is in this program\n";
      return 2;
    }
    GTEST_FLAG_SET(filter, filter);
  }
  return RUN_ALL_TESTS();
}
