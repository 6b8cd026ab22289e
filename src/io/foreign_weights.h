// SPDX-License-Identifier: Apache-2.0
// Files of weights in other programs' formats: what they are, and how they become safetensors.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace narrowgauge {

// "is a checkpoint of PyTorch; ..." by a file's name and its first bytes, or "" where it looks like
// none of those that are known.
std::string foreign_weights_text(const std::string& path, std::span<const std::byte> first);

}  // namespace narrowgauge
