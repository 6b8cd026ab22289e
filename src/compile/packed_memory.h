// SPDX-License-Identifier: Apache-2.0
// Remembers what kernels packed from weights, so that it is packed once for several plans or
// processes.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace narrowgauge {

// 64-byte aligned; nobody changes them.
using PackedBytes = std::shared_ptr<const std::byte>;

// Equal keys have equal bytes.
struct PackedKey {
  std::string name;           // PlanPacking::name, which has a digest of the format
  std::uint64_t sources = 0;  // hash of types and values of what is packed
  std::int64_t bytes = 0;
  auto operator<=>(const PackedKey&) const = default;
};

class PackedMemory {
 public:
  virtual ~PackedMemory() = default;
  virtual PackedBytes find(const PackedKey& key) = 0;  // nullptr: not known
  virtual void keep(const PackedKey& key, const PackedBytes& packed) = 0;
};

}  // namespace narrowgauge
