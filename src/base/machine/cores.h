// SPDX-License-Identifier: Apache-2.0
// How many cores this process may use: its affinity mask, and the quota of its control group.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace narrowgauge {

// Cores' worth of time in cpu.max ("200000 100000"); empty without a limit ("max 100000").
std::optional<double> parse_cpu_max(std::string_view text);

// The tightest limit along the group's path, for versions 1 and 2. `mount` is where control groups
// are mounted (/sys/fs/cgroup), `membership` the text of /proc/self/cgroup.
std::optional<double> control_group_cores(const std::filesystem::path& mount,
                                          std::string_view membership);

// Cores in the calling thread's mask, or in all places where OpenMP has bound the thread to one.
int affinity_cores();

}  // namespace narrowgauge
