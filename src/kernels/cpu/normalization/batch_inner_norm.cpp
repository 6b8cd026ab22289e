// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/normalization/batch_inner_norm.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"

namespace narrowgauge::cpu::batch_inner {
namespace {

constexpr std::int64_t block = 32, most_pixel_chunks = 64;

const std::byte* bytes(const void* data) { return static_cast<const std::byte*>(data); }

std::int64_t chunks_of(const ChannelLayout& layout) {
  return std::min(most_pixel_chunks, layout.outer);
}

// Calls body(chunk, offset in bytes, pixels) for fixed ranges of pixels.
template <class Body>
void for_pixels(const ChannelLayout& layout, DType dtype, const Body& body) {
  const std::int64_t chunks = chunks_of(layout);
  parallel_for(chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      const std::int64_t first = layout.outer * chunk / chunks;
      const std::int64_t last = layout.outer * (chunk + 1) / chunks;
      body(chunk, bytes_for(first * layout.slice(), dtype),
           amx::Pixels{last - first, layout.channels / block});
    }
  });
}

// Takes the first value of each channel, which is near its mean; 0 if it is not finite.
void choose_block_shifts(const ChannelLayout& layout, ConstArray x, float* shift) {
  for (std::int64_t c = 0; c < layout.channels; ++c) {
    shift[c] = *load_strip(x, c / block * block * block + c % block, 1, &shift[c]);
    if (!std::isfinite(shift[c])) shift[c] = 0;
  }
}

void count(const Array& target, std::int64_t flushed) {
  if (target.flushed && flushed > 0) std::atomic_ref(*target.flushed) += flushed;
}

struct BlockMoments {
  double mean = 0, squares = 0;
};

// Joins the chunks of a channel in their order.
BlockMoments join(const ChannelLayout& layout, const float* mean, const float* squares,
                  std::int64_t c) {
  const std::int64_t chunks = chunks_of(layout);
  BlockMoments all;
  double before = 0;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const std::int64_t pixels = layout.outer * (chunk + 1) / chunks - layout.outer * chunk / chunks;
    const double count = double(pixels * block);
    const double delta = double(mean[chunk * layout.channels + c]) - all.mean;
    const double share = count / (before + count);
    all.mean += delta * share;
    all.squares += double(squares[chunk * layout.channels + c]) + delta * delta * before * share;
    before += count;
  }
  return all;
}

}  // namespace

bool takes(const ChannelLayout& layout, std::initializer_list<ConstArray> arrays) {
  return layout.block == block && layout.inner == block && isa() == Isa::amx &&
         std::all_of(arrays.begin(), arrays.end(), [&](const ConstArray& array) {
           const bool aligned = reinterpret_cast<std::uintptr_t>(array.data) % 64 == 0;
           const bool same = array.dtype == arrays.begin()->dtype;
           return !array || (same && layout.is_dense(array.pitch) && aligned);
         });
}

std::int64_t workspace(const ChannelLayout& layout) {
  return (1 + 3 * chunks_of(layout)) * layout.channels * std::int64_t(sizeof(float));
}

void statistics(const ChannelLayout& layout, ConstArray x, float epsilon,
                const BatchStatistics& statistics, void* workspace) {
  auto* const shift = static_cast<float*>(workspace);
  float* const mean = shift + layout.channels;
  float* const squares = mean + chunks_of(layout) * layout.channels;
  choose_block_shifts(layout, x, shift);
  for_pixels(layout, x.dtype, [&](std::int64_t chunk, std::int64_t offset, amx::Pixels pixels) {
    const std::int64_t at = chunk * layout.channels;
    amx::moments(x.dtype, bytes(x.data) + offset, pixels, {shift, mean + at, squares + at});
  });
  for (std::int64_t c = 0; c < layout.channels; ++c) {
    const BlockMoments all = join(layout, mean, squares, c);
    const double center = double(shift[c]) + all.mean;
    const double variance = all.squares / double(layout.per_channel());
    if (statistics.mean) statistics.mean[c] = float(center);
    if (statistics.mean_low) statistics.mean_low[c] = float(center - double(float(center)));
    if (statistics.variance) statistics.variance[c] = float(variance);
    if (statistics.inverse_std)
      statistics.inverse_std[c] = float(1.0 / std::sqrt(variance + double(epsilon)));
  }
}

void apply(const BatchNormApply& norm, const float* factor, const float* constant) {
  const DType dtype = norm.x.dtype;
  for_pixels(norm.layout, dtype, [&](std::int64_t, std::int64_t offset, amx::Pixels pixels) {
    const std::byte* other = norm.other ? bytes(norm.other.data) + offset : nullptr;
    count(norm.y, amx::affine(dtype, bytes(norm.x.data) + offset, other, pixels,
                              {norm.mean, factor, constant, norm.relu},
                              static_cast<std::byte*>(norm.y.data) + offset));
  });
}

void gradient_sums(const BatchNormBackward& norm, const GradientSums& sums, void* workspace) {
  const ChannelLayout& layout = norm.layout;
  const std::int64_t size = chunks_of(layout) * layout.channels;
  auto* const dy = static_cast<float*>(workspace);
  float *const product = dy + size, *const deviation = product + size;
  const DType dtype = norm.dy.dtype;
  for_pixels(layout, dtype, [&](std::int64_t chunk, std::int64_t offset, amx::Pixels pixels) {
    const std::int64_t at = chunk * layout.channels;
    amx::gradient_sums(dtype, bytes(norm.dy.data) + offset, bytes(norm.x.data) + offset, pixels,
                       {norm.mean, dy + at, product + at, deviation + at});
  });
  for (std::int64_t c = 0; c < layout.channels; ++c) {
    sums.dy[c] = sums.product[c] = sums.deviation[c] = 0;
    for (std::int64_t at = c; at < size; at += layout.channels) {
      sums.dy[c] += double(dy[at]);
      sums.product[c] += double(product[at]);
      sums.deviation[c] += double(deviation[at]);
    }
  }
}

void gradient(const BatchNormBackward& norm, const GradientFactors& factors) {
  const DType dtype = norm.dy.dtype;
  for_pixels(norm.layout, dtype, [&](std::int64_t, std::int64_t offset, amx::Pixels pixels) {
    const std::byte* other = norm.other ? bytes(norm.other.data) + offset : nullptr;
    count(norm.dx, amx::gradient(
                       dtype, {bytes(norm.dy.data) + offset, bytes(norm.x.data) + offset, other},
                       pixels, norm.mean, factors, static_cast<std::byte*>(norm.dx.data) + offset));
  });
}

}  // namespace narrowgauge::cpu::batch_inner
