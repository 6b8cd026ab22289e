// SPDX-License-Identifier: Apache-2.0
#include "tensor/polynomial.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace narrowgauge {
namespace {

std::int64_t checked(bool overflow, std::int64_t value) {
  require(!overflow, "dimension: a coefficient exceeds 64 bits");
  return value;
}
std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  const bool overflow = __builtin_add_overflow(a, b, &result);
  return checked(overflow, result);
}
std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  const bool overflow = __builtin_mul_overflow(a, b, &result);
  return checked(overflow, result);
}
std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == -1) return product(a, -1);
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

// Limits the size: products of sums grow with every level of nesting, so time and memory would be
// exponential in the length of the text.
void check_size(std::size_t terms, std::size_t characters) {
  constexpr std::size_t most_terms = 512, most_characters = 1 << 14;
  require(terms <= most_terms && characters <= most_characters, "dimension: expected at most ",
          most_terms, " terms and ", most_characters,
          " characters once products are expanded, got ", terms, " and ", characters);
}

std::size_t characters(const Polynomial& p) {
  std::size_t count = 0;
  for (const Term& term : p)
    for (const Atom& atom : term.atoms) count += atom.text.size();
  return count;
}

// Greater monomials come first.
bool stands_before(const std::vector<Atom>& a, const std::vector<Atom>& b) {
  if (a.size() != b.size()) return a.size() > b.size();
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](const Atom& x, const Atom& y) { return x.text < y.text; });
}

Polynomial canonical(Polynomial terms) {
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term& a, const Term& b) { return stands_before(a.atoms, b.atoms); });
  Polynomial result;
  for (Term& term : terms) {
    if (!result.empty() && result.back().atoms == term.atoms)
      result.back().coefficient = sum(result.back().coefficient, term.coefficient);
    else
      result.push_back(std::move(term));
  }
  std::erase_if(result, [](const Term& term) { return term.coefficient == 0; });
  return result;
}

Term multiply(const Term& a, const Term& b) {
  Term result{product(a.coefficient, b.coefficient), {}};
  std::merge(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(),
             std::back_inserter(result.atoms),
             [](const Atom& x, const Atom& y) { return x.text < y.text; });
  return result;
}

// The monomial a / b, if b's atoms are all among a's.
std::optional<std::vector<Atom>> monomial_quotient(const Term& a, const Term& b) {
  std::vector<Atom> rest = a.atoms;
  for (const Atom& atom : b.atoms) {
    const auto found = std::find(rest.begin(), rest.end(), atom);
    if (found == rest.end()) return {};
    rest.erase(found);
  }
  return rest;
}

struct QuotientAndRest {
  Polynomial quotient, rest;
};

// a = quotient * b + rest, where no term of the rest can be divided by b's leading term: every
// such coefficient is in [0, leading coefficient). b's leading coefficient is positive.
QuotientAndRest divide_with_rest(Polynomial a, const Polynomial& b) {
  QuotientAndRest result;
  while (!a.empty()) {
    const Term lead = a.front();
    const auto monomial = monomial_quotient(lead, b.front());
    const std::int64_t times =
        monomial ? floor_quotient(lead.coefficient, b.front().coefficient) : 0;
    if (times != 0) {
      const Polynomial part{Term{times, *monomial}};
      result.quotient = add(result.quotient, part);
      a = add(a, negate(multiply(part, b)));
    }
    // The rest of the leading term cannot be divided further.
    if (!a.empty() && a.front().atoms == lead.atoms) {
      result.rest.push_back(a.front());
      a.erase(a.begin());
    }
  }
  return result;
}

// floor((g*x + c) / (g*d)) = floor((x + floor(c / g)) / d), for a constant denominator.
void cancel_common_factor(Division& division) {
  std::int64_t factor = constant_value(division.denominator);
  for (const Term& term : division.numerator)
    if (!term.atoms.empty()) factor = std::gcd(factor, term.coefficient);
  for (Term& term : division.numerator) term.coefficient = floor_quotient(term.coefficient, factor);
  std::erase_if(division.numerator, [](const Term& term) { return term.coefficient == 0; });
  division.denominator = constant(constant_value(division.denominator) / factor);
}

// floor((floor(x / d) + c) / e) = floor((x + c*d) / (d*e)), for constants c, d > 0 and e > 0.
std::optional<Division> merge_nested(const Division& division) {
  const Polynomial& numerator = division.numerator;
  const Term& lead = numerator.front();
  const bool single =
      numerator.size() == 1 || (numerator.size() == 2 && numerator[1].atoms.empty());
  if (!single || lead.coefficient != 1 || lead.atoms.size() != 1) return {};
  const auto& inner = lead.atoms.front().division;
  if (!inner || !is_constant(inner->denominator)) return {};
  const Polynomial added = numerator.size() == 2 ? Polynomial{numerator[1]} : Polynomial{};
  return Division{add(inner->numerator, multiply(added, inner->denominator)),
                  multiply(division.denominator, inner->denominator)};
}

