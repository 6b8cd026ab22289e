// SPDX-License-Identifier: Apache-2.0
#include "cli/json_answer.h"

#include <gtest/gtest.h>

namespace narrowgauge::testing_cli {

testing_json::Json done(const Words& words, const Surroundings& surroundings) {
  const Result result = run(words, surroundings);
  EXPECT_EQ(result.code, 0) << result.err;
  return result.code == 0 ? testing_json::Json::parse(last_line(result.out)) : testing_json::Json{};
}

}  // namespace narrowgauge::testing_cli
