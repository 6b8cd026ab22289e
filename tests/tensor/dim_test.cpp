// SPDX-License-Identifier: Apache-2.0
// Dimensions as an algebra: laws on random expressions, checked against plain integers.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "narrowgauge/tensor.h"

namespace narrowgauge::dim_test {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();

std::int64_t floor_of(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
}

Dim parsed(const char* text) { return Dim::parse(text); }

TEST(dim, compares_expressions_by_their_meaning) {
  const Dim n = Dim::symbol("N"), t = Dim::symbol("T");
  EXPECT_EQ(n + n, 2 * n);
  EXPECT_EQ(n * 4 / 4, n);
  EXPECT_EQ(n - n, 0);
  EXPECT_TRUE((n - n).is_known());
  EXPECT_EQ(n * t, t * n);
  EXPECT_EQ((n + 1) * (n - 1), n * n - 1);
  EXPECT_EQ((n * t + t) / t, n + 1);
  EXPECT_EQ((n * n - t * t) / (n - t), n + t);
  EXPECT_EQ((n - 1) / 2 + 1, (n + 1) / 2);
  EXPECT_EQ(n / 2 / 3, n / 6);
  EXPECT_EQ((n / 2 + 1) / 2, (n + 2) / 4);
  EXPECT_EQ((6 * n + 5) / 4, n + n / 2 + 1);
  EXPECT_EQ((0 - n) / (0 - 2), n / 2);
  EXPECT_EQ((2 * n + 1) / 2, n);
  EXPECT_NE(n, t);
  EXPECT_NE(n / 2 * 2, n);
  EXPECT_NE(n, 4);
}

TEST(dim, prints_what_it_parses) {
  for (const char* text : {"N", "N*4", "N*4+T-1", "N*T*2", "(T+1)/2", "N/2", "(N/2)*4", "-N+3",
                           "-(N/2)", "N/T", "(N+1)/(T+1)", "(N*3)/4", "0", "17", "-5", "_x9"})
    EXPECT_EQ(parsed(text).text(), text);
  EXPECT_EQ(parsed(" 2 * ( N + 1 ) ").text(), "N*2+2");
  EXPECT_EQ(parsed("(T+3)/2").text(), "(T+1)/2+1");
  EXPECT_EQ(parsed("9223372036854775807").value(), largest);
}

TEST(dim, refuses_text_that_is_no_dimension) {
  for (const char* text :
       {"",     " ",      "N+",  "*N",  "(N",      "N)",  "N M", "N**2",
        "N//2", "3N",     "N.5", "N/0", "N/(T-T)", "--N", "2^3", "9223372036854775808",
        "N[",   "\u00e9", "1e3", "()",  "N,T"})
    EXPECT_THROW(parsed(text), UsageError) << text;
  EXPECT_THROW(parsed(std::string(100'000, '(').c_str()), UsageError);
}

TEST(dim, refuses_names_that_are_no_symbols) {
  for (const char* name : {"", "1N", "N M", "N*2", "a-b", "("})
    EXPECT_THROW(Dim::symbol(name), UsageError) << name;
}

TEST(dim, says_what_is_unbound) {
  const Dim dim = parsed("N*2+T");
  EXPECT_THROW(dim.value(), UsageError);
  EXPECT_EQ(dim.bind({{"N", 5}}), parsed("T+10"));
  EXPECT_EQ(dim.bind({{"N", 5}, {"T", 1}, {"other", 9}}).value(), 11);
  EXPECT_THROW(parsed("4/N").bind({{"N", 0}}), UsageError);
}

TEST(dim, divides_towards_minus_infinity) {
  for (std::int64_t a = -7; a <= 7; ++a)
    for (std::int64_t b = -3; b <= 3; ++b) {
      if (b == 0) {
        EXPECT_THROW(Dim(a) / Dim(b), UsageError);
        continue;
      }
      const std::int64_t floor = floor_of(a, b);
      EXPECT_EQ((Dim(a) / Dim(b)).value(), floor) << a << "/" << b;
      EXPECT_EQ((Dim::symbol("a") / Dim(b)).bind({{"a", a}}).value(), floor) << a << "/" << b;
    }
}

TEST(dim, refuses_to_leave_64_bits) {
  const Dim n = Dim::symbol("N");
  EXPECT_THROW(Dim(largest) + Dim(1), UsageError);
  EXPECT_THROW(Dim(smallest) - Dim(1), UsageError);
  EXPECT_THROW(Dim(largest) * Dim(2), UsageError);
  EXPECT_THROW(Dim(smallest) / Dim(-1), UsageError);
  EXPECT_THROW(n * largest + n, UsageError);
  EXPECT_THROW((n * n).bind({{"N", largest}}), UsageError);
  EXPECT_EQ(Dim(smallest) / Dim(2), smallest / 2);
}

// A random expression as a Dim, and as a function of plain integers that is empty where it would
// divide by 0.
struct Pair {
  Dim dim;
  std::function<std::optional<std::int64_t>(const Binding&)> evaluate;
};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  Pair expression(int depth) {
    const int kind = below(depth == 0 ? 2 : 6);
    if (kind == 0) {
      const std::int64_t value = below(9) - 3;
      return {value, [value](const Binding&) { return value; }};
    }
    if (kind == 1) {
      const std::string name(1, static_cast<char>('A' + below(3)));
      return {Dim::symbol(name), [name](const Binding& binding) { return binding.at(name); }};
    }
    const Pair a = expression(depth - 1), b = expression(depth - 1);
    if (kind == 2) return {a.dim + b.dim, both(a, b, [](auto x, auto y) { return x + y; })};
    if (kind == 3) return {a.dim - b.dim, both(a, b, [](auto x, auto y) { return x - y; })};
    if (kind == 4) return {a.dim * b.dim, both(a, b, [](auto x, auto y) { return x * y; })};
    if (b.dim == 0) return a;
    return {a.dim / b.dim, [a, b](const Binding& binding) -> std::optional<std::int64_t> {
              const auto x = a.evaluate(binding), y = b.evaluate(binding);
              if (!x || !y || *y == 0) return {};
              return floor_of(*x, *y);
            }};
  }

  Binding binding() { return {{"A", 1 + below(9)}, {"B", 1 + below(50)}, {"C", 1 + below(300)}}; }

 private:
  template <class Operation>
  static std::function<std::optional<std::int64_t>(const Binding&)> both(const Pair& a,
                                                                         const Pair& b,
                                                                         Operation operation) {
    return [a, b, operation](const Binding& binding) -> std::optional<std::int64_t> {
      const auto x = a.evaluate(binding), y = b.evaluate(binding);
      if (!x || !y) return {};
      return operation(*x, *y);
    };
  }

  std::mt19937 random_;
};

TEST(random_dim, has_the_value_of_its_expression) {
  Generator generator(1);
  int checked = 0;
  for (int i = 0; i < 3000; ++i) {
    const Pair pair = generator.expression(4);
    for (int repeat = 0; repeat < 5; ++repeat) {
      const Binding binding = generator.binding();
      const auto expected = pair.evaluate(binding);
      if (!expected) continue;
      ++checked;
      ASSERT_EQ(pair.dim.bind(binding).value(), *expected) << pair.dim.text();
      const Binding part{{"B", binding.at("B")}};
      ASSERT_EQ(pair.dim.bind(part).bind(binding).value(), *expected) << pair.dim.text();
    }
  }
  EXPECT_GT(checked, 9000);
}

TEST(random_dim, is_parsed_back_from_its_text) {
  Generator generator(2);
  for (int i = 0; i < 3000; ++i) {
    const Dim dim = generator.expression(5).dim;
    const Dim again = Dim::parse(dim.text());
    ASSERT_EQ(again, dim) << dim.text();
    ASSERT_EQ(again.text(), dim.text());
  }
}

// Each level writes the one inside it twice once products are expanded.
TEST(dim, refuses_divisions_whose_text_grows_exponentially) {
  std::string text = "N";
  for (int level = 0; level < 30; ++level) text = concat("((", text, ")/M)*(A+B)");
  EXPECT_LT(text.size(), 400U);
  EXPECT_THROW(Dim::parse(text), UsageError);
}

TEST(dim, refuses_to_expand_without_end) {
  std::string sum = "(a0", product;
  for (int i = 1; i < 50; ++i) sum += "+a" + std::to_string(i);
  for (int i = 0; i < 10; ++i) product += (i == 0 ? "" : "*") + sum + ")";
  EXPECT_THROW(Dim::parse(product), UsageError);
}

TEST(random_dim, obeys_the_laws_of_integers) {
  Generator generator(3);
  for (int i = 0; i < 2000; ++i) {
    const Dim a = generator.expression(3).dim, b = generator.expression(3).dim;
    const Dim c = generator.expression(2).dim;
    ASSERT_EQ(a + b, b + a);
    ASSERT_EQ(a * b, b * a);
    ASSERT_EQ((a + b) + c, a + (b + c));
    ASSERT_EQ((a * b) * c, a * (b * c));
    ASSERT_EQ((a + b) * c, a * c + b * c);
    ASSERT_EQ(a - a, 0);
    ASSERT_EQ(a - b, a + b * -1);
    if (c == 0) continue;
    ASSERT_EQ((a * c) / c, a) << a.text() << " and " << c.text();
    ASSERT_EQ((a * c + b) / c, a + b / c) << a.text() << ", " << b.text() << ", " << c.text();
  }
}

}  // namespace
}  // namespace narrowgauge::dim_test
