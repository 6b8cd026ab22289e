// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <system_error>

#include "base/control_group.h"

namespace narrowgauge {
namespace {

// The number in a file that holds nothing else ("max" is none).
std::optional<double> number_in(const std::filesystem::path& file) {
  std::istringstream stream(read_text(file).value_or(""));
  double value = 0;
  if (!(stream >> value)) return {};
  return value;
}

// The number after a word at the beginning of a line; 0 where there is none.
double entry(const std::filesystem::path& file, std::string_view wanted) {
  std::istringstream stream(read_text(file).value_or(""));
  std::string line;
  while (std::getline(stream, line)) {
    std::istringstream words(line);
    std::string word;
    double value = 0;
    if (words >> word >> value && word == wanted) return value;
  }
  return 0;
}

// Without a limit version 1 says almost 2^63.
constexpr double no_limit = 1e18;

std::optional<double> left_of(const std::filesystem::path& group) {
  std::error_code ignored;
  const bool second = std::filesystem::exists(group / "memory.current", ignored);
  const auto limit = number_in(group / (second ? "memory.max" : "memory.limit_in_bytes"));
  const auto used = number_in(group / (second ? "memory.current" : "memory.usage_in_bytes"));
  if (!limit || !used || *limit > no_limit) return {};
  const double cache =
      entry(group / "memory.stat", second ? "inactive_file" : "total_inactive_file");
  return std::max(0.0, *limit - *used + cache);
}

}  // namespace

std::optional<std::int64_t> control_group_memory(const std::filesystem::path& mount,
                                                 std::string_view membership) {
  const auto left = tightest_group_limit(mount, membership, "memory", left_of);
  if (!left) return {};
  return static_cast<std::int64_t>(*left);
}

std::int64_t available_memory() {
  const auto of_machine = static_cast<std::int64_t>(entry("/proc/meminfo", "MemAvailable:") * 1024);
  const auto of_group = control_group_memory(control_group_mount, control_group_membership());
  return of_group ? std::min(of_machine, *of_group) : of_machine;
}

}  // namespace narrowgauge
