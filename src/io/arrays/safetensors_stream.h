// SPDX-License-Identifier: Apache-2.0
// Reads and writes safetensors in files that are already open.
#pragma once

#include "base/files/atomic_file.h"
#include "io/files/input_file.h"
#include "narrowgauge/safetensors.h"

namespace narrowgauge {

TensorFile read_safetensors(InputFile& file);  // all its bytes, in order
void write_safetensors(AtomicFile& file, const TensorFile& content);

}  // namespace narrowgauge
