// SPDX-License-Identifier: Apache-2.0
// Pieces of the graph's text form, shared by printer, parser and other text files.
#pragma once

#include <string>
#include <string_view>

#include "narrowgauge/graph.h"

namespace narrowgauge {

std::string quoted_text(std::string_view text);              // "a\"b"
void append_tensor(std::string& out, const Tensor& tensor);  // f32[2]{1,2.5}

// Reads text token by token; errors are ModelError naming line and column.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  bool at_end();
  char peek();                          // the next character that is not space; '\0' at the end
  bool accept(std::string_view token);  // skips it when it comes next
  void expect(std::string_view token);
  // The characters up to one of `stops` or white space; at least one.
  std::string word(std::string_view stops, std::string_view what);
  // A word in which brackets are balanced: stops inside [] and () do not count.
  std::string balanced(std::string_view stops, std::string_view what);
  std::string string();  // a quoted string
  double number();
  std::int64_t integer(std::string_view further_stops = "");
  int index(std::string_view further_stops = "");  // from 0
  Tensor tensor();
  [[noreturn]] void fail(std::string_view message);

  // Counts nested graphs while one is read; fails where they are nested deeper than 100.
  class Nesting {
   public:
    explicit Nesting(Lexer& lexer);
    ~Nesting() { --lexer_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Lexer& lexer_;
  };

 private:
  void skip_space();
  template <class Number>
  Number whole_number(std::string_view further_stops);

  std::string_view text_;
  std::size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace narrowgauge
