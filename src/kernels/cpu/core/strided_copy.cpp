// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/core/strided_copy.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/machine/stack_room.h"
#include "base/threads/parallel.h"
#include "kernels/cpu/convert/convert.h"
#include "kernels/cpu/core/strided_run.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t run_length = 512;     // elements summed or converted at once
constexpr std::int64_t tile = 64;            // a tile of 64 x 64 floats lies in L1
constexpr std::int64_t copied_each = 16384;  // elements to a piece of work

struct StridedLoop {
  std::int64_t size, in_stride, out_stride;
};

using StridedLoops = std::pmr::vector<StridedLoop>;

// The loops over the elements, the output's widest stride first, neighbours merged if possible.
StridedLoops loops_over(const View& from, const View& to, std::pmr::memory_resource& room) {
  StridedLoops loops(&room), merged(&room);
  loops.reserve(to.dims.size());
  merged.reserve(to.dims.size() + 1);
  for (std::size_t axis = 0; axis < to.dims.size(); ++axis) {
    if (to.dims[axis] == 1) continue;
    const auto place = std::ranges::find_if(
        loops, [&](const StridedLoop& loop) { return loop.out_stride < to.strides[axis]; });
    loops.insert(place, {to.dims[axis], from.strides[axis], to.strides[axis]});
  }
  for (const StridedLoop& loop : loops) {
    if (!merged.empty() && merged.back().in_stride == loop.in_stride * loop.size &&
        merged.back().out_stride == loop.out_stride * loop.size)
      merged.back() = {merged.back().size * loop.size, loop.in_stride, loop.out_stride};
    else
      merged.push_back(loop);
  }
  if (merged.empty()) merged.push_back({1, 1, 1});
  return merged;
}

template <class T>
void turn(const void* in, const StridedLoop& inner, void* out, const StridedLoop& across) {
  for (std::int64_t j = 0; j < across.size; ++j)
    for (std::int64_t i = 0; i < inner.size; ++i)
      static_cast<T*>(out)[j * across.out_stride + i * inner.out_stride] =
          static_cast<const T*>(in)[j * across.in_stride + i * inner.in_stride];
}

// One copy, cut into work items: blocks of two loops, the inner one and one across it, and an index
// over the others.
class Copy {
 public:
  Copy(const View& from, const void* in, const View& to, void* out)
      : from_(from.dtype), to_(to.dtype), in_(in), out_(out), loops_(loops_over(from, to, room_)) {
    inner_ = loops_.back();
    loops_.pop_back();
    choose_across();
    inner_block_ = std::min(turned_ ? tile : copied_each, inner_.size);
    across_block_ = std::clamp<std::int64_t>(copied_each / inner_block_, 1, across_.size);
    inner_blocks_ = (inner_.size + inner_block_ - 1) / inner_block_;
    across_blocks_ = (across_.size + across_block_ - 1) / across_block_;
    items_ = inner_blocks_ * across_blocks_;
    for (const StridedLoop& loop : loops_) items_ *= loop.size;
  }

  std::int64_t run() const {
    std::atomic<std::int64_t> flushed = 0;
    const std::int64_t grain = copied_each / (inner_block_ * across_block_);
    parallel_for(items_, std::max<std::int64_t>(1, grain),
                 [&](std::int64_t begin, std::int64_t end) {
                   std::int64_t zeros = 0;
                   for (std::int64_t item = begin; item < end; ++item) zeros += run_item(item);
                   flushed.fetch_add(zeros, std::memory_order_relaxed);
                 });
    return flushed;
  }

 private:
  // Chooses the loop walked with the inner one: the one along which the input is densest, if it is
  // denser there than along the inner one (the copy then transposes tiles), else the next.
  void choose_across() {
    auto chosen = loops_.end();
    for (auto loop = loops_.begin(); loop != loops_.end(); ++loop)
      if (loop->in_stride > 0 && loop->in_stride < inner_.in_stride &&
          (chosen == loops_.end() || loop->in_stride < chosen->in_stride))
        chosen = loop;
    turned_ = chosen != loops_.end();
    if (!turned_ && !loops_.empty()) chosen = loops_.end() - 1;
    if (chosen == loops_.end()) return;
    across_ = *chosen;
    loops_.erase(chosen);
  }

  std::int64_t run_item(std::int64_t item) const {
    const std::int64_t i = item % inner_blocks_ * inner_block_;
    const std::int64_t j = item / inner_blocks_ % across_blocks_ * across_block_;
    std::int64_t rest = item / inner_blocks_ / across_blocks_;
    std::int64_t in = i * inner_.in_stride + j * across_.in_stride;
    std::int64_t out = i * inner_.out_stride + j * across_.out_stride;
    for (std::size_t k = loops_.size(); k-- > 0; rest /= loops_[k].size) {
      in += rest % loops_[k].size * loops_[k].in_stride;
      out += rest % loops_[k].size * loops_[k].out_stride;
    }
    const std::int64_t count = std::min(inner_block_, inner_.size - i);
    const std::int64_t width = std::min(across_block_, across_.size - j);
    return turned_ ? copy_tiles(in, out, count, width) : copy_runs(in, out, count, width);
  }

