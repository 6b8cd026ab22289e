// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "train/metrics/labels.h"
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

// Whether the label is among the k highest scores; of equal ones lower classes come first, as for
// `accuracy`.
bool is_among_highest(std::int64_t k, const LabeledScores& each) {
  const float score = each.scores[static_cast<std::size_t>(each.label)];
  std::int64_t before = 0;
  for (std::int64_t i = 0; i < std::ssize(each.scores); ++i) {
    const float other = each.scores[static_cast<std::size_t>(i)];
    before += other > score || (other == score && i < each.label);
  }
  return before < k;
}

BeginMetric make_top_k(std::string_view word) {
  const std::int64_t k = number_in(word);
  if (k == 0) return {};
  return mean_of([k](const MetricBatch& batch) {
    PartialMean part;
    for_each_label(batch, [&](const LabeledScores& each) {
      ++part.count;
      part.sum += each.finite && is_among_highest(k, each);
    });
    return part;
  });
}

}  // namespace
}  // namespace narrowgauge

NG_METRIC(top_k, "top<k>", "labels whose class has one of the k highest scores", true,
          Better::higher, make_top_k)
