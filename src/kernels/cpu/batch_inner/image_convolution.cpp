// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner/image_convolution.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "kernels/cpu/batch_inner/split.h"
#include "kernels/cpu/convert/convert.h"
#include "kernels/cpu/core/batch_inner.h"
#include "kernels/cpu/core/strip.h"
#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t rows_in_shard = 7, most_image_shards = 32;

// Whether all values are finite (no exponent is all ones). `Bits` are as wide as the values.
template <class Bits>
bool are_finite(const void* values, std::int64_t count, Bits exponent) {
  Bits full = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, static_cast<const Bits*>(values) + i, sizeof bits);
    full = static_cast<Bits>(full | ((bits & exponent) == exponent));
  }
  return full == 0;
}

bool are_finite(DType dtype, const void* values, std::int64_t count) {
  if (dtype == DType::f32) return are_finite<std::uint32_t>(values, count, 0x7f800000);
  return are_finite<std::uint16_t>(values, count, dtype == DType::f16 ? 0x7c00 : 0x7f80);
}

class ImageConvolution {
 public:
  ImageConvolution(const BatchInnerConvolution& c, bool relu)
      : c_(c),
        relu_(relu),
        gradient_(c.pass == ConvolutionPass::weight_gradient),
        rows_(c.x[2] + c.window.pads_begin[0] + c.window.pads_end[0]),
        columns_(padded_columns(c)) {
    const std::int64_t element = gradient_ ? 64 : 2;  // bytes from one column to the next
    const std::int64_t row = columns_ * 64;
    for (std::int64_t k = 0; k < c.w[2]; ++k)
      kernel_rows_.push_back(k * c.window.dilations[0] * row);
    plan_ = {c.y[3],
             c.y[1] / 32,
             ceil_divide(c.w[3] * c.x[1], 32),
             c.window.strides[1] * c.x[1] * element,
             kernel_rows_.data(),
             c.w[2]};
    shards_ = std::clamp<std::int64_t>(c.y[2] / rows_in_shard, 1, most_image_shards);
  }
  ImageConvolution(const ImageConvolution&) = delete;
  ImageConvolution& operator=(const ImageConvolution&) = delete;

  std::int64_t workspace() const {
    if (!gradient_)
      return packed_images() + weight_blocks() * packed_block() + round_up(c_.y[1] * 4, 64);
    return packed_images() + shards_ * (weight_blocks() * sums_bytes + packed_bytes());
  }

