// SPDX-License-Identifier: Apache-2.0
// Opens files for reading: what is no file is refused at once, and a pipe without a writer does not
// block.
#pragma once

#include <string>

#include "base/files/descriptor.h"

namespace narrowgauge {

// Throws DataError, "PATH: expected a file, found a folder",
// for what cannot be read or is no regular file.
Descriptor open_regular_file(const std::string& path);

// Reads a whole text that people or this program wrote; pipes such as /dev/stdin or the shell's
// <(...) are read to their end. Throws DataError, also beyond 256 MiB.
std::string read_text_file(const std::string& path);

}  // namespace narrowgauge
