// SPDX-License-Identifier: Apache-2.0
// Trainings of a small network on small images, as a user starts them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "cli/json_answer.h"
#include "cli/program.h"
#include "cli/tiny_data.h"
#include "support/json.h"

namespace narrowgauge::testing_cli {

using testing_files::TemporaryFolder;
using testing_json::Json;

class Training : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    write_tiny_data(data());
  }
  static void TearDownTestSuite() { delete folder_; }
  static std::string data() { return *folder_ / "data"; }

  static Words train(const Words& more) {
    Words words{"train", "--model", "mlp", "--data", data(), "--epochs", "2", "--batch", "32"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static Words quiet_json(const Words& more) {
    Words words = train(more);
    words.insert(words.end(), {"--json", "--quiet"});
    return words;
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

}  // namespace narrowgauge::testing_cli
