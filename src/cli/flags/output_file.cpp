// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/output_file.h"

#include <algorithm>
#include <filesystem>

#include "api/runs/checkpoint_files.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

namespace fs = std::filesystem;

// The path with links followed and without dots; "" where that cannot be done.
fs::path real_path(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  const fs::path real = error ? fs::path() : fs::weakly_canonical(absolute, error);
  return error ? fs::path() : real;
}

bool lies_in(const fs::path& inner, const fs::path& outer) {
  const auto [end, ignored] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return !outer.empty() && end == outer.end();
}

}  // namespace

void require_apart(std::string_view flag, const std::optional<std::string>& output,
                   const std::vector<std::string>& inputs) {
  if (!output) return;
  std::error_code ignored;
  for (const std::string& input : inputs)
    require(fs::is_directory(input, ignored) || !fs::equivalent(input, *output, ignored), flag,
            ": ", *output, " is what is read; name another file");
  const fs::path real = real_path(*output);
  require(!fs::exists(real.parent_path() / manifest_file, ignored), flag, ": ", *output,
          " is of a checkpoint, which stays as it is; name another file");
}

void require_folder_apart(std::string_view flag, const std::string& folder,
                          const std::vector<std::string>& inputs) {
  const fs::path real = real_path(folder);
  std::error_code ignored;
  for (const std::string& input : inputs) {
    if (!fs::exists(input, ignored)) continue;
    const fs::path read = real_path(input);
    const fs::path within = fs::is_directory(read, ignored) ? read : read.parent_path();
    const bool apart = fs::is_directory(read, ignored) ? !lies_in(real, within) : real != within;
    require(apart, flag, ": ", folder, " holds what is read; name another folder");
  }
}

}  // namespace narrowgauge::cli
