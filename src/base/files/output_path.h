// SPDX-License-Identifier: Apache-2.0
// Where a path that will be written leads, and temporary names for unfinished files.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace narrowgauge {

struct OutputPath {
  std::string target;                   // with symbolic links followed
  std::optional<struct stat> existing;  // what is there
  int descriptor = -1;                  // of ours, where the path names one, as /dev/stdout does
};

// Returns nothing and leaves `errno` set if the path cannot be followed.
std::optional<OutputPath> follow_output_path(const std::string& path);

// Twelve hexadecimal digits that nobody can guess.
std::string random_digits();
// "folder/.name.5d41402abc4b.tmp" for "folder/name", different at each call.
std::string temporary_path(const std::string& target);
// Whether a file's name is a temporary one made for `name`.
bool is_temporary_name(const std::string& file_name, const std::string& name);

}  // namespace narrowgauge
