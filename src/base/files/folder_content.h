// SPDX-License-Identifier: Apache-2.0
// What is in a folder. std::filesystem's own iterators end the program where memory ends.
#pragma once

#include <string>
#include <system_error>
#include <vector>

namespace narrowgauge {

// The names in a folder in no order; none where it cannot be read, and `error` then says why.
std::vector<std::string> names_in(const std::string& folder);
std::vector<std::string> names_in(const std::string& folder, std::error_code& error);

// Removes a file, a link or a folder with all that is in it, as far as this process may.
void remove_all(const std::string& path);

}  // namespace narrowgauge