  void forward(const Call& call) const {
    auto* const images = static_cast<std::byte*>(call.workspace);
    std::byte* const weights = images + packed_images();
    auto* const bias = reinterpret_cast<float*>(weights + weight_blocks() * packed_block());
    pack_weights(call.inputs[1], weights);
    load_bias(c_.bias, c_.bias ? call.inputs[2] : nullptr, c_.y[1], bias);
    auto* const y = static_cast<std::byte*>(call.outputs[0]);
    std::atomic<std::int64_t> flushed = 0;
    for (std::int64_t group = 0; group < c_.x[0] / 32; ++group) {
      const bool finite = pack_images(call.inputs[0], group, images);
      parallel_for(c_.y[2], 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          const amx::ImageRow source{
              images + row * c_.window.strides[0] * columns_ * 64, weights,  columns_ * 2,  bias,
              y + (group * c_.y[2] + row) * y_row_bytes(),         c_.image, image_bytes(), relu_};
          flushed += finite ? amx::convolve_images(plan_, source) : convolve_windows(source);
        }
      });
    }
    if (call.flushed) std::atomic_ref(*call.flushed) += flushed;
  }

  void weight_gradient(const Call& call) const {
    auto* const images = static_cast<std::byte*>(call.workspace);
    const std::int64_t sums_size = weight_blocks() * sums_bytes;
    std::byte* const sums = images + packed_images();
    std::byte* const packed = sums + shards_ * sums_size;
    std::memset(sums, 0, static_cast<std::size_t>(shards_ * sums_size));
    const auto* dy = static_cast<const std::byte*>(call.inputs[1]);
    for (std::int64_t group = 0; group < c_.x[0] / 32; ++group) {
      pack_images(call.inputs[0], group, images);
      parallel_for(shards_, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t shard = begin; shard < end; ++shard)
          for (std::int64_t row = c_.y[2] * shard / shards_; row < c_.y[2] * (shard + 1) / shards_;
               ++row)
            amx::image_weight_gradient(
                plan_,
                {images + row * c_.window.strides[0] * columns_ * 64,
                 dy + (group * c_.y[2] + row) * y_row_bytes(), packed + shard * packed_bytes(),
                 reinterpret_cast<float*>(sums + shard * sums_size), c_.image, image_bytes()});
      });
    }
    store(reinterpret_cast<const float*>(sums), call);
  }

 private:
  // Columns that cover both the reach of the last pixel's blocks and everything that is packed.
  static std::int64_t padded_columns(const BatchInnerConvolution& c) {
    const std::int64_t steps = ceil_divide(c.w[3] * c.x[1], 32);
    const std::int64_t last = (c.y[3] - 1) * c.window.strides[1] * c.x[1] + steps * 32;
    const std::int64_t width = c.x[3] + c.window.pads_begin[1];
    return ceil_divide(std::max(last, width * c.x[1]), 32) * 32;
  }
  std::int64_t image_bytes() const { return rows_ * columns_ * 64; }
  std::int64_t weight_blocks() const { return plan_.blocks * c_.w[2] * plan_.steps; }
  std::int64_t y_pixel_bytes() const { return plan_.blocks * bytes_for(32 * 32, c_.image); }
  std::int64_t y_row_bytes() const { return plan_.width * y_pixel_bytes(); }
  bool is_split() const { return c_.image != DType::bf16; }
  std::int64_t packed_block() const { return is_split() ? split_block_bytes : block_bytes; }
  std::int64_t packed_bytes() const { return plan_.width * plan_.blocks * packed_block(); }
  std::int64_t packed_images() const { return image_bytes() * (is_split() ? 2 : 1); }

  // Does what convolve_images does, on single windows: an infinity beside a window would meet the
  // zero weights that fill up its rows, and make NaN.
  std::int64_t convolve_windows(const amx::ImageRow& row) const {
    const std::int64_t parts = is_split() ? 2 : 1, pitch = plan_.steps * 64;
    const std::int64_t used = c_.w[3] * c_.x[1] * 2, window_bytes = c_.w[2] * 32 * pitch;
    std::vector<std::byte> windows(static_cast<std::size_t>(parts * window_bytes));
    std::vector<std::int64_t> kernel_rows;
    for (std::int64_t k = 0; k < c_.w[2]; ++k) kernel_rows.push_back(k * 32 * pitch);
    ImagePlan plan = plan_;
    plan.width = 1;
    plan.kernel_rows = kernel_rows.data();
    amx::ImageRow window = row;
    window.x = windows.data();
    window.pitch = pitch;
    window.low = window_bytes;
    std::int64_t flushed = 0;
    for (std::int64_t x = 0; x < plan_.width; ++x, window.y += y_pixel_bytes()) {
      for (std::int64_t part = 0; part < parts; ++part)
        for (std::int64_t run = 0; run < c_.w[2] * 32; ++run)  // a row of the kernel in an image
          std::memcpy(windows.data() + part * window_bytes + run * pitch,
                      row.x + part * row.low + x * plan_.step_bytes + plan_.kernel_rows[run / 32] +
                          run % 32 * row.pitch,
                      static_cast<std::size_t>(used));
      flushed += amx::convolve_images(plan, window);
    }
    return flushed;
  }

  // Packs all rows of 32 images, with pads. Returns whether all values are finite.
  bool pack_images(const void* x, std::int64_t group, std::byte* images) const {
    std::atomic<bool> finite = true;
    parallel_for(rows_, 4, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> plain(static_cast<std::size_t>(32 * columns_));
      std::vector<std::uint16_t> parts(static_cast<std::size_t>(gradient_ ? 64 * columns_ : 0));
      for (std::int64_t row = begin; row < end; ++row) {
        std::byte* const to = images + row * columns_ * 64;
        if (c_.image == DType::f32)
          interleave_images(static_cast<const float*>(x), group, row, plain.data());
        else
          interleave_images(static_cast<const std::uint16_t*>(x), group, row,
                            reinterpret_cast<std::uint16_t*>(plain.data()));
        auto* const high = gradient_ ? reinterpret_cast<std::byte*>(parts.data()) : to;
        auto* const low = high + (gradient_ ? columns_ * 64 : image_bytes());
        const auto* values = reinterpret_cast<const std::byte*>(plain.data());
        if (!gradient_ && !are_finite(c_.image, values, 32 * columns_)) finite = false;
        if (is_split())
          amx::split_values(c_.image, values, 32 * columns_, high, low);
        else
          std::memcpy(high, values, static_cast<std::size_t>(columns_ * 64));
        if (!gradient_) continue;
        amx::transpose_images(high, columns_, to);
        if (is_split()) amx::transpose_images(low, columns_, to + image_bytes());
      }
    });
    return finite;
  }

  // Interleaves a row of 32 images into [image][x, channel].
  template <class Element>
  void interleave_images(const Element* x, std::int64_t group, std::int64_t row,
                         Element* plain) const {
    std::fill_n(plain, 32 * columns_, Element{0});
    const std::int64_t y = row - c_.window.pads_begin[0];
    for (std::int64_t n = 0; n < 32 && y >= 0 && y < c_.x[2]; ++n)
      interleave(x, group * 32 + n, y, plain + n * columns_);
  }

  template <class Element>
  void interleave(const Element* x, std::int64_t image, std::int64_t y, Element* row) const {
    const std::int64_t channels = c_.x[1], width = c_.x[3];
    row += c_.window.pads_begin[1] * channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      const Element* from = x + ((image * channels + c) * c_.x[2] + y) * width;
      for (std::int64_t i = 0; i < width; ++i) row[i * channels + c] = from[i];
    }
  }

  // Calls body(weight's index, block, column in the run, channel of y) for every weight.
  template <class Body>
  void each_weight(const Body& body) const {
    const std::int64_t channels = c_.x[1], height = c_.w[2], width = c_.w[3];
    for (std::int64_t m = 0; m < c_.y[1]; ++m)
      for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t ky = 0; ky < height; ++ky)
          for (std::int64_t kx = 0; kx < width; ++kx) {
            const std::int64_t column = kx * channels + c;
            const std::int64_t block = (m / 32 * height + ky) * plan_.steps + column / 32;
            body(((m * channels + c) * height + ky) * width + kx, block, column % 32, m % 32);
          }
  }

  void pack_weights(const void* weights, std::byte* packed) const {
    const std::int64_t count = element_count(c_.w), padded = ceil_divide(count, 32) * 32;
    std::vector<std::uint16_t> parts(static_cast<std::size_t>(2 * padded));
    if (is_split()) {
      std::vector<float> values(static_cast<std::size_t>(padded));
      std::memcpy(values.data(), weights, static_cast<std::size_t>(bytes_for(count, c_.image)));
      amx::split_values(c_.image, reinterpret_cast<const std::byte*>(values.data()), padded,
                        reinterpret_cast<std::byte*>(parts.data()),
                        reinterpret_cast<std::byte*>(parts.data() + padded));
    } else {
      std::memcpy(parts.data(), weights, static_cast<std::size_t>(count * 2));
    }
    auto* const to = reinterpret_cast<std::uint16_t*>(packed);
    const std::int64_t block_size = packed_block() / 2;
    std::fill_n(to, weight_blocks() * block_size, std::uint16_t{0});
    each_weight([&](std::int64_t i, std::int64_t block, std::int64_t k, std::int64_t m) {
      const std::int64_t at = block * block_size + m / 16 * 512 + k / 2 * 32 + m % 16 * 2 + k % 2;
      to[at] = parts[static_cast<std::size_t>(i)];
      if (is_split()) to[at + block_bytes / 2] = parts[static_cast<std::size_t>(padded + i)];
    });
  }

  // Stores the shards' sums, added in their order.
  void store(const float* sums, const Call& call) const {
    std::vector<float> values(static_cast<std::size_t>(element_count(c_.w)));
    each_weight([&](std::int64_t i, std::int64_t block, std::int64_t k, std::int64_t m) {
      float sum = 0;
      for (std::int64_t shard = 0; shard < shards_; ++shard)
        sum += sums[((shard * weight_blocks() + block) * 32 + k) * 32 + m];
      values[static_cast<std::size_t>(i)] = sum;
    });
    std::int64_t flushed = 0;
    narrow_row(values.data(), c_.weight, call.outputs[0], static_cast<std::int64_t>(values.size()),
               c_.weight == DType::f16 ? &flushed : nullptr);
    if (call.flushed && flushed > 0) std::atomic_ref(*call.flushed) += flushed;
  }

  BatchInnerConvolution c_;
  bool relu_, gradient_;
  std::int64_t rows_, columns_;  // of packed images
  std::vector<std::int64_t> kernel_rows_;
  ImagePlan plan_{};
  std::int64_t shards_ = 1;
};

}  // namespace

