// SPDX-License-Identifier: Apache-2.0
// How much memory this process can still get: from the machine, under the limit of its control
// group, and under its own limits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace narrowgauge {

// Bytes left below the tightest limit along the group's path (versions 1 and 2); its page cache
// counts as free. Empty without a limit. `mount` and `membership` as in cores.h.
std::optional<std::int64_t> control_group_memory(const std::filesystem::path& mount,
                                                 std::string_view membership);

// Bytes that are available now without swapping.
std::int64_t available_memory();

// Bytes that can be taken now before the system kills the process or refuses; includes swap if no
// control group sets a limit.
std::int64_t obtainable_memory();

// Bytes of the machine's memory that this process holds now.
std::int64_t resident_bytes();

// What somebody is about to take, in bytes; parts that are small or have no name only count in the
// total.
struct MemoryNeed {
  std::string who;
  std::vector<std::pair<std::string_view, std::int64_t>> parts;
  std::int64_t total() const;
};

// Smaller requests are not checked: using the memory takes no longer than asking for it.
inline constexpr std::int64_t worth_asking = std::int64_t{16} << 20;

// The bytes available if they are too few; nothing if they suffice or `bytes` is too small to
// check.
std::optional<std::int64_t> too_little_for(std::int64_t bytes);

// Throws OutOfMemoryError, "memory: WHO needs 3.2 GiB: activations 2.1 GiB, ...; 1.9 GiB can be
// had; batch 2300 fits"; the last part only if a batch is given.
[[noreturn]] void refuse_memory(const MemoryNeed& need, std::int64_t available,
                                std::optional<std::int64_t> largest_batch = {});
// Throws OutOfMemoryError if less is available. The system would hand the memory out, and later
// kill without a word the process that uses it.
void require_memory(const MemoryNeed& need);

std::string bytes_text(std::int64_t bytes);  // "12.3 MiB"

}  // namespace narrowgauge
