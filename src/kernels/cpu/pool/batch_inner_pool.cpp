// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/pool/batch_inner_pool.h"

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "base/indexed_vector.h"
#include "base/machine/cpu.h"
#include "base/threads/parallel.h"

namespace narrowgauge::cpu {
namespace {

// For each place along an axis of one side: the places of the other side and the taps between them.
using AxisTaps = IndexedVector<std::int64_t, std::vector<std::array<std::int64_t, 2>>>;

class BlockMaxPool {
 public:
  // `backward`: places of x look up those of y; otherwise places of y those of x.
  BlockMaxPool(const BatchInnerMaxPool& pool, bool backward)
      : inner_(pool.x[1] * 32), kernel_width_(pool.window.kernel[1]) {
    const Dims &to = backward ? pool.x : pool.y, &from = backward ? pool.y : pool.x;
    groups_ = pool.x[0] / 32;
    to_ = {to[2], to[3]};
    from_ = {from[2], from[3]};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      taps_[axis] = AxisTaps(to_[axis]);
      for (std::int64_t y = 0; y < pool.y[axis + 2]; ++y)
        for (std::int64_t tap = 0; tap < pool.window.kernel[axis]; ++tap) {
          const std::int64_t x = y * pool.window.strides[axis] - pool.window.pads_begin[axis] +
                                 tap * pool.window.dilations[axis];
          if (x < 0 || x >= pool.x[axis + 2]) continue;
          taps_[axis][backward ? x : y].push_back({backward ? y : x, tap});
        }
    }
  }

  // Calls body(element of this side's pixel, taps with offsets on the other side) for every pixel.
  template <class Body>
  void each_pixel(const Body& body) const {
    parallel_for(groups_ * to_[0], 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<amx::PoolTap> taps;
      for (std::int64_t row = begin; row < end; ++row)
        for (std::int64_t column = 0; column < to_[1]; ++column) {
          list_taps(row, column, taps);
          body((row * to_[1] + column) * inner_, taps);
        }
    });
  }
  std::int64_t inner() const { return inner_; }

 private:
  void list_taps(std::int64_t row, std::int64_t column, std::vector<amx::PoolTap>& taps) const {
    taps.clear();
    const std::int64_t first_row = row / to_[0] * from_[0];
    for (const auto& [y, tap_row] : taps_[0][row % to_[0]])
      for (const auto& [x, tap_column] : taps_[1][column])
        taps.push_back({((first_row + y) * from_[1] + x) * inner_,
                        static_cast<std::uint8_t>(tap_row * kernel_width_ + tap_column)});
  }

  std::int64_t inner_, kernel_width_, groups_ = 1;  // inner: elements of a pixel
  std::array<std::int64_t, 2> to_{}, from_{};       // height and width
  std::array<AxisTaps, 2> taps_;
};

}  // namespace

std::string batch_inner_max_pool_reason(const BatchInnerMaxPool& pool, Isa isa) {
  if (isa != Isa::amx) return concat("vectors of blocks need amx, this is ", name(isa));
  if (pool.x.size() != 4 || pool.x[0] % 32 != 0 || pool.x[1] % 32 != 0)
    return concat("blocks hold 32 images and channels, x is ", pool.x);
  if (pool.dtype != DType::bf16 && pool.dtype != DType::f16 && pool.dtype != DType::f32)
    return concat("values of ", pool.dtype);
  if (element_count(pool.window.kernel) > 256) return "a window of more than 256 elements";
  return {};
}

Prepared prepare_batch_inner_max_pool(const BatchInnerMaxPool& pool) {
  const auto pixels = std::make_shared<const BlockMaxPool>(pool, false);
  Prepared prepared;
  prepared.implementation = "own max pool, batch-inner";
  prepared.run = [pixels, dtype = pool.dtype, taps = pool.taps](const Call& call) {
    auto* taken = taps ? static_cast<std::uint8_t*>(call.outputs[1]) : nullptr;
    pixels->each_pixel([&](std::int64_t at, const std::vector<amx::PoolTap>& list) {
      amx::max_pool_pixel(dtype, call.inputs[0], {list.data(), static_cast<int>(list.size())},
                          pixels->inner(), at_offset(call.outputs[0], dtype, at),
                          taken ? taken + at : nullptr);
    });
  };
  return prepared;
}

Prepared prepare_batch_inner_max_pool_gradient(const BatchInnerMaxPool& pool) {
  const auto pixels = std::make_shared<const BlockMaxPool>(pool, true);
  Prepared prepared;
  prepared.implementation = "own max pool gradient, batch-inner";
  prepared.run = [pixels, dtype = pool.dtype](const Call& call) {
    const auto* taken = static_cast<const std::uint8_t*>(call.inputs[1]);
    pixels->each_pixel([&](std::int64_t at, const std::vector<amx::PoolTap>& list) {
      const std::int64_t flushed = amx::max_pool_gradient_pixel(
          dtype, call.inputs[0], taken, {list.data(), static_cast<int>(list.size())},
          pixels->inner(), at_offset(call.outputs[0], dtype, at));
      if (call.flushed && flushed > 0) std::atomic_ref(*call.flushed) += flushed;
    });
  };
  return prepared;
}

}  // namespace narrowgauge::cpu
