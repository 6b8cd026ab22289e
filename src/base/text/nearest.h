// SPDX-License-Identifier: Apache-2.0
// Guesses at what a mistyped word meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace narrowgauge {

// The word that differs least from `word` or begins with it; "" if none is close.
std::string_view nearest(std::string_view word, std::span<const std::string> words);
// "; did you mean lenet?", or "" where none is close.
std::string suggestion(std::string_view word, std::span<const std::string> words);

}  // namespace narrowgauge
