// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "train/metrics/metric.h"

namespace narrowgauge {
namespace {

// The number in a word such as "top5"; 0 in others.
std::int64_t number_in(std::string_view word) {
  std::int64_t k = 0;
  if (!word.starts_with("top")) return 0;
  const auto [end, error] = std::from_chars(word.data() + 3, word.data() + word.size(), k);
  return error == std::errc{} && end == word.data() + word.size() && k > 0 ? k : 0;
}

// Of equal scores those of lower classes come first, as for `accuracy`.
bool is_among_highest(std::int64_t k, std::span<const float> scores, std::int64_t wanted) {
  if (wanted < 0 || wanted >= std::ssize(scores)) return false;
  const float score = scores[static_cast<std::size_t>(wanted)];
  std::int64_t before = 0;
  for (std::int64_t i = 0; i < std::ssize(scores); ++i) {
    const float other = scores[static_cast<std::size_t>(i)];
    before += other > score || (other == score && i < wanted);
  }
  return before < k;
}

MetricSum make(std::string_view word) {
  const std::int64_t k = number_in(word);
  if (k == 0) return {};
  return [k](const MetricBatch& batch) {
    return count_samples(batch, [k](std::span<const float> scores, std::int64_t wanted) {
      return is_among_highest(k, scores, wanted);
    });
  };
}

}  // namespace
}  // namespace narrowgauge

NG_METRIC(top_k, "top<k>", "samples whose right class has one of the k highest scores", true, make)
