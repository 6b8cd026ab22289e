// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner/batch_inner_weight_gradient.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "base/threads/parallel.h"
#include "kernels/cpu/batch_inner/split.h"
#include "kernels/cpu/convert/convert.h"
#include "kernels/cpu/core/strip.h"
#include "kernels/cpu/normalization/batch_inner_norm.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t near_strip_bytes = 700 << 10;    // packed rows of both operands, in L2
constexpr std::int64_t shared_strip_bytes = 12 << 20;   // the same in L3, for all threads
constexpr std::int64_t group_bytes = 900 << 10;         // packed blocks that stay while others pass
constexpr std::int64_t batch_partial_bytes = 32 << 20;  // sums of all shards
constexpr std::int64_t small_map = 13 * 13;             // pixels
constexpr std::int64_t large_batch_sums = 4 << 20;

// Packed rows of both operands: `y_rows` rows of dy at a time and the rows of x that they see.
struct Strip {
  std::int64_t y_rows, x_slots;
};

// Columns of dy and the columns of x that they see, packed on their own.
struct Panel {
  WeightGradientPlan plan;
  std::vector<TapRange> columns;  // counted from the panel's first
  std::int64_t x_first = 0, y_first = 0;

  std::int64_t blocks(const Strip& strip) const {
    return strip.x_slots * plan.x.row_blocks() + strip.y_rows * plan.y.row_blocks();
  }
};

// x in its place in memory, and how it is normalized while it is packed (null mean: not at all).
struct PackedImages {
  const std::byte* blocks;
  batch_inner::amx::Affine affine{};
};

// Works in one of two ways. Large maps: fixed shards of rows, each with its own sums and packed
// rows, in panels of columns so narrow that some rows of both operands stay in L2. Small maps with
// large sums: rows are packed once for all, and threads take different blocks of dw.
class WeightGradient {
 public:
  explicit WeightGradient(const BatchInnerConvolution& c) : weight_(c.weight), given_(c.given) {
    plan_.x = batch_inner_images(c.x, c.image);
    plan_.y = batch_inner_images(c.y, c.image);
    plan_.kernel_height = c.w[2];
    plan_.kernel_width = c.w[3];
    plan_.stride_height = c.window.strides[0];
    plan_.stride_width = c.window.strides[1];
    plan_.transpose_x = plan_.x.blocks <= plan_.y.blocks;
    reach_ = {(c.w[2] - 1) * c.window.dilations[0], c.window.pads_begin[0]};
    images_ = plan_.x;
    skip_unseen(c);
    for (std::size_t axis = 0; axis < 2; ++axis) set_ranges(c, axis);
    plan_.rows = ranges_[0].data();
    plan_.columns = ranges_[1].data();
    choose();
    for (Panel& panel : panels_) panel.plan.columns = panel.columns.data();
  }
  WeightGradient(const WeightGradient&) = delete;
  WeightGradient& operator=(const WeightGradient&) = delete;

  std::int64_t workspace() const {
    const std::int64_t buffers = shared_ ? 1 : shards_;
    return buffers * (packed_bytes() + sums_size());
  }

