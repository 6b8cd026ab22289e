// SPDX-License-Identifier: Apache-2.0
// Elements of a list by their names, for whoever looks many of them up.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

namespace narrowgauge {

// Finds elements by their member `name`; the first of a name counts. The elements must not change
// while the index lives.
template <class Element>
class NameIndex {
 public:
  explicit NameIndex(const std::vector<Element>& elements) {
    for (const Element& each : elements) elements_.try_emplace(each.name, &each);
  }
  const Element* find(std::string_view name) const {  // nullptr: none
    const auto found = elements_.find(name);
    return found == elements_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string_view, const Element*> elements_;
};

}  // namespace narrowgauge
