// SPDX-License-Identifier: Apache-2.0
// A script in the place of the python that benchmarks ask for other libraries.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.h"

namespace narrowgauge::testing_cli {

class FakePython {
 public:
  explicit FakePython(const std::string& script) {
    testing_files::write_file(path_, script);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }

  // What the program does with it; the script sees the variables.
  Result run_with(Words words, const Words& more,
                  std::vector<std::pair<std::string, std::string>> variables) const {
    variables.emplace_back("NARROWGAUGE_TORCH_PYTHON", path_);
    words.insert(words.end(), more.begin(), more.end());
    return run(words, {.variables = variables});
  }

 private:
  testing_files::TemporaryFolder folder_;
  std::string path_ = folder_ / "python";
};

}  // namespace narrowgauge::testing_cli
