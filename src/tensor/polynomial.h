// SPDX-License-Identifier: Apache-2.0
// Integer polynomials over symbols and floor divisions: the canonical form behind Dim.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

struct Division;

// A symbol, or a floor division that could not be carried out. Its text identifies it.
struct Atom {
  std::string text;
  std::shared_ptr<const Division> division;  // null for a symbol
  bool operator==(const Atom& other) const { return text == other.text; }
};

// coefficient * product of the atoms, which are sorted by text.
struct Term {
  std::int64_t coefficient = 0;
  std::vector<Atom> atoms;
};

// Terms from the greatest monomial to the least, none with coefficient 0. The order is graded:
// higher degree first, then alphabetical. Multiplication keeps it, as division needs.
using Polynomial = std::vector<Term>;

struct Division {
  Polynomial numerator, denominator;
};

Polynomial constant(std::int64_t value);
Polynomial symbol(std::string name);
bool is_constant(const Polynomial& p);
std::int64_t constant_value(const Polynomial& p);  // of a constant

// All throw UsageError if a coefficient exceeds 64 bits or there would be thousands of terms.
Polynomial add(const Polynomial& a, const Polynomial& b);
Polynomial negate(const Polynomial& a);
Polynomial multiply(const Polynomial& a, const Polynomial& b);
Polynomial floor_divide(const Polynomial& a, const Polynomial& b);  // UsageError if b is 0
Polynomial bind(const Polynomial& p, const Binding& binding);
std::string text(const Polynomial& p);

}  // namespace narrowgauge
