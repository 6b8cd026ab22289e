// SPDX-License-Identifier: Apache-2.0
// How much memory this process can still have: of the machine's, and under the limit of its control
// group.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace narrowgauge {

// Bytes from here to the tightest limit along the group's path; its page cache counts as free.
// Empty without a limit. `mount` and `membership` as in cores.h. Versions 1 and 2.
std::optional<std::int64_t> control_group_memory(const std::filesystem::path& mount,
                                                 std::string_view membership);

// Bytes that could be had now without swapping.
std::int64_t available_memory();

}  // namespace narrowgauge
