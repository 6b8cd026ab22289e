// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/machine/floating_environment.h"
#include "base/random.h"
#include "narrowgauge/generate.h"

namespace narrowgauge {

namespace {

using Order = std::vector<std::size_t>;

// The tokens that top_k leaves, the most probable first; of equals the first.
Order most_probable(std::span<const float> logits, std::int64_t top_k) {
  Order order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](std::size_t a, std::size_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  const bool all = top_k == 0 || top_k >= std::ssize(order);
  const auto kept = order.begin() + (all ? std::ssize(order) : top_k);
  std::partial_sort(order.begin(), kept, order.end(), before);
  order.erase(kept, order.end());
  return order;
}

// Leaves as many of the first tokens as together reach a share of the sum of all.
void keep_share(Order& order, const std::vector<double>& weights, double share) {
  double sum = 0;
  for (const std::size_t token : order) sum += weights[token];
  double reached = 0;
  auto last = order.begin();
  while (last != order.end() && reached < share * sum) reached += weights[*last++];
  order.erase(last, order.end());
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options) : options_(options) {
  require(options.temperature >= 0 && std::isfinite(options.temperature),
          "sampling: expected a temperature from 0 on, got ", options.temperature);
  require(options.top_k >= 0, "sampling: expected a top_k from 0 on, got ", options.top_k);
  require(options.top_p > 0 && options.top_p <= 1,
          "sampling: expected a top_p above 0 and up to 1, got ", options.top_p);
}

std::vector<double> Sampler::probabilities(std::span<const float> logits) const {
  const FloatingEnvironment environment(Subnormals::keep);
  require(!logits.empty(), "sampling: expected logits, got none");
  const bool finite = std::ranges::all_of(logits, [](float x) { return std::isfinite(x); });
  require<DivergedError>(finite, "sampling: some logits are not finite");
  std::vector<double> weights(logits.size()), result(logits.size());
  const float highest = *std::ranges::max_element(logits);
  if (options_.temperature == 0) {
    result[static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin())] = 1;
    return result;
  }
  for (std::size_t i = 0; i < logits.size(); ++i)
    weights[i] = std::exp((double{logits[i]} - highest) / options_.temperature);
  const bool limited = options_.top_k > 0 || options_.top_p < 1;
  if (!limited) {
    result = weights;
  } else {
    Order kept = most_probable(logits, options_.top_k);
    if (options_.top_p < 1) keep_share(kept, weights, options_.top_p);
    for (const std::size_t token : kept) result[token] = weights[token];
  }
  const double sum = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& probability : result) probability /= sum;
  return result;
}

std::int32_t Sampler::next(std::span<const float> logits) {
  const FloatingEnvironment environment(Subnormals::keep);
  const std::vector<double> shares = probabilities(logits);
  const RandomBlock bits = RandomStream(options_.seed, "sampling").block(draws_++);
  const double drawn = std::ldexp(
      static_cast<double>((std::uint64_t{bits[0]} << 32 | bits[1]) >> 11), -53);  // [0, 1)
  double sum = 0;
  std::size_t last = 0;  // of those that may be drawn: sums may end a little below 1
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] == 0) continue;
    last = i;
    if ((sum += shares[i]) > drawn) break;
  }
  return static_cast<std::int32_t>(last);
}

}  // namespace narrowgauge