  const void* input(std::int64_t element) const { return at_offset(in_, from_, element); }
  void* output(std::int64_t element) const { return at_offset(out_, to_, element); }

  std::int64_t copy_runs(std::int64_t in, std::int64_t out, std::int64_t count,
                         std::int64_t width) const {
    std::int64_t flushed = 0;
    const bool dense = inner_.in_stride == 1 && inner_.out_stride == 1;
    for (std::int64_t j = 0; j < width; ++j, in += across_.in_stride, out += across_.out_stride) {
      if (dense && from_ == to_)
        std::memcpy(output(out), input(in), static_cast<std::size_t>(bytes_for(count, to_)));
      else if (dense && to_ == DType::f32)
        widen_row(from_, input(in), static_cast<float*>(output(out)), count);
      else if (dense && from_ == DType::f32)
        narrow_row(static_cast<const float*>(input(in)), to_, output(out), count, &flushed);
      else
        copy_run(in, out, count, flushed);
    }
    return flushed;
  }

  void copy_run(std::int64_t in, std::int64_t out, std::int64_t count,
                std::int64_t& flushed) const {
    alignas(64) std::array<float, run_length> buffer;
    for (std::int64_t i = 0; i < count; i += run_length) {
      const std::int64_t now = std::min(run_length, count - i);
      widen_run(from_, input(in + i * inner_.in_stride), inner_.in_stride, buffer.data(), now);
      narrow_run(buffer.data(), to_, output(out + i * inner_.out_stride), inner_.out_stride, now,
                 &flushed);
    }
  }

  std::int64_t copy_tiles(std::int64_t in, std::int64_t out, std::int64_t count,
                          std::int64_t width) const {
    std::int64_t flushed = 0;
    for (std::int64_t j = 0; j < width; j += tile) {
      StridedLoop inner = inner_, across = across_;
      inner.size = count;
      across.size = std::min(tile, width - j);
      const std::int64_t tile_in = in + j * across.in_stride,
                         tile_out = out + j * across.out_stride;
      if (from_ == to_ && bits(to_) == 32)
        turn<std::uint32_t>(input(tile_in), inner, output(tile_out), across);
      else if (from_ == to_ && bits(to_) == 16)
        turn<std::uint16_t>(input(tile_in), inner, output(tile_out), across);
      else
        flushed += convert_tile(tile_in, tile_out, inner, across);
    }
    return flushed;
  }

  // Reads runs along `across`, transposes the tile, writes runs along `inner`.
  std::int64_t convert_tile(std::int64_t in, std::int64_t out, const StridedLoop& inner,
                            const StridedLoop& across) const {
    std::int64_t flushed = 0;
    alignas(64) std::array<float, tile * tile> rows;
    alignas(64) std::array<float, tile> column;
    for (std::int64_t i = 0; i < inner.size; ++i)
      widen_run(from_, input(in + i * inner.in_stride), across.in_stride, rows.data() + i * tile,
                across.size);
    for (std::int64_t j = 0; j < across.size; ++j) {
      for (std::int64_t i = 0; i < inner.size; ++i)
        column[static_cast<std::size_t>(i)] = rows[static_cast<std::size_t>(i * tile + j)];
      narrow_run(column.data(), to_, output(out + j * across.out_stride), inner.out_stride,
                 inner.size, &flushed);
    }
    return flushed;
  }

  DType from_, to_;
  const void* in_;
  void* out_;
  StackRoom<1024> room_;
  StridedLoops loops_;  // the others
  StridedLoop inner_{}, across_{1, 0, 0};
  bool turned_ = false;
  std::int64_t inner_block_ = 0, across_block_ = 0, inner_blocks_ = 0, across_blocks_ = 0;
  std::int64_t items_ = 0;
};

}  // namespace

void copy_strided(const View& from, const void* in, const View& to, void* out,
                  std::int64_t* flushed) {
  NG_INVARIANT(from.dims == to.dims && bits(from.dtype) >= 8 && bits(to.dtype) >= 8);
  NG_INVARIANT(from.dtype != DType::f64 && to.dtype != DType::f64);
  if (element_count(to.dims) == 0) return;
  const std::int64_t zeros = Copy(from, in, to, out).run();
  if (flushed) *flushed += zeros;
}

void sum_parts(const float* in, std::int64_t parts, std::int64_t count, float* out) {
  parallel_for(count, copied_each, [&](std::int64_t begin, std::int64_t end) {
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
