// SPDX-License-Identifier: Apache-2.0
// Elements of a container with their places, which count as ports do: by int.
#pragma once

#include <iterator>
#include <ranges>
#include <utility>

namespace narrowgauge {

// for (const auto& [port, value] : enumerate(node.inputs)) ...
template <class Iterator>
class Enumeration {
 public:
  struct Cursor {
    int place;
    Iterator at;
    std::pair<int, std::iter_reference_t<Iterator>> operator*() const { return {place, *at}; }
    Cursor& operator++() {
      ++place;
      ++at;
      return *this;
    }
    bool operator==(const Cursor& other) const { return at == other.at; }
  };

  Enumeration(Iterator first, Iterator last) : first_(first), last_(last) {}
  Cursor begin() const { return {0, first_}; }
  Cursor end() const { return {0, last_}; }

 private:
  Iterator first_, last_;
};

// A container must outlive the loop; a span may be a temporary.
template <std::ranges::borrowed_range Range>
auto enumerate(Range&& range) {
  return Enumeration(std::ranges::begin(range), std::ranges::end(range));
}

}  // namespace narrowgauge
