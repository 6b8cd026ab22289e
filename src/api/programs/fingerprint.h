// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace narrowgauge {

// Which sources of kernels and ops this library has: 12 digits of their digest, written when it is
// built. Packed weights and choices of kernels on disk are those of one fingerprint.
const char* kernels_fingerprint();

}  // namespace narrowgauge
