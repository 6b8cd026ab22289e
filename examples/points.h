// SPDX-License-Identifier: Apache-2.0
// Points of the plane around eight places on a circle, the network that learns to draw them, and
// how well it does.
#pragma once

#include <narrowgauge/narrowgauge.h>

#include <cmath>
#include <cstdio>
#include <numbers>
#include <random>
#include <set>

namespace points {

constexpr int places = 8;
constexpr float radius = 2, deviation = 0.1F;
constexpr std::int64_t noise_width = 16, hidden = 64;

inline float place_x(int place) {
  return radius * std::cos(2 * std::numbers::pi_v<float> * static_cast<float>(place) / places);
}
inline float place_y(int place) {
  return radius * std::sin(2 * std::numbers::pi_v<float> * static_cast<float>(place) / places);
}

inline narrowgauge::Value layers(narrowgauge::Network& net, narrowgauge::Value x,
                                 const std::string& name, std::int64_t outputs) {
  x = net.relu(net.linear(x, hidden, name + ".first"));
  x = net.relu(net.linear(x, hidden, name + ".second"));
  return net.linear(x, outputs, name + ".last");
}

// Points from noise.
inline narrowgauge::Value generate(narrowgauge::Network& net) {
  return layers(net, net.input("noise", {net.batch(), noise_width}), "generator", 2);
}

using Random = std::mt19937;

// Standard normal numbers.
inline narrowgauge::Tensor draw_noise(Random& random, std::int64_t count, std::int64_t width) {
  narrowgauge::Tensor noise(narrowgauge::DType::f32, {count, width});
  std::normal_distribution<float> normal;
  for (float& value : noise.values<float>()) value = normal(random);
  return noise;
}

// Points [count, 2].
inline narrowgauge::Tensor draw_points(Random& random, std::int64_t count) {
  narrowgauge::Tensor points = draw_noise(random, count, 2);
  const std::span<float> values = points.values<float>();
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const int place = static_cast<int>(random() % places);
    values[i] = place_x(place) + deviation * values[i];
    values[i + 1] = place_y(place) + deviation * values[i + 1];
  }
  return points;
}

// Prints how many places are drawn at all, and the share of points within four deviations of one.
inline void judge(const narrowgauge::Tensor& points) {
  std::set<int> drawn;
  int close = 0;
  const std::span<const float> values = points.values<float>();
  for (std::size_t i = 0; i < values.size(); i += 2)
    for (int place = 0; place < places; ++place)
      if (std::hypot(values[i] - place_x(place), values[i + 1] - place_y(place)) < 4 * deviation) {
        drawn.insert(place);
        ++close;
      }
  std::printf("draws %zu of %d places, %.1f %% of the points close to one\n", drawn.size(), places,
              200.0 * close / static_cast<double>(values.size()));
}

}  // namespace points
