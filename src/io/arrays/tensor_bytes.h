// SPDX-License-Identifier: Apache-2.0
// The memory of a tensor as files hold it.
#pragma once

#include <span>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

inline std::span<std::byte> bytes_of(Tensor& tensor) {
  return {tensor.data(), static_cast<std::size_t>(tensor.bytes())};
}
inline std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {tensor.data(), static_cast<std::size_t>(tensor.bytes())};
}

}  // namespace narrowgauge
