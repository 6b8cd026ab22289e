// SPDX-License-Identifier: Apache-2.0
// A small training problem for tests: batches of random images whose labels follow from them.
#pragma once

#include <array>
#include <vector>

#include "base/random.h"
#include "narrowgauge/narrowgauge.h"

namespace narrowgauge {

inline std::array<Tensor, 2> small_batch(std::uint64_t step, std::int64_t batch = 32,
                                         std::int64_t side = 12, std::int64_t classes = 4) {
  std::array<Tensor, 2> tensors{Tensor(DType::f32, {batch, 1, side, side}),
                                Tensor(DType::i64, {batch})};
  const RandomStream random(7, "batch", step);
  auto images = tensors[0].values<float>();
  auto labels = tensors[1].values<std::int64_t>();
  const auto pixels = static_cast<std::size_t>(side * side);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = random.bits(1000000 + i) % static_cast<std::uint32_t>(classes);
    for (std::size_t p = 0; p < pixels; ++p) {
      const bool bright =
          p % static_cast<std::size_t>(classes) == static_cast<std::size_t>(labels[i]);
      images[i * pixels + p] = random.normal(i * pixels + p) + (bright ? 0.6F : 0.0F);
    }
  }
  return tensors;
}

// A convolution, normalization and dropout: what determinism must cover.
inline BuildNetwork small_network(std::int64_t side = 12, std::int64_t classes = 4) {
  return [=](Network& net) {
    Value x = net.input("images", {net.batch(), 1, side, side});
    x = net.relu(net.batch_norm(net.conv(x, 8)));
    x = net.relu(net.conv(net.max_pool(x), 16, {.stride = 2}));
    x = net.dropout(net.flatten(x), 0.1);
    return net.linear(x, classes);
  };
}

// Makes IDX-free sources from the batches above.
inline std::shared_ptr<DataSource> small_source(std::int64_t count) {
  auto batch = small_batch(99, count);
  return std::make_shared<TensorSource>(std::vector<Tensor>{batch[0], batch[1]});
}

}  // namespace narrowgauge
