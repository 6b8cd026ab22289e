// SPDX-License-Identifier: Apache-2.0
#include "base/machine/control_group.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

std::optional<double> tighter(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// A container often sees its own group as the root, and a path in /proc that does not exist;
// missing folders limit nothing.
std::optional<double> tightest_along(const std::filesystem::path& root, std::string_view path,
                                     const GroupLimit& limit) {
  std::optional<double> tightest = limit(root);
  std::filesystem::path group = root;
  for (const auto& part : std::filesystem::path(path).relative_path())
    tightest = tighter(tightest, limit(group /= part));
  return tightest;
}

}  // namespace

std::optional<std::string> read_text(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) return {};
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string control_group_membership() { return read_text("/proc/self/cgroup").value_or(""); }

std::optional<double> tightest_group_limit(const std::filesystem::path& mount,
                                           std::string_view membership, std::string_view controller,
                                           const GroupLimit& limit) {
  std::optional<double> tightest;
  std::istringstream lines{std::string(membership)};
  const std::string wanted = concat(',', controller, ',');
  for (std::string line; std::getline(lines, line);) {  // "0::/path" or "4:cpu,cpuacct:/path"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = concat(',', line.substr(first + 1, second - first - 1), ',');
    const std::string_view path = std::string_view(line).substr(second + 1);
    if (controllers == ",,") tightest = tighter(tightest, tightest_along(mount, path, limit));
    if (controllers.find(wanted) != std::string::npos)
      tightest = tighter(tightest, tightest_along(mount / controller, path, limit));
  }
  return tightest;
}

}  // namespace narrowgauge