std::string factor_text(const Polynomial& p) {
  const bool simple =
      p.empty() || (p.size() == 1 && p[0].atoms.empty() && p[0].coefficient >= 0) ||
      (p.size() == 1 && p[0].atoms.size() == 1 && p[0].coefficient == 1 && !p[0].atoms[0].division);
  return simple ? text(p) : concat('(', text(p), ')');
}

Polynomial opaque(Division division) {
  Atom atom{concat(factor_text(division.numerator), '/', factor_text(division.denominator)),
            nullptr};
  atom.division = std::make_shared<const Division>(std::move(division));
  return {Term{1, {std::move(atom)}}};
}

std::string term_text(const Term& term) {  // without the sign
  const std::string digits = std::to_string(term.coefficient);
  const std::string size = digits.substr(digits.starts_with('-') ? 1 : 0);
  if (term.atoms.empty()) return size;
  const bool alone = term.atoms.size() == 1 && term.coefficient == 1;
  std::string result;
  for (const Atom& atom : term.atoms) {
    if (!result.empty()) result += '*';
    result += atom.division && !alone ? concat('(', atom.text, ')') : atom.text;
  }
  return size == "1" ? result : concat(result, '*', size);
}

Polynomial bind(const Atom& atom, const Binding& binding) {
  if (atom.division)
    return floor_divide(bind(atom.division->numerator, binding),
                        bind(atom.division->denominator, binding));
  const auto found = binding.find(atom.text);
  return found == binding.end() ? symbol(atom.text) : constant(found->second);
}

}  // namespace

Polynomial constant(std::int64_t value) {
  return value == 0 ? Polynomial{} : Polynomial{Term{value, {}}};
}

Polynomial symbol(std::string name) { return {Term{1, {Atom{std::move(name), nullptr}}}}; }

bool is_constant(const Polynomial& p) {
  return p.empty() || (p.size() == 1 && p.front().atoms.empty());
}

std::int64_t constant_value(const Polynomial& p) {
  NG_INVARIANT(is_constant(p));
  return p.empty() ? 0 : p.front().coefficient;
}

Polynomial add(const Polynomial& a, const Polynomial& b) {
  check_size(a.size() + b.size(), characters(a) + characters(b));
  Polynomial terms = a;
  terms.insert(terms.end(), b.begin(), b.end());
  return canonical(std::move(terms));
}

Polynomial negate(const Polynomial& a) {
  Polynomial result = a;
  for (Term& term : result) term.coefficient = product(term.coefficient, -1);
  return result;
}

Polynomial multiply(const Polynomial& a, const Polynomial& b) {
  check_size(a.size() * b.size(), characters(a) * b.size() + a.size() * characters(b));
  Polynomial terms;
  for (const Term& x : a)
    for (const Term& y : b) terms.push_back(multiply(x, y));
  return canonical(std::move(terms));
}

Polynomial floor_divide(const Polynomial& a, const Polynomial& b) {
  if (b.empty()) throw UsageError(concat("dimension: ", text(a), " is divided by 0"));
  if (is_constant(a) && is_constant(b))
    return constant(floor_quotient(constant_value(a), constant_value(b)));
  if (b.front().coefficient < 0) return floor_divide(negate(a), negate(b));
  auto [quotient, rest] = divide_with_rest(a, b);
  if (rest.empty()) return quotient;
  Division division{std::move(rest), b};
  if (is_constant(b)) {
    cancel_common_factor(division);
    if (is_constant(division.numerator)) return quotient;  // in [0, denominator): 0
    if (const auto merged = merge_nested(division))
      return add(quotient, floor_divide(merged->numerator, merged->denominator));
  }
  return add(quotient, opaque(std::move(division)));
}

Polynomial bind(const Polynomial& p, const Binding& binding) {
  Polynomial result;
  for (const Term& term : p) {
    Polynomial bound = constant(term.coefficient);
    for (const Atom& atom : term.atoms) bound = multiply(bound, bind(atom, binding));
    result = add(result, bound);
  }
  return result;
}

std::string text(const Polynomial& p) {
  if (p.empty()) return "0";
  std::string result;
  for (const Term& term : p) {
    if (term.coefficient < 0)
      result += '-';
    else if (!result.empty())
      result += '+';
    result += term_text(term);
  }
  return result;
}

}  // namespace narrowgauge
