// SPDX-License-Identifier: Apache-2.0
#include "api/runs/run_layout.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>

#include "base/files/folder_content.h"

namespace narrowgauge {

namespace fs = std::filesystem;

std::int64_t checkpoint_number(const std::string& name) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc{} && end == name.data() + name.size() ? number : 0;
}

std::string name_of_checkpoint(std::int64_t number) {
  constexpr std::size_t width = 6;
  const std::string digits = std::to_string(number);
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

std::vector<std::int64_t> numbers_in(const std::string& run) {
  std::vector<std::int64_t> numbers;
  for (const std::string& name : names_in(path_in(run, checkpoints_folder)))
    if (checkpoint_number(name) > 0) numbers.push_back(checkpoint_number(name));
  std::ranges::sort(numbers, std::greater{});
  return numbers;
}

std::string checkpoint_path(const std::string& run, std::int64_t number) {
  return path_in(path_in(run, checkpoints_folder), name_of_checkpoint(number));
}

bool is_link(const std::string& path) {
  std::error_code ignored;
  return fs::is_symlink(path, ignored);
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

}  // namespace narrowgauge
