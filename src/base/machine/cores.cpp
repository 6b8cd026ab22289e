// SPDX-License-Identifier: Apache-2.0
#include "base/machine/cores.h"

#include <sched.h>

#include <algorithm>
#include <locale>
#include <sstream>
#include <string>
#include <thread>

#include "base/machine/control_group.h"
#include "base/machine/openmp.h"

namespace narrowgauge {
namespace {

std::optional<double> limit_of(const std::filesystem::path& group) {
  if (const auto text = read_text(group / "cpu.max")) return parse_cpu_max(*text);
  const auto quota = read_text(group / "cpu.cfs_quota_us");  // version 1; -1 without a limit
  const auto period = read_text(group / "cpu.cfs_period_us");
  if (!quota || !period) return {};
  return parse_cpu_max(*quota + " " + *period);
}

}  // namespace

std::optional<double> parse_cpu_max(std::string_view text) {
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  double quota = 0, period = 0;
  if (!(stream >> quota >> period) || quota <= 0 || period <= 0) return {};
  return quota / period;
}

std::optional<double> control_group_cores(const std::filesystem::path& mount,
                                          std::string_view membership) {
  return tightest_group_limit(mount, membership, "cpu", limit_of);
}

int affinity_cores() {
  if (const auto places = openmp_places()) return std::max(1, CPU_COUNT(&*places));
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace narrowgauge
