// SPDX-License-Identifier: Apache-2.0
// A position in a text that is being parsed; its errors quote the text and the position.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "narrowgauge/error.h"

namespace narrowgauge {

constexpr bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class TextCursor {
 public:
  // `subject` names in errors what is being parsed. Both views must outlive the cursor.
  TextCursor(std::string_view subject, std::string_view text) : subject_(subject), text_(text) {}

  std::string_view rest() const { return text_.substr(position_); }

  // Takes the character if it comes next, after any spaces.
  bool take(char c) {
    skip_spaces();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  // The letters, digits and '_' that come next; may be empty.
  std::string_view take_word() {
    skip_spaces();
    const std::size_t begin = position_;
    while (position_ < text_.size() && is_word_character(text_[position_])) ++position_;
    return text_.substr(begin, position_ - begin);
  }

  std::int64_t number(std::string_view word) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    check(error == std::errc() && end == word.data() + word.size(), "a number of 64 bits");
    return value;
  }

  void expect_end() {
    skip_spaces();
    check(position_ == text_.size(), "the end");
  }

  void check(bool condition, std::string_view expected) const {
    require(condition, subject_, ": expected ", expected, " at character ", position_, " of \"",
            text_, '"');
  }

 private:
  void skip_spaces() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }

  std::string_view subject_, text_;
  std::size_t position_ = 0;
};

}  // namespace narrowgauge
