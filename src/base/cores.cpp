// SPDX-License-Identifier: Apache-2.0
#include "base/cores.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

std::optional<std::string> read_text(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) return {};
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::optional<double> limit_of(const std::filesystem::path& group) {
  if (const auto text = read_text(group / "cpu.max")) return parse_cpu_max(*text);
  const auto quota = read_text(group / "cpu.cfs_quota_us");  // version 1; -1 without a limit
  const auto period = read_text(group / "cpu.cfs_period_us");
  if (!quota || !period) return {};
  return parse_cpu_max(*quota + " " + *period);
}

std::optional<double> tighter(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// A container often sees its own group as the root, and a path in /proc that is not there: folders
// that do not exist limit nothing.
std::optional<double> tightest_along(const std::filesystem::path& root, std::string_view path) {
  std::optional<double> limit = limit_of(root);
  std::filesystem::path group = root;
  for (const auto& part : std::filesystem::path(path).relative_path())
    limit = tighter(limit, limit_of(group /= part));
  return limit;
}

}  // namespace

std::optional<double> parse_cpu_max(std::string_view text) {
  std::istringstream stream{std::string(text)};
  double quota = 0, period = 0;
  if (!(stream >> quota >> period) || quota <= 0 || period <= 0) return {};
  return quota / period;
}

std::optional<double> control_group_cores(const std::filesystem::path& mount,
                                          std::string_view membership) {
  std::optional<double> limit;
  std::istringstream lines{std::string(membership)};
  for (std::string line; std::getline(lines, line);) {  // "0::/path" or "4:cpu,cpuacct:/path"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = concat(',', line.substr(first + 1, second - first - 1), ',');
    const std::string_view path = std::string_view(line).substr(second + 1);
    if (controllers == ",,") limit = tighter(limit, tightest_along(mount, path));
    if (controllers.find(",cpu,") != std::string::npos)
      limit = tighter(limit, tightest_along(mount / "cpu", path));
  }
  return limit;
}

int affinity_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace narrowgauge
