// SPDX-License-Identifier: Apache-2.0
// Safetensors from and to files that are open already.
#pragma once

#include "base/atomic_file.h"
#include "io/input_file.h"
#include "narrowgauge/safetensors.h"

namespace narrowgauge {

TensorFile read_safetensors(InputFile& file);  // all its bytes, in order
void write_safetensors(AtomicFile& file, const TensorFile& content);

}  // namespace narrowgauge
