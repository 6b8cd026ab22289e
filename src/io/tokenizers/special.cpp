// SPDX-License-Identifier: Apache-2.0
#include "io/tokenizers/special.h"

#include <algorithm>

namespace narrowgauge {

SpecialTokens::SpecialTokens(const TokenNumbers& numbers, std::span<const std::string_view> texts) {
  for (const std::string_view text : texts) {
    const auto found = numbers.find(text);
    if (found != numbers.end()) specials_.push_back({text, found->second});
  }
}

void SpecialTokens::for_each_part(std::string_view text,
                                  FunctionRef<void(std::int32_t token)> special,
                                  FunctionRef<void(std::string_view text)> other) const {
  // Where each of them stands next, so that a text is searched once for each.
  std::vector<std::size_t> next;
  for (const Special& each : specials_) next.push_back(text.find(each.text));
  for (std::size_t begin = 0; begin < text.size();) {
    const auto first = std::ranges::min_element(next);
    const std::size_t at = first == next.end() ? std::string_view::npos : *first;
    if (at != begin) other(text.substr(begin, std::min(at, text.size()) - begin));
    if (at == std::string_view::npos) return;
    const Special& found = specials_[static_cast<std::size_t>(first - next.begin())];
    special(found.token);
    begin = at + found.text.size();
    for (std::size_t i = 0; i < next.size(); ++i)
      if (next[i] < begin) next[i] = text.find(specials_[i].text, begin);
  }
}

bool SpecialTokens::contains(std::int32_t token) const {
  return std::ranges::find(specials_, token, &Special::token) != specials_.end();
}

}  // namespace narrowgauge