  void run(const Call& call) const {
    const PackedImages x = images(call);
    const auto* y = static_cast<const std::byte*>(call.inputs[1]);
    auto* workspace = static_cast<std::byte*>(call.workspace);
    if (shared_)
      run_shared(x, y, buffers(workspace, 0));
    else
      parallel_for(shards_, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t shard = begin; shard < end; ++shard)
          run_shard(x, y, shard, buffers(workspace, shard));
      });
    store(workspace, call);
  }

 private:
  using Given = BatchInnerConvolution::Given;

  PackedImages images(const Call& call) const {
    PackedImages x{static_cast<const std::byte*>(call.inputs[0])};
    const auto vector = [&](int i) { return static_cast<const float*>(call.inputs[i]); };
    if (given_ != Given::plain)
      x.affine = {vector(2), vector(3), vector(4), given_ == Given::normalized_relu};
    return x;
  }

  struct Buffers {
    PackedRows x, y;
    float* sums;
  };

  std::int64_t sums_size() const {
    return plan_.a_blocks() * plan_.b_blocks() * plan_.taps() * sums_bytes;
  }
  bool is_split() const { return images_.is_split(); }
  std::int64_t packed_block() const { return is_split() ? split_block_bytes : block_bytes; }
  std::int64_t image_block() const { return images_.bytes_in_block(); }
  std::int64_t packed_bytes() const { return panels_[0].blocks(strip_) * packed_block(); }
  std::int64_t rows() const { return plan_.y.groups * plan_.y.height; }

  // Skips pixels that a 1x1 kernel with strides does not see: they are not packed.
  void skip_unseen(const BatchInnerConvolution& c) {
    const bool pads = c.window.pads_begin != Dims{0, 0};
    if (plan_.taps() != 1 || pads) return;
    row_step_ = plan_.stride_height;
    column_step_ = plan_.stride_width;
    plan_.stride_height = plan_.stride_width = 1;
    plan_.x.height = plan_.y.height;
    plan_.x.width = plan_.y.width;
  }

  void set_ranges(const BatchInnerConvolution& c, std::size_t axis) {
    const std::int64_t stride = axis == 0 ? plan_.stride_height : plan_.stride_width;
    const std::int64_t size = axis == 0 ? plan_.x.height : plan_.x.width;
    for (std::int64_t tap = 0; tap < c.w[axis + 2]; ++tap) {
      const std::int64_t offset = tap * c.window.dilations[axis] - c.window.pads_begin[axis];
      const std::int64_t begin =
          std::min(c.y[axis + 2], offset < 0 ? ceil_divide(-offset, stride) : 0);
      const std::int64_t room = size - offset;
      const std::int64_t end = room <= 0 ? 0 : std::min(c.y[axis + 2], ceil_divide(room, stride));
      ranges_[axis].push_back({static_cast<std::int32_t>(begin),
                               static_cast<std::int32_t>(std::max(begin, end)),
                               static_cast<std::int32_t>(begin * stride + offset)});
    }
  }

  Strip strip_of(std::int64_t y_rows) const {
    return {y_rows, std::min(plan_.x.height, (y_rows - 1) * plan_.stride_height + reach_[0] + 1)};
  }

  // The panel of columns [begin, begin + width) of dy, with everything they see of x.
  Panel panel(std::int64_t begin, std::int64_t width) const {
    Panel panel{plan_, {}, 0, begin};
    const std::int64_t end = std::min(begin + width, plan_.y.width), stride = plan_.stride_width;
    std::int64_t first = plan_.x.width, last = 0;
    const auto place = [&](const TapRange& tap, std::int64_t column) {
      return tap.source + (column - tap.begin) * stride;
    };
    for (const TapRange& tap : ranges_[1]) {
      const auto from = static_cast<std::int32_t>(std::max<std::int64_t>(begin, tap.begin));
      const auto to = static_cast<std::int32_t>(std::min<std::int64_t>(end, tap.end));
      panel.columns.push_back({from, std::max(from, to), 0});
      if (to <= from) continue;
      first = std::min(first, place(tap, from));
      last = std::max(last, place(tap, to - 1) + 1);
    }
    for (std::size_t i = 0; i < panel.columns.size(); ++i) {
      TapRange& tap = panel.columns[i];
      if (tap.begin < tap.end)
        tap.source = static_cast<std::int32_t>(place(ranges_[1][i], tap.begin) - first);
      tap.begin -= static_cast<std::int32_t>(begin);
      tap.end -= static_cast<std::int32_t>(begin);
    }
    panel.x_first = std::min(first, last);
    panel.plan.x.width = std::max<std::int64_t>(0, last - first);
    panel.plan.y.width = end - begin;
    return panel;
  }

  void cut(std::int64_t width) {
    panels_.clear();
    for (std::int64_t begin = 0; begin < plan_.y.width; begin += width)
      panels_.push_back(panel(begin, width));
    // Buffers are as large as the widest panel needs.
    std::int64_t widest = 0;
    for (const Panel& one : panels_) widest = std::max(widest, one.plan.x.width);
    for (Panel& one : panels_) one.plan.x.width = widest;
  }

  void choose() {
    constexpr std::int64_t rows_in_shard = 7, most_shards = 32, usual_rows = 4, narrow = 8;
    shared_ = plan_.y.height * plan_.y.width <= small_map || sums_size() >= large_batch_sums;
    const std::int64_t most =
        std::min(most_shards, std::max<std::int64_t>(2, batch_partial_bytes / sums_size()));
    shards_ = std::clamp<std::int64_t>(rows() / rows_in_shard, 1, most);
    const std::int64_t bytes = shared_ ? shared_strip_bytes : near_strip_bytes;
    const std::int64_t most_rows =
        shared_ ? plan_.y.height : std::min(plan_.y.height, ceil_divide(rows(), shards_));
    cut(plan_.y.width);
    const Strip least = strip_of(std::min(usual_rows, most_rows));
    for (std::int64_t count = 2; !shared_ && panels_[0].blocks(least) * packed_block() > bytes;
         ++count) {
      const std::int64_t width = ceil_divide(plan_.y.width, count);
      if (width < narrow) break;
      cut(width);
    }
    strip_ = strip_of(1);
    while (strip_.y_rows < most_rows &&
           panels_[0].blocks(strip_of(strip_.y_rows + 1)) * packed_block() <= bytes)
      strip_ = strip_of(strip_.y_rows + 1);
  }

  Buffers buffers(std::byte* workspace, std::int64_t shard) const {
    std::byte* const own = workspace + shard * (packed_bytes() + sums_size());
    std::byte* const y = own + sums_size();
    return {{y + strip_.y_rows * panels_[0].plan.y.row_blocks() * packed_block(), strip_.x_slots},
            {y, strip_.y_rows},
            reinterpret_cast<float*>(own)};
  }

  // The rows of x that rows [begin, end) of dy see.
  std::array<std::int64_t, 2> seen(std::int64_t begin, std::int64_t end) const {
    const std::int64_t first = begin * plan_.stride_height - reach_[1];
    const std::int64_t last = (end - 1) * plan_.stride_height - reach_[1] + reach_[0];
    return {std::max<std::int64_t>(0, first), std::min(plan_.x.height, last + 1)};
  }

  void pack_x(const Panel& panel, const PackedImages& x, std::int64_t group, std::int64_t row,
              const PackedRows& packed) const {
    const std::int64_t first =
        images_.row(group, row * row_step_) + panel.x_first * column_step_ * images_.blocks;
    const std::int64_t width = std::min(panel.plan.x.width, plan_.x.width - panel.x_first);
    const amx::RowPacking packing{width, panel.plan.x.width, images_.blocks, column_step_,
                                  plan_.transpose_x};
    const std::byte* const from = x.blocks + first * image_block();
    if (x.affine.mean)
      pack_normalized(from, x.affine, packing, row, packed);
    else
      pack(from, packing, row, packed);
  }
  // Normalizes some blocks of a pixel at a time, which stay in L1, and packs them.
  void pack_normalized(const std::byte* from, const batch_inner::amx::Affine& affine,
                       const amx::RowPacking& packing, std::int64_t row,
                       const PackedRows& packed) const {
    constexpr std::int64_t most = 4;
    alignas(64) std::array<std::byte, most * 4096> normalized;
    const std::int64_t row_bytes = packed.slots * packing.pitch * packed_block();
    for (std::int64_t x = 0; x < packing.width; ++x)
      for (std::int64_t block = 0; block < packing.blocks; block += most) {
        const std::int64_t count = std::min(most, packing.blocks - block), at = block * 32;
        const std::byte* const blocks =
            from + (x * packing.column_step * packing.blocks + block) * image_block();
        batch_inner::amx::affine(
            images_.dtype, blocks, nullptr, {1, count},
            {affine.mean + at, affine.factor + at, affine.constant + at, affine.relu},
            normalized.data());
        pack(normalized.data(), {1, packing.pitch, count, 1, packing.transposed}, row,
             {packed.blocks + block * row_bytes + x * packed_block(), packed.slots});
      }
  }
  void pack_y(const Panel& panel, const std::byte* y, std::int64_t group, std::int64_t row,
              const PackedRows& packed) const {
    const std::int64_t first = plan_.y.row(group, row) + panel.y_first * plan_.y.blocks;
    const std::int64_t width = panel.plan.y.width;
    pack(y + first * image_block(), {width, width, plan_.y.blocks, 1, !plan_.transpose_x}, row,
         packed);
  }
  void pack(const std::byte* from, const amx::RowPacking& packing, std::int64_t row,
            const PackedRows& packed) const {
    if (is_split())
      amx::pack_split_row(images_.dtype, from, packing, row % packed.slots, packed);
    else
      amx::pack_row(from, packing, row % packed.slots, packed);
  }
  void multiply(const Panel& panel, const WeightGradientPiece& piece) const {
    is_split() ? amx::weight_gradient_split(panel.plan, piece)
               : amx::weight_gradient(panel.plan, piece);
  }

  void run_shard(const PackedImages& x, const std::byte* y, std::int64_t shard,
                 const Buffers& to) const {
    bool add = false;
    for (const Panel& panel : panels_) {
      run_panel(panel, x, y, shard, to, add);
      add = true;
    }
  }

  void run_panel(const Panel& panel, const PackedImages& x, const std::byte* y, std::int64_t shard,
                 const Buffers& to, bool add) const {
    const std::int64_t begin = rows() * shard / shards_, end = rows() * (shard + 1) / shards_;
    std::int64_t packed_group = -1, packed_end = 0;
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t group = row / plan_.y.height, first = row % plan_.y.height;
      const std::int64_t last =
          std::min({first + strip_.y_rows, plan_.y.height, first + end - row});
      if (group != packed_group) packed_end = 0;
      packed_group = group;
      const auto [from, until] = seen(first, last);
      for (std::int64_t i = std::max(from, packed_end); i < until; ++i)
        pack_x(panel, x, group, i, to.x);
      packed_end = std::max(packed_end, until);
      for (std::int64_t i = first; i < last; ++i) pack_y(panel, y, group, i, to.y);
      const std::int64_t step = blocks_in_group();
      for (std::int64_t b = 0; b < plan_.b_blocks(); b += step)
        multiply(panel, {to.x, to.y, to.sums, first, last, b, std::min(plan_.b_blocks(), b + step),
                         add, near()});
      add = true;
      row += last - first;
    }
  }

  // The number of blocks of b that stay in L2.
  std::int64_t blocks_in_group() const {
    const WeightGradientPlan& plan = panels_[0].plan;
    const std::int64_t row = plan_.transpose_x ? plan.y.width : plan.x.width;
    const std::int64_t slots = plan_.transpose_x ? strip_.y_rows : strip_.x_slots;
    return std::max<std::int64_t>(1, group_bytes / (slots * row * packed_block()));
  }

  // Whether blocks of x meet many of dy: then the sums stream past the pixels, not the reverse.
  bool near() const {
    constexpr std::int64_t most_sums = 640 << 10;
    return !is_split() && plan_.transpose_x && plan_.a_blocks() * plan_.taps() >= 4 &&
           plan_.a_blocks() * plan_.taps() * sums_bytes <= most_sums;
  }

  void run_shared(const PackedImages& x, const std::byte* y, const Buffers& to) const {
    bool add = false;
    const std::int64_t step =
        std::min(blocks_in_group(), std::max<std::int64_t>(1, plan_.b_blocks() / 8));
    for (std::int64_t group = 0; group < plan_.y.groups; ++group) {
      for (std::int64_t first = 0; first < plan_.y.height; first += strip_.y_rows) {
        const std::int64_t last = std::min(plan_.y.height, first + strip_.y_rows);
        const auto [from, until] = seen(first, last);
        const std::int64_t x_rows = std::max<std::int64_t>(0, until - from), start = from;
        parallel_for(x_rows + last - first, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i)
            i < x_rows ? pack_x(panels_[0], x, group, start + i, to.x)
                       : pack_y(panels_[0], y, group, first + i - x_rows, to.y);
        });
        parallel_for(plan_.b_blocks(), step, [&](std::int64_t begin, std::int64_t end) {
          multiply(panels_[0], {to.x, to.y, to.sums, first, last, begin, end, add, false});
        });
        add = true;
      }
    }
  }

  // Stores the shards' sums, added in their order, as rows of dw.
  void store(const std::byte* workspace, const Call& call) const {
    const std::int64_t taps = plan_.taps(), inputs = plan_.x.blocks;
    parallel_for(plan_.y.blocks * inputs, 1, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t flushed = 0;
      std::vector<float> rows(static_cast<std::size_t>(32 * 32 * taps));
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t m = i / inputs, c = i % inputs;
        for (std::int64_t tap = 0; tap < taps; ++tap)
          add_block(workspace, {m, c, tap}, rows.data() + tap);
        const std::int64_t run = 32 * taps, row_size = inputs * run;
        for (std::int64_t r = 0; r < 32; ++r)
          narrow_row(rows.data() + r * run, weight_,
                     at_offset(call.outputs[0], weight_, (m * 32 + r) * row_size + c * run), run,
                     weight_ == DType::f16 ? &flushed : nullptr);
      }
      if (call.flushed && flushed > 0) std::atomic_ref(*call.flushed) += flushed;
    });
  }

  // Adds one block of dw to rows[m][c * taps].
  void add_block(const std::byte* workspace, const std::array<std::int64_t, 3>& place,
                 float* rows) const {
    const auto [m, c, tap] = place;
    const std::int64_t taps = plan_.taps();
    const std::int64_t a = plan_.transpose_x ? c : m, b = plan_.transpose_x ? m : c;
    const std::int64_t at = ((b * taps + tap) * plan_.a_blocks() + a) * 1024;
    std::array<float, 1024> sum{};
    for (std::int64_t shard = 0; shard < (shared_ ? 1 : shards_); ++shard) {
      const float* own = buffers(const_cast<std::byte*>(workspace), shard).sums + at;
      for (std::size_t i = 0; i < 1024; ++i) sum[i] += own[i];
    }
    for (std::int64_t r = 0; r < 32; ++r)
      for (std::int64_t k = 0; k < 32; ++k)
        rows[(r * 32 + k) * taps] =
            sum[static_cast<std::size_t>(plan_.transpose_x ? k * 32 + r : r * 32 + k)];
  }

  DType weight_;
  Given given_;
  WeightGradientPlan plan_;
  std::array<std::vector<TapRange>, 2> ranges_;
  std::array<std::int64_t, 2> reach_{};  // of the kernel beyond its first row; rows of padding
  BatchInnerImages images_;  // x as it lies in memory; plan_.x without the pixels nobody sees
  std::int64_t row_step_ = 1, column_step_ = 1;
  std::vector<Panel> panels_;
  bool shared_ = false;
  std::int64_t shards_ = 1;
  Strip strip_{};
};

}  // namespace

void prepare_batch_inner_weight_gradient(const BatchInnerConvolution& c, Prepared& prepared) {
  const auto gradient = std::make_shared<const WeightGradient>(c);
  prepared.workspace = gradient->workspace();
  prepared.run = [gradient](const Call& call) { gradient->run(call); };
}

}  // namespace narrowgauge::cpu
