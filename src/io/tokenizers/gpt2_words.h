// SPDX-License-Identifier: Apache-2.0
// How GPT-2 cuts a text before it merges bytes.
#pragma once

#include <string_view>

namespace narrowgauge {

// Removes and returns the first word of a text that is not empty, as this expression matches it:
//   '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// A byte that is no UTF-8 counts as one of the fourth kind.
std::string_view take_gpt2_word(std::string_view& text);

}  // namespace narrowgauge
