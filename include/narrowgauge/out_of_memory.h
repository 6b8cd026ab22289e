// SPDX-License-Identifier: Apache-2.0
// The error thrown before more memory is taken than the machine, the control group or the process
// limits leave.
#pragma once

#include <cstdint>
#include <string>

#include "narrowgauge/error.h"

namespace narrowgauge {

// What is asked for does not fit. Nothing was allocated.
struct NG_API OutOfMemoryError : DeviceError {
  // `message` says what needs how much.
  OutOfMemoryError(const std::string& message, std::int64_t needed_bytes,
                   std::int64_t available_bytes, std::int64_t batch = 0)
      : DeviceError(message),
        needed(needed_bytes),
        available(available_bytes),
        largest_batch(batch) {}

  std::int64_t needed, available;  // bytes
  std::int64_t largest_batch;      // that fits; 0: none does, or what was asked for has no batch
};

}  // namespace narrowgauge
