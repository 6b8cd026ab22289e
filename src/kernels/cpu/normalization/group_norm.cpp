// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/normalization/group_norm.h"

#include <algorithm>
#include <cmath>

#include "base/threads/parallel.h"
#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {
namespace {

// The threads share an image of more elements; of smaller ones each takes whole images.
constexpr std::int64_t most_elements_of_one_thread = 1 << 18;

ChannelLayout layout_of_image(const ChannelLayout& layout, std::int64_t images) {
  ChannelLayout image = layout;
  image.outer /= images;
  return image;
}

bool shares_images(const ChannelLayout& image) {
  return image.size() > most_elements_of_one_thread;
}

std::int64_t vectors_bytes(const ChannelLayout& image) {
  return round_up(4 * image.channels * std::int64_t(sizeof(float)), 64);
}

std::int64_t workspace_of_image(const ChannelLayout& image) {
  return vectors_bytes(image) + round_up(batch_norm_workspace(image), 64);
}

// The moments of a group take the places of those of its channels.
void join_channels(const BatchStatistics& moments, std::int64_t count, float epsilon) {
  double sum = 0, squares = 0;
  const auto mean_of = [&](std::int64_t c) {
    return double(moments.mean[c]) + double(moments.mean_low[c]);
  };
  for (std::int64_t c = 0; c < count; ++c) sum += mean_of(c);
  const double mean = sum / double(count);
  for (std::int64_t c = 0; c < count; ++c) {
    const double deviation = mean_of(c) - mean;
    squares += double(moments.variance[c]) + deviation * deviation;
  }
  const auto inverse_std = float(1.0 / std::sqrt(squares / double(count) + double(epsilon)));
  for (std::int64_t c = 0; c < count; ++c) {
    moments.mean[c] = float(mean);
    moments.mean_low[c] = float(mean - double(float(mean)));
    moments.inverse_std[c] = inverse_std;
  }
}

void normalize_image(const GroupNorm& norm, const ChannelLayout& image, std::int64_t number,
                     std::byte* workspace) {
  const auto first = [&](std::int64_t pitch) {
    return number * image.outer * (pitch > 0 ? pitch : image.slice());
  };
  const auto at = [&](std::int64_t elements, DType dtype) { return bytes_for(elements, dtype); };
  BatchNormApply apply;
  apply.layout = image;
  apply.x = norm.x;
  apply.x.data = static_cast<const std::byte*>(norm.x.data) + at(first(norm.x.pitch), norm.x.dtype);
  apply.y = norm.y;
  apply.y.data = static_cast<std::byte*>(norm.y.data) + at(first(norm.y.pitch), norm.y.dtype);
  const StoredPart stored = [&](std::int64_t begin, std::int64_t end) {
    norm.stored(first(0) + begin, first(0) + end);
  };
  if (norm.stored) apply.stored = &stored;
  auto* const vectors = reinterpret_cast<float*>(workspace);
  const std::int64_t channels = image.channels, of_group = channels / norm.groups;
  const auto moments_from = [&](std::int64_t c) {
    return BatchStatistics{.mean = vectors + c,
                           .variance = vectors + channels + c,
                           .inverse_std = vectors + 2 * channels + c,
                           .mean_low = vectors + 3 * channels + c};
  };
  const BatchStatistics moments = moments_from(0);
  void* const rest = workspace + vectors_bytes(image);
  batch_statistics(image, apply.x, norm.epsilon, moments, rest);
  for (std::int64_t group = 0; group < norm.groups; ++group)
    join_channels(moments_from(group * of_group), of_group, norm.epsilon);
  apply.scale = norm.scale;
  apply.bias = norm.bias;
  apply.mean = moments.mean;
  apply.mean_low = moments.mean_low;
  apply.inverse_std = moments.inverse_std;
  batch_norm_apply(apply, rest);
}

}  // namespace

std::int64_t group_norm_workspace(const ChannelLayout& layout, std::int64_t images) {
  const ChannelLayout image = layout_of_image(layout, images);
  return workspace_of_image(image) * (shares_images(image) ? 1 : images);
}

void group_norm(const GroupNorm& norm, void* workspace) {
  const ChannelLayout image = layout_of_image(norm.layout, norm.images);
  auto* const bytes = static_cast<std::byte*>(workspace);
  if (shares_images(image)) {
    for (std::int64_t i = 0; i < norm.images; ++i) normalize_image(norm, image, i, bytes);
    return;
  }
  const std::int64_t each = workspace_of_image(image);
  const std::int64_t grain =
      std::max<std::int64_t>(1, most_elements_of_one_thread / 8 / image.size());
  parallel_for(norm.images, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) normalize_image(norm, image, i, bytes + i * each);
  });
}

}  // namespace narrowgauge::cpu
