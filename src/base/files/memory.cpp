// SPDX-License-Identifier: Apache-2.0
#include "base/files/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <system_error>

#include "base/machine/control_group.h"
#include "base/text/number_text.h"
#include "narrowgauge/out_of_memory.h"

namespace narrowgauge {
namespace {

// The number in a file that holds nothing else; nothing for "max".
std::optional<double> number_in(const std::filesystem::path& file) {
  std::istringstream stream(read_text(file).value_or(""));
  stream.imbue(std::locale::classic());
  double value = 0;
  if (!(stream >> value)) return {};
  return value;
}

// The number after a word at the start of a line; 0 if there is none.
double entry(const std::filesystem::path& file, std::string_view wanted) {
  std::istringstream stream(read_text(file).value_or(""));
  std::string line;
  while (std::getline(stream, line)) {
    std::istringstream words(line);
    words.imbue(std::locale::classic());
    std::string word;
    double value = 0;
    if (words >> word >> value && word == wanted) return value;
  }
  return 0;
}

// Version 1 reports almost 2^63 when there is no limit.
constexpr double no_limit = 1e18;

std::optional<double> left_of(const std::filesystem::path& group) {
  std::error_code ignored;
  const bool second = std::filesystem::exists(group / "memory.current", ignored);
  const auto limit = number_in(group / (second ? "memory.max" : "memory.limit_in_bytes"));
  if (!limit || *limit > no_limit) return {};
  const auto used = number_in(group / (second ? "memory.current" : "memory.usage_in_bytes"));
  if (!used) return {};
  const auto file = group / "memory.stat";
  const double cache = entry(file, second ? "inactive_file" : "total_inactive_file") +
                       entry(file, second ? "active_file" : "total_active_file");
  return std::max(0.0, *limit - *used + cache);
}

}  // namespace

std::optional<std::int64_t> control_group_memory(const std::filesystem::path& mount,
                                                 std::string_view membership) {
  const auto left = tightest_group_limit(mount, membership, "memory", left_of);
  if (!left) return {};
  return static_cast<std::int64_t>(*left);
}

namespace {

std::int64_t of_machine(const char* what) {
  return static_cast<std::int64_t>(entry("/proc/meminfo", what) * 1024);
}

// How much of the address space that `ulimit -v` allows is left.
std::int64_t address_space_left() {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return any;
  const double used =
      number_in("/proc/self/statm").value_or(0) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return std::max<std::int64_t>(
      0, static_cast<std::int64_t>(limit.rlim_cur) - static_cast<std::int64_t>(used));
}

}  // namespace

std::int64_t available_memory() {
  const auto of_group = control_group_memory(control_group_mount, control_group_membership());
  const std::int64_t free = of_machine("MemAvailable:");
  return std::min({free, of_group.value_or(free), address_space_left()});
}

std::int64_t obtainable_memory() {
  const auto of_group = control_group_memory(control_group_mount, control_group_membership());
  const std::int64_t free = of_machine("MemAvailable:");
  const std::int64_t most = of_group ? std::min(free, *of_group) : free + of_machine("SwapFree:");
  return std::min(most, address_space_left());
}

std::int64_t MemoryNeed::total() const {
  std::int64_t bytes = 0;
  for (const auto& part : parts) bytes += part.second;
  return bytes;
}

std::int64_t resident_bytes() {
  std::istringstream pages(read_text("/proc/self/statm").value_or(""));
  pages.imbue(std::locale::classic());
  std::int64_t all = 0, resident = 0;
  pages >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::optional<std::int64_t> too_little_for(std::int64_t bytes) {
  if (bytes < worth_asking) return {};
  const std::int64_t room = obtainable_memory();
  return bytes > room ? std::optional(room) : std::nullopt;
}

void refuse_memory(const MemoryNeed& need, std::int64_t available,
                   std::optional<std::int64_t> largest_batch) {
  std::string text = concat("memory: ", need.who, " needs ", bytes_text(need.total()));
  const char* before = ": ";
  for (const auto& [what, bytes] : need.parts) {
    if (what.empty() || bytes < need.total() / 1000) continue;
    text += concat(before, what, ' ', bytes_text(bytes));
    before = ", ";
  }
  text += concat("; ", bytes_text(available), " can be had");
  if (largest_batch)
    text += *largest_batch > 0 ? concat("; batch ", *largest_batch, " fits")
                               : "; not even batch 1 fits";
  throw OutOfMemoryError(text, need.total(), available, largest_batch.value_or(0));
}

void require_memory(const MemoryNeed& need) {
  if (const auto room = too_little_for(need.total())) refuse_memory(need, *room);
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes < 1024) return concat(bytes, " B");
  constexpr std::array<const char*, 4> units{"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return concat(fixed_text(value, value < 100 ? 1 : 0), ' ', units[unit]);
}

}  // namespace narrowgauge
