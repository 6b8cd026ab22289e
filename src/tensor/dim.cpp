// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "narrowgauge/tensor.h"
#include "tensor/polynomial.h"
#include "tensor/text_cursor.h"

namespace narrowgauge {

struct DimExpression {
  Polynomial polynomial;
  std::string text;
};

// Gives the operators of Dim access to its inside.
struct DimAccess {
  static Polynomial polynomial(const Dim& dim) {
    return dim.expression_ ? dim.expression_->polynomial : constant(dim.value_);
  }
  static Dim make(Polynomial polynomial) {
    if (is_constant(polynomial)) return constant_value(polynomial);
    Dim result;
    std::string written = text(polynomial);
    result.expression_ = std::make_shared<const DimExpression>(
        DimExpression{std::move(polynomial), std::move(written)});
    return result;
  }
};

namespace {

template <class Operation>
Dim combine(const Dim& a, const Dim& b, Operation operation) {
  return DimAccess::make(operation(DimAccess::polynomial(a), DimAccess::polynomial(b)));
}

// sum := ["-"] product {("+" | "-") product};  product := factor {("*" | "/") factor}
// factor := number | symbol | "(" sum ")"
class DimParser {
 public:
  explicit DimParser(std::string_view text) : cursor_("dimension", text) {}

  Dim parse() {
    const Dim result = sum();
    cursor_.expect_end();
    return result;
  }

 private:
  Dim sum() {
    const bool negative = cursor_.take('-');
    Dim result = negative ? 0 - product() : product();
    while (true) {
      if (cursor_.take('+'))
        result = result + product();
      else if (cursor_.take('-'))
        result = result - product();
      else
        return result;
    }
  }

  Dim product() {
    Dim result = factor();
    while (true) {
      if (cursor_.take('*'))
        result = result * factor();
      else if (cursor_.take('/'))
        result = result / factor();
      else
        return result;
    }
  }

  Dim factor() {
    if (cursor_.take('(')) {
      cursor_.check(++depth_ <= deepest, "parentheses no deeper than 100");
      const Dim inner = sum();
      cursor_.check(cursor_.take(')'), "\")\"");
      --depth_;
      return inner;
    }
    const std::string_view word = cursor_.take_word();
    cursor_.check(!word.empty(), "a number, a symbol or \"(\"");
    if (word.front() < '0' || word.front() > '9') return Dim::symbol(std::string(word));
    return cursor_.number(word);
  }

  static constexpr int deepest = 100;
  TextCursor cursor_;
  int depth_ = 0;
};

}  // namespace

Dim Dim::symbol(std::string name) {
  const bool word = std::all_of(name.begin(), name.end(), is_word_character);
  require(word && !name.empty() && !(name.front() >= '0' && name.front() <= '9'),
          "dimension: expected a symbol of letters, digits and '_' that does not start with a "
          "digit, got \"",
          name, '"');
  return DimAccess::make(narrowgauge::symbol(std::move(name)));
}

Dim Dim::parse(std::string_view text) { return DimParser(text).parse(); }

std::int64_t Dim::value() const {
  require(is_known(), "dimension: ", text(), " has unbound symbols, a number is needed");
  return value_;
}

Dim Dim::bind(const Binding& binding) const {
  if (is_known()) return *this;
  return DimAccess::make(narrowgauge::bind(expression_->polynomial, binding));
}

std::string Dim::text() const { return expression_ ? expression_->text : std::to_string(value_); }

bool Dim::operator==(const Dim& other) const {
  if (is_known() != other.is_known()) return false;
  return is_known() ? value_ == other.value_ : expression_->text == other.expression_->text;
}

Dim operator+(const Dim& a, const Dim& b) { return combine(a, b, add); }
Dim operator-(const Dim& a, const Dim& b) {
  return combine(a, b, [](const auto& x, const auto& y) { return add(x, negate(y)); });
}
Dim operator*(const Dim& a, const Dim& b) {
  return combine(a, b, [](const Polynomial& x, const Polynomial& y) { return multiply(x, y); });
}
Dim operator/(const Dim& a, const Dim& b) { return combine(a, b, floor_divide); }

void append_text(std::string& out, const Dim& dim) { out += dim.text(); }

}  // namespace narrowgauge
