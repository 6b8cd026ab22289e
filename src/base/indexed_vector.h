// SPDX-License-Identifier: Apache-2.0
// A vector whose elements are numbered as the rest of the program numbers them: nodes, ports and
// groups by int, elements and axes of tensors by std::int64_t.
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace narrowgauge {

template <std::signed_integral Index, class T>
class IndexedVector {
 public:
  using Elements = std::vector<T>;

  IndexedVector() = default;
  explicit IndexedVector(std::integral auto count, const T& value = T())
      : elements_(static_cast<std::size_t>(count), value) {}
  explicit IndexedVector(Elements elements) : elements_(std::move(elements)) {}

  typename Elements::reference operator[](Index index) { return elements_[place(index)]; }
  typename Elements::const_reference operator[](Index index) const {
    return elements_[place(index)];
  }
  typename Elements::reference back() { return elements_.back(); }
  typename Elements::const_reference back() const { return elements_.back(); }
  Index size() const { return static_cast<Index>(elements_.size()); }

  // Appends an element and returns its number.
  Index add(T element) {
    elements_.push_back(std::move(element));
    return size() - 1;
  }

  auto begin() { return elements_.begin(); }
  auto end() { return elements_.end(); }
  auto begin() const { return elements_.begin(); }
  auto end() const { return elements_.end(); }
  auto data() { return elements_.data(); }
  auto data() const { return elements_.data(); }
  // The plain vector, of an object that is given up.
  Elements release() && { return std::move(elements_); }

 private:
  std::size_t place(Index index) const {
    assert(index >= 0 && index < size());
    return static_cast<std::size_t>(index);
  }

  Elements elements_;
};

}  // namespace narrowgauge
