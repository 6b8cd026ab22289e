// SPDX-License-Identifier: Apache-2.0
// Walks the control groups of this process, which limit it in a container.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace narrowgauge {

// The text of a file; empty if it cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& file);
inline constexpr const char* control_group_mount = "/sys/fs/cgroup";
std::string control_group_membership();  // the text of /proc/self/cgroup

// Reads what a group allows from its folder; empty: no limit.
using GroupLimit = std::function<std::optional<double>(const std::filesystem::path& group)>;

// The tightest limit of the groups along the path of this process. `mount` is where control groups
// are mounted, `membership` the text of /proc/self/cgroup, `controller` its name in version 1.
std::optional<double> tightest_group_limit(const std::filesystem::path& mount,
                                           std::string_view membership, std::string_view controller,
                                           const GroupLimit& limit);

}  // namespace narrowgauge
