// SPDX-License-Identifier: Apache-2.0
// The workspace of a kernel, filled with NaN, and behind it bytes that the kernel must leave alone.
#pragma once

#include <cstring>

#include "narrowgauge/tensor.h"
#include "support/guard.h"

namespace narrowgauge::testing_support {

class GuardedWorkspace {
 public:
  explicit GuardedWorkspace(std::int64_t bytes)
      : bytes_(bytes), memory_(DType::u8, {bytes + guard_bytes}) {
    std::memset(memory_.data(), filling, static_cast<std::size_t>(memory_.bytes()));
  }
  std::byte* data() { return memory_.data(); }
  bool guard_holds() const { return all_bytes_are(filling, memory_.data() + bytes_, guard_bytes); }

 private:
  static constexpr unsigned char filling = 0xff;
  static constexpr std::int64_t guard_bytes = 4096;
  std::int64_t bytes_;
  Tensor memory_;
};

}  // namespace narrowgauge::testing_support
