// SPDX-License-Identifier: Apache-2.0
// Vocabularies and merges in files that other programs wrote.
#pragma once

#include <string>
#include <vector>

namespace narrowgauge {

// The lines of a vocabulary, each a token. Throws DataError naming a line that is empty, too long,
// no UTF-8, or holds a NUL.
std::vector<std::string> read_token_lines(const std::string& path);
// The tokens of {"token": number, ...} in the order of their numbers, which are 0, 1, 2, ...
std::vector<std::string> read_token_json(const std::string& path);
// The lines "a b" of merges, without a line "#version: ...".
std::vector<std::string> read_merge_lines(const std::string& path);

}  // namespace narrowgauge
