// SPDX-License-Identifier: Apache-2.0
// What the program answers in JSON.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace narrowgauge::testing_cli {

// The last line of a run that must succeed.
inline nlohmann::json done(const Words& words, const Surroundings& surroundings = {}) {
  const Result result = run(words, surroundings);
  EXPECT_EQ(result.code, 0) << result.err;
  return result.code == 0 ? nlohmann::json::parse(last_line(result.out)) : nlohmann::json{};
}

}  // namespace narrowgauge::testing_cli
