// SPDX-License-Identifier: Apache-2.0
// Model files of ONNX that lie in memory.
#pragma once

#include "io/onnx/model.h"
#include "narrowgauge/model.h"

namespace narrowgauge {

// Reads a copy of the bytes and of the files that the model asks for. With Mapping::change_copy,
// tensors of it may lie in the copy. Throws DataError as reading a file does, and for external data
// where nobody gives them.
onnx::Model read_onnx(std::span<const std::byte> bytes, const OnnxMemory& memory,
                      Mapping mapping = Mapping::read);

}  // namespace narrowgauge
