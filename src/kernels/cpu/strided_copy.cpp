// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/strided_copy.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/strided_run.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t run_length = 512;       // elements summed or converted at once
constexpr std::int64_t tile = 64;              // a tile of 64 x 64 floats lies in L1
constexpr std::int64_t elements_each = 16384;  // elements to a piece of work

struct Loop {
  std::int64_t size, in_stride, out_stride;
};

// Loops over the elements, the output's widest stride first, neighbours merged where they can be.
std::vector<Loop> loops_over(const View& from, const View& to) {
  std::vector<Loop> loops;
  for (std::size_t axis = 0; axis < to.dims.size(); ++axis)
    if (to.dims[axis] != 1) loops.push_back({to.dims[axis], from.strides[axis], to.strides[axis]});
  std::stable_sort(loops.begin(), loops.end(),
                   [](const Loop& a, const Loop& b) { return a.out_stride > b.out_stride; });
  std::vector<Loop> merged;
  for (const Loop& loop : loops) {
    if (!merged.empty() && merged.back().in_stride == loop.in_stride * loop.size &&
        merged.back().out_stride == loop.out_stride * loop.size)
      merged.back() = {merged.back().size * loop.size, loop.in_stride, loop.out_stride};
    else
      merged.push_back(loop);
  }
  if (merged.empty()) merged.push_back({1, 1, 1});
  return merged;
}

// One copy, cut into work items: the index of an item runs over the outer loops and over blocks of
// the inner one.
class Copy {
 public:
  Copy(const View& from, const void* in, const View& to, void* out)
      : from_(from.dtype), to_(to.dtype), in_(in), out_(out), loops_(loops_over(from, to)) {
    inner_ = loops_.back();
    loops_.pop_back();
    if (inner_.in_stride > 1) take_across();
    block_ = across_.size > 1 ? tile : elements_each;
    blocks_ = (inner_.size + block_ - 1) / block_;
    items_ = blocks_;
    for (const Loop& loop : loops_) items_ *= loop.size;
  }

  std::int64_t run() const {
    std::atomic<std::int64_t> flushed = 0;
    const std::int64_t each = std::min(block_, inner_.size) * across_.size;
    parallel_for(items_, std::max<std::int64_t>(1, elements_each / each),
                 [&](std::int64_t begin, std::int64_t end) {
                   std::int64_t lost = 0;
                   for (std::int64_t item = begin; item < end; ++item) lost += run_item(item);
                   flushed.fetch_add(lost, std::memory_order_relaxed);
                 });
    return flushed;
  }

 private:
  // The loop along which the input is densest is walked together with the inner one, in tiles.
  void take_across() {
    auto densest = loops_.end();
    for (auto loop = loops_.begin(); loop != loops_.end(); ++loop)
      if (loop->in_stride > 0 && loop->in_stride < inner_.in_stride &&
          (densest == loops_.end() || loop->in_stride < densest->in_stride))
        densest = loop;
    if (densest == loops_.end()) return;
    across_ = *densest;
    loops_.erase(densest);
  }

  std::int64_t run_item(std::int64_t item) const {
    const std::int64_t begin = item % blocks_ * block_;
    std::int64_t rest = item / blocks_;
    std::int64_t in = begin * inner_.in_stride, out = begin * inner_.out_stride;
    for (std::size_t i = loops_.size(); i-- > 0; rest /= loops_[i].size) {
      in += rest % loops_[i].size * loops_[i].in_stride;
      out += rest % loops_[i].size * loops_[i].out_stride;
    }
    const std::int64_t count = std::min(block_, inner_.size - begin);
    return across_.size > 1 ? copy_tiles(in, out, count) : copy_run(in, out, count);
  }

  const void* input(std::int64_t element) const { return at_offset(in_, from_, element); }
  void* output(std::int64_t element) const { return at_offset(out_, to_, element); }

  std::int64_t copy_run(std::int64_t in, std::int64_t out, std::int64_t count) const {
    std::int64_t lost = 0;
    if (inner_.in_stride == 1 && inner_.out_stride == 1) {
      if (from_ == to_) {
        std::memcpy(output(out), input(in), static_cast<std::size_t>(bytes_for(count, to_)));
        return 0;
      }
      if (to_ == DType::f32)
        return widen_row(from_, input(in), static_cast<float*>(output(out)), count), 0;
      if (from_ == DType::f32) {
        narrow_row(static_cast<const float*>(input(in)), to_, output(out), count, &lost);
        return lost;
      }
    }
    alignas(64) std::array<float, run_length> buffer;
    for (std::int64_t i = 0; i < count; i += run_length) {
      const std::int64_t now = std::min(run_length, count - i);
      widen_run(from_, input(in + i * inner_.in_stride), inner_.in_stride, buffer.data(), now);
      narrow_run(buffer.data(), to_, output(out + i * inner_.out_stride), inner_.out_stride, now,
                 &lost);
    }
    return lost;
  }

  // Reads runs along `across_`, turns the tile, writes runs along the inner loop.
  std::int64_t copy_tiles(std::int64_t in, std::int64_t out, std::int64_t count) const {
    std::int64_t lost = 0;
    alignas(64) std::array<float, tile * tile> rows;
    alignas(64) std::array<float, tile> column;
    for (std::int64_t begin = 0; begin < across_.size; begin += tile) {
      const std::int64_t width = std::min(tile, across_.size - begin);
      const std::int64_t first_in = in + begin * across_.in_stride;
      const std::int64_t first_out = out + begin * across_.out_stride;
      for (std::int64_t i = 0; i < count; ++i)
        widen_run(from_, input(first_in + i * inner_.in_stride), across_.in_stride,
                  rows.data() + i * tile, width);
      for (std::int64_t j = 0; j < width; ++j) {
        for (std::int64_t i = 0; i < count; ++i)
          column[static_cast<std::size_t>(i)] = rows[static_cast<std::size_t>(i * tile + j)];
        narrow_run(column.data(), to_, output(first_out + j * across_.out_stride),
                   inner_.out_stride, count, &lost);
      }
    }
    return lost;
  }

  DType from_, to_;
  const void* in_;
  void* out_;
  std::vector<Loop> loops_;
  Loop inner_{}, across_{1, 0, 0};
  std::int64_t block_ = 0, blocks_ = 0, items_ = 0;
};

}  // namespace

void copy_strided(const View& from, const void* in, const View& to, void* out,
                  std::int64_t* flushed) {
  NG_INVARIANT(from.dims == to.dims && bits(from.dtype) >= 8 && bits(to.dtype) >= 8);
  NG_INVARIANT(from.dtype != DType::f64 && to.dtype != DType::f64);
  if (element_count(to.dims) == 0) return;
  const std::int64_t lost = Copy(from, in, to, out).run();
  if (flushed) *flushed += lost;
}

void sum_parts(const float* in, std::int64_t parts, std::int64_t count, float* out) {
  parallel_for(count, elements_each, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::array<float, run_length> sums;
    for (std::int64_t i = begin; i < end; i += run_length) {
      const std::int64_t now = std::min(run_length, end - i);
      std::memcpy(sums.data(), in + i, static_cast<std::size_t>(now) * sizeof(float));
      for (std::int64_t part = 1; part < parts; ++part) {
        const float* row = in + part * count + i;
        for (std::int64_t j = 0; j < now; ++j) sums[static_cast<std::size_t>(j)] += row[j];
      }
      std::memcpy(out + i, sums.data(), static_cast<std::size_t>(now) * sizeof(float));
    }
  });
}

}  // namespace narrowgauge::cpu
