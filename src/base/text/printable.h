// SPDX-License-Identifier: Apache-2.0
// Text from files and command lines, and numbers, made fit for a terminal or a log.
#pragma once

#include <string>
#include <string_view>

namespace narrowgauge {

// Replaces control characters, those that change the direction of writing, and what is not UTF-8 by
// "\n", "\t" or bytes such as "\x1b". Beyond `most` bytes the middle is left out, with a note.
std::string printable(std::string_view text, std::size_t most = std::string_view::npos);

// Makes each line of a text printable; line feeds stay.
std::string printable_lines(std::string_view text);

// Removes the sign of NaN, which says nothing: x86 gives 0 / 0 one, and an addition keeps it.
double printable(double value);

}  // namespace narrowgauge
