// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), the checksum of checkpoints and weights.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace narrowgauge {

class Sha256 {
 public:
  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text) { return update(std::as_bytes(std::span(text))); }
  std::array<std::uint8_t, 32> digest() const;  // of what came so far; update may go on
  std::string hex() const;                      // the digest as 64 lower-case digits

 private:
  using Block = std::array<std::uint8_t, 64>;
  void compress(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  Block pending_{};
  std::uint64_t length_ = 0;  // bytes so far; length_ % 64 of them are pending
};

std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(std::string_view text);

}  // namespace narrowgauge
