// SPDX-License-Identifier: Apache-2.0
// XXH64 (Yann Collet, xxHash), a hash at nearly the speed of memory: it tells contents apart and
// finds damage. Unlike SHA-256 it does not withstand somebody who looks for equal ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace narrowgauge {

// Several contents are hashed as one where the hash of each is the seed of the next.
std::uint64_t xxh64(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace narrowgauge