std::string image_convolution_reason(const BatchInnerConvolution& c, Isa isa) {
  constexpr std::int64_t most_channels = 4;
  if (std::string reason = tile_isa_reason(isa); !reason.empty()) return reason;
  if (c.pass == ConvolutionPass::data_gradient) return "the gradient of images";
  if (c.x.size() != 4 || c.window.groups != 1) return "not two spatial axes in one group";
  if (c.window.dilations[1] != 1) return concat("dilation ", c.window.dilations[1]);
  if (c.x[1] < 1 || c.x[1] > most_channels) return concat(c.x[1], " channels are not few");
  if (c.x[0] == 0 || c.x[0] % 32 != 0 || c.y[1] == 0 || c.y[1] % 32 != 0)
    return concat("blocks hold 32 images and channels, y is ", c.y);
  return parameter_reason(c);
}

Prepared prepare_image_convolution(const BatchInnerConvolution& c, bool relu) {
  const std::string reason = image_convolution_reason(c, isa());
  require(reason.empty(), "image convolution: ", reason);
  const auto convolution = std::make_shared<const ImageConvolution>(c, relu);
  Prepared prepared;
  prepared.implementation = "amx tiles, images to batch-inner";
  if (relu) prepared.implementation += ", relu";
  prepared.facts = tile_facts(c.image);
  prepared.workspace = convolution->workspace();
  if (c.pass == ConvolutionPass::forward)
    prepared.run = [convolution](const Call& call) { convolution->forward(call); };
  else
    prepared.run = [convolution](const Call& call) { convolution->weight_gradient(call); };
  return prepared;
}

}  // namespace narrowgauge::cpu
