// SPDX-License-Identifier: Apache-2.0
// How GPT-2's files write bytes: printable bytes of Latin-1 as themselves, the others in their
// order as the characters from U+0100 on.
#pragma once

#include <string>
#include <string_view>

namespace narrowgauge {

std::string letter_of(unsigned char byte);
// The bytes of such letters; what is none stays as it is.
std::string bytes_of_letters(std::string_view letters);

}  // namespace narrowgauge
