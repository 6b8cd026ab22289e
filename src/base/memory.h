// SPDX-License-Identifier: Apache-2.0
// How much memory this process can still have: of the machine's, under the limit of its control
// group, and under its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// What somebody is about to take, in bytes; parts that are small or have no name are only
// counted.
struct MemoryNeed {
  std::string who;
  std::vector<std::pair<std::string_view, std::int64_t>> parts;
  std::int64_t total() const;
};

// Fewer bytes than these are used up in no more time than it takes to ask for them.
inline constexpr std::int64_t worth_asking = std::int64_t{16} << 20;

// What can be had, where that is less. Nothing where it suffices, or was not worth asking.
std::optional<std::int64_t> too_little_for(std::int64_t bytes);

// Throws OutOfMemoryError, "memory: WHO needs 3.2 GiB: activations 2.1 GiB, ...; 1.9 GiB can be
// had; batch 2300 fits"; without the last where no batch is given.
[[noreturn]] void refuse_memory(const MemoryNeed& need, std::int64_t available,
                                std::optional<std::int64_t> largest_batch = {});
// Does so where less can be had: the system would hand the memory out, and end without a word the
// process that then uses it.
void require_memory(const MemoryNeed& need);

std::string bytes_text(std::int64_t bytes);  // "12.3 MiB"

}  // namespace narrowgauge
