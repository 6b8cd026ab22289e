// SPDX-License-Identifier: Apache-2.0
// What a command writes takes the place neither of what it reads nor of a part of a checkpoint.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace narrowgauge::cli {

// Throws UsageError naming the flag where the file is one of the inputs, or of a checkpoint, also
// by a link. Inputs that are no paths are passed over.
void require_apart(std::string_view flag, const std::optional<std::string>& output,
                   const std::vector<std::string>& inputs);

// Throws as require_apart() for a folder that files are written into: no input may lie in it, nor
// it in an input.
void require_folder_apart(std::string_view flag, const std::string& folder,
                          const std::vector<std::string>& inputs);

}  // namespace narrowgauge::cli
