// SPDX-License-Identifier: Apache-2.0
// Text from files and command lines, and numbers, made fit for a terminal or a log.
#pragma once

#include <string>
#include <string_view>

namespace narrowgauge {

// Control characters, those that turn the direction of writing, and what is not UTF-8 become
// "\n", "\t" or bytes as "\x1b". Of more than `most` bytes the middle is left out, which is said.
std::string printable(std::string_view text, std::size_t most = std::string_view::npos);

// The same for each line of a text; line feeds stay.
std::string printable_lines(std::string_view text);

// NaN without its sign, which says nothing: x86 gives 0 / 0 one, and an addition keeps it.
double printable(double value);

}  // namespace narrowgauge
