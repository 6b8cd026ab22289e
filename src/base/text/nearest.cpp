// SPDX-License-Identifier: Apache-2.0
#include "base/text/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/text/ascii.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

bool same_letter(char a, char b) { return lower(a) == lower(b); }

// Letters to add, remove or change and neighbours to swap; case is ignored.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i + 1;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::size_t changed = last[k] + (same_letter(a[i], b[k]) ? 0 : 1);
      row[k + 1] = std::min({changed, row[k] + 1, last[k + 1] + 1});
      const bool swapped =
          i > 0 && k > 0 && same_letter(a[i], b[k - 1]) && same_letter(a[i - 1], b[k]);
      if (swapped) row[k + 1] = std::min(row[k + 1], before[k - 1] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string> words) {
  constexpr std::size_t longest = 100;  // what is longer was not mistyped
  if (word.size() > longest) return {};
  std::size_t best = std::max<std::size_t>(2, word.size() / 3) + 1;
  std::string_view found;
  for (const std::string& candidate : words) {
    const bool begins = word.size() >= 3 && candidate.starts_with(word);
    const std::size_t distance = begins ? 1 : edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string suggestion(std::string_view word, std::span<const std::string> words) {
  const std::string_view found = nearest(word, words);
  return found.empty() ? "" : concat("; did you mean ", found, '?');
}

}  // namespace narrowgauge
