// SPDX-License-Identifier: Apache-2.0
// What a text holds.
#pragma once

#include <string>

namespace narrowgauge::cli {

// Whether a path is a text by its name: a file .txt, plain or gzipped, or a folder with train.txt.
bool is_text(const std::string& path);

// Prints bytes, characters, words and lines of both parts, and what is no UTF-8. Throws DataError.
void print_text_survey(const std::string& path, bool as_json);

}  // namespace narrowgauge::cli
