// SPDX-License-Identifier: Apache-2.0
// Recognises weight files of other programs and says how to convert them to safetensors.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace narrowgauge {

// "is a checkpoint of PyTorch; ..." by a file's name and first bytes, or "" if it looks like no
// known format.
std::string foreign_weights_text(const std::string& path, std::span<const std::byte> first);

}  // namespace narrowgauge
