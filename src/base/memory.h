// SPDX-License-Identifier: Apache-2.0
// How much memory this process can still have: of the machine's, under the limit of its control
// group, and under its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace narrowgauge {

// Bytes from here to the tightest limit along the group's path; its page cache counts as free.
// Empty without a limit. `mount` and `membership` as in cores.h. Versions 1 and 2.
std::optional<std::int64_t> control_group_memory(const std::filesystem::path& mount,
                                                 std::string_view membership);

// Bytes that could be had now without swapping.
std::int64_t available_memory();

// Bytes that could be had now before somebody ends this process or refuses: with swap where no
// control group sets a limit.
std::int64_t obtainable_memory();

std::string bytes_text(std::int64_t bytes);  // "12.3 MiB"

}  // namespace narrowgauge
