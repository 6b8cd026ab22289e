// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "ir/text.h"

namespace narrowgauge {

Lexer::Nesting::Nesting(Lexer& lexer) : lexer_(lexer) {
  if (lexer.depth_ == 100) lexer.fail("graphs are nested deeper than 100");
  ++lexer.depth_;
}

void Lexer::skip_space() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == ';') {  // a comment up to the end of the line
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++position_;
    } else {
      return;
    }
  }
}

bool Lexer::at_end() {
  skip_space();
  return position_ >= text_.size();
}

char Lexer::peek() { return at_end() ? '\0' : text_[position_]; }

bool Lexer::accept(std::string_view token) {
  skip_space();
  if (!text_.substr(position_).starts_with(token)) return false;
  position_ += token.size();
  return true;
}

void Lexer::expect(std::string_view token) {
  if (accept(token)) return;
  skip_space();
  const std::string_view rest = text_.substr(position_, 12);
  fail(concat("expected '", token, "', got ",
              rest.empty() ? "the end" : concat('\'', rest.substr(0, rest.find('\n')), '\'')));
}

std::string Lexer::word(std::string_view stops, std::string_view what) {
  skip_space();
  const std::size_t begin = position_;
  while (position_ < text_.size() && stops.find(text_[position_]) == std::string_view::npos &&
         std::string_view(" \n\t\r").find(text_[position_]) == std::string_view::npos)
    ++position_;
  if (position_ == begin) fail(concat("expected ", what));
  return std::string(text_.substr(begin, position_ - begin));
}

std::string Lexer::balanced(std::string_view stops, std::string_view what) {
  skip_space();
  const std::size_t begin = position_;
  int depth = 0;
  for (; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (depth == 0 && (stops.find(c) != std::string_view::npos || c == ' ' || c == '\n')) break;
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (depth < 0) break;
  }
  if (position_ == begin) fail(concat("expected ", what));
  return std::string(text_.substr(begin, position_ - begin));
}

std::string Lexer::string() {
  expect("\"");
  std::string out;
  while (position_ < text_.size() && text_[position_] != '"') {
    char c = text_[position_++];
    if (c == '\\' && position_ < text_.size()) {
      c = text_[position_++];
      if (c == 'n') c = '\n';
    }
    out += c;
  }
  if (position_ >= text_.size()) fail("a string is not closed");
  ++position_;
  return out;
}

double Lexer::number() {
  const std::string text = word(",)}]", "a number");
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    fail(concat("expected a number, got '", text, "'"));
  return value;
}

int Lexer::index(std::string_view further_stops) {
  const std::int64_t value = integer(further_stops);
  if (value < 0 || value > std::numeric_limits<int>::max())
    fail(concat("expected a number from 0 to ", std::numeric_limits<int>::max(), ", got ", value));
  return static_cast<int>(value);
}

template <class Number>
Number Lexer::whole_number(std::string_view further_stops) {
  const std::string text = word(concat(",)}]", further_stops), "a whole number");
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    fail(concat("expected a whole number, got '", text, "'"));
  return value;
}

std::int64_t Lexer::integer(std::string_view further_stops) {
  return whole_number<std::int64_t>(further_stops);
}

namespace {

// Whether a number is lost: an integer not exact, or a float rounded to infinity, NaN or zero.
bool loses(double number, const Tensor& tensor, std::int64_t index) {
  const double kept = tensor.at(index);
  if (!is_floating(tensor.dtype())) return kept != number;
  return std::isfinite(number) && (!std::isfinite(kept) || (kept == 0 && number != 0));
}

}  // namespace

Tensor Lexer::tensor() {
  const TensorType type = TensorType::parse(balanced("{,", "a tensor type"));
  Dims dims = known_dims(type.shape);
  expect("{");
  // A value and its comma take two characters: never allocate more than the text can hold.
  const auto most = static_cast<std::int64_t>((text_.size() - position_ + 1) / 2);
  const std::int64_t count = element_count(dims);
  if (count > most)
    fail(concat("expected ", count, " values of ", type, ", the text has room for ", most));
  Tensor result(type.dtype, std::move(dims));
  for (std::int64_t i = 0; i < result.size(); ++i) {
    if (i > 0) expect(",");
    if (type.dtype == DType::i64) {
      result.values<std::int64_t>().data()[i] = integer();
      continue;
    }
    if (type.dtype == DType::u64) {
      result.values<std::uint64_t>().data()[i] = whole_number<std::uint64_t>("");
      continue;
    }
    const double value = number();
    result.set(i, value);
    if (loses(value, result, i)) fail(concat(value, " is beyond what ", type.dtype, " can hold"));
  }
  expect("}");
  return result;
}

void Lexer::fail(std::string_view message) {
  const std::string_view before = text_.substr(0, position_);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start =
      before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  throw ModelError(concat("line ", line, ", column ", position_ - start + 1, ": ", message));
}

}  // namespace narrowgauge
