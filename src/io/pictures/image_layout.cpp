// SPDX-License-Identifier: Apache-2.0
#include "io/pictures/image_layout.h"

#include <algorithm>
#include <cstddef>

#include "base/log.h"
#include "base/threads/parallel.h"

namespace narrowgauge {

namespace {

bool may_be_channel_count(std::int64_t size) { return size == 1 || size == 3 || size == 4; }

}  // namespace

ImageLayout image_layout(const Dims& dims) {
  constexpr std::int64_t least_side = 8;
  const bool last = dims.size() == 4 && may_be_channel_count(dims[3]) &&
                    !may_be_channel_count(dims[1]) && std::min(dims[1], dims[2]) >= least_side;
  return last ? ImageLayout::nhwc : ImageLayout::nchw;
}

Tensor channels_first(const Tensor& images) {
  const Dims& dims = images.dims();
  require(dims.size() == 4 && bits(images.dtype()) >= 8,
          "channels first: expected images [N,H,W,C] of whole bytes, got ", images.type());
  Tensor result(images.dtype(), {dims[0], dims[3], dims[1], dims[2]});
  if (images.size() == 0) return result;
  const std::int64_t channels = dims[3], area = dims[1] * dims[2];
  const std::int64_t bytes = images.bytes() / images.size();
  parallel_for(dims[0], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const std::byte* const from = images.data() + n * area * channels * bytes;
      std::byte* to = result.data() + n * area * channels * bytes;
      for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t i = 0; i < area; ++i)
          to = std::copy_n(from + (i * channels + c) * bytes, bytes, to);
    }
  });
  return result;
}

Tensor channels_first_of(const Tensor& images, ImageLayout layout, const std::string& set) {
  const bool found = layout == ImageLayout::automatic;
  if (found) layout = image_layout(images.dims());
  if (layout != ImageLayout::nhwc) return images;
  if (found)
    log(LogLevel::warning, concat("data ", set, ": images ", images.type(),
                                  " are taken as [N,H,W,C]; a layout of nchw takes them as ",
                                  images.dims()[1], " channels"));
  return channels_first(images);
}

}  // namespace narrowgauge
