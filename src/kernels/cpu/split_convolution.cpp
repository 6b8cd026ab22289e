// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/split_convolution.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/gather_tables.h"
#include "kernels/cpu/split.h"
#include "kernels/cpu/strip.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t near_cache = 640 << 10;     // of L2: weights that stay there
constexpr std::int64_t strip_bytes = 1400 << 10;   // of L2: split rows beside them
constexpr std::int64_t stream_bytes = 10'000'000;  // larger results go past the caches
constexpr std::int64_t fewest_pieces = 12;

constexpr std::int64_t round_up(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

// A kernel of one pixel that sees all pixels takes them as one column.
BatchInnerConvolution as_pixels(BatchInnerConvolution c) {
  if (c.w[2] != 1 || c.w[3] != 1 || c.x[2] != c.y[2] || c.x[3] != c.y[3]) return c;
  for (const Dims* sizes : {&c.window.pads_begin, &c.window.pads_end})
    if (*sizes != Dims{0, 0}) return c;
  for (Dims* dims : {&c.x, &c.y}) *dims = {(*dims)[0], (*dims)[1], (*dims)[2] * (*dims)[3], 1};
  c.window.strides = {1, 1};
  return c;
}

// Ranges whose beginnings and ends both ascend, around those given. Dilations can make a place see
// less than the one before it.
void make_ascending(std::vector<Range>& ranges) {
  std::int64_t end = 0, begin = ranges.back().begin;
  for (Range& range : ranges) range.end = end = std::max(end, range.end);
  for (std::size_t i = ranges.size(); i-- > 0;)
    ranges[i].begin = begin = std::min(begin, ranges[i].begin);
}

std::vector<Range> seen_rows(const GatherPlan& plan) {
  std::vector<Range> seen;
  for (std::int64_t y = 0; y < plan.result.height; ++y) {
    Range range{plan.source.height, 0};
    for (std::int32_t i = plan.row_begin[y]; i < plan.row_begin[y + 1]; ++i) {
      range.begin = std::min<std::int64_t>(range.begin, plan.rows[i].source);
      range.end = std::max<std::int64_t>(range.end, plan.rows[i].source + 1);
    }
    seen.push_back(range);
  }
  make_ascending(seen);
  return seen;
}

std::vector<Range> seen_columns(const GatherPlan& plan) {
  std::vector<Range> seen;
  for (std::int64_t x = 0; x < plan.result.width; ++x) {
    Range range{plan.source.width, 0};
    for (std::int32_t i = plan.column_begin[x]; i < plan.column_begin[x + 1]; ++i) {
      const ColumnRun& run = plan.columns[i];
      range.begin = std::min<std::int64_t>(range.begin, run.source);
      range.end = std::max<std::int64_t>(range.end, run.source + run.length);
    }
    seen.push_back(range);
  }
  make_ascending(seen);
  return seen;
}

// A tile of the result: what it sees of the source is split at a time.
struct Tile {
  std::int64_t rows = 1, columns = 1;
};

class SplitGather {
 public:
  explicit SplitGather(const BatchInnerConvolution& c)
      : backward_(c.pass != ConvolutionPass::forward),
        image_(c.image),
        bias_(c.bias),
        tables_(as_pixels(c)),
        plan_(tables_.plan()),
        threads_(thread_count()),
        seen_rows_(seen_rows(plan_)),
        seen_columns_(seen_columns(plan_)) {
    find_needed();
    choose_tile();
    choose_pieces();
  }
  SplitGather(const SplitGather&) = delete;
  SplitGather& operator=(const SplitGather&) = delete;

  std::int64_t workspace() const {
    return weight_bytes() + round_up(plan_.result.blocks * 32 * 4) + workers() * strip_size();
  }

  void run(const Call& call) const {
    auto* const weights = static_cast<std::byte*>(call.workspace);
    auto* const bias = reinterpret_cast<float*>(weights + weight_bytes());
    std::byte* const strips = weights + weight_bytes() + round_up(plan_.result.blocks * 32 * 4);
    parallel_for(plan_.result.blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      amx::pack_split_weights(image_, static_cast<const std::byte*>(call.inputs[backward_ ? 0 : 1]),
                              tables_.weights(), begin, end, weights);
    });
    load_bias(bias_, bias_ ? call.inputs[2] : nullptr, plan_.result.blocks * 32, bias);
    std::atomic<std::int64_t> next = 0, lost = 0;
    parallel_for(workers(), 1, [&](std::int64_t worker, std::int64_t) {
      std::byte* const strip = strips + worker * strip_size();
      std::int64_t own = 0;
      for (std::int64_t i = next++; i < pieces(); i = next++)
        own += run_piece(call, {strip, slots_, 0, 0}, i);
      lost += own;
    });
    if (call.flushed) std::atomic_ref(*call.flushed) += lost;
  }

 private:
  std::int64_t rows() const { return plan_.result.groups * plan_.result.height; }
  std::int64_t weight_bytes() const {
    return plan_.result.blocks * plan_.taps * plan_.source.blocks * split_block_bytes;
  }
  std::int64_t image_bytes() const { return bytes_for(32 * 32, image_); }  // of a block
  std::int64_t pixel_bytes() const { return plan_.source.blocks * split_block_bytes; }
  std::int64_t strip_size() const { return slots_ * columns_ * pixel_bytes(); }
  std::int64_t row_pieces() const { return ceil_divide(rows(), rows_in_piece_); }
  std::int64_t column_pieces() const { return ceil_divide(plan_.result.width, tile_.columns); }
  std::int64_t block_pieces() const { return ceil_divide(plan_.result.blocks, blocks_in_piece_); }
  std::int64_t pieces() const { return row_pieces() * column_pieces() * block_pieces(); }
  std::int64_t workers() const { return std::min<std::int64_t>(threads_, pieces()); }

  // What [begin, end) see together, and the most that `count` neighbours do.
  static Range seen_by(const std::vector<Range>& seen, std::int64_t begin, std::int64_t end) {
    return {seen[static_cast<std::size_t>(begin)].begin,
            seen[static_cast<std::size_t>(end - 1)].end};
  }
  static std::int64_t most_seen(const std::vector<Range>& seen, std::int64_t count) {
    const auto size = static_cast<std::int64_t>(seen.size());
    std::int64_t most = 1;
    for (std::int64_t i = 0; i < size; ++i)
      most = std::max(most, seen_by(seen, i, std::min(size, i + count)).size());
    return most;
  }

  // Strides leave rows and columns that nobody sees.
  void find_needed() {
    needed_rows_.resize(static_cast<std::size_t>(plan_.source.height));
    needed_columns_.resize(static_cast<std::size_t>(plan_.source.width));
    for (std::int32_t i = 0; i < plan_.row_begin[plan_.result.height]; ++i)
      needed_rows_[static_cast<std::size_t>(plan_.rows[i].source)] = true;
    for (std::int32_t i = 0; i < plan_.column_begin[plan_.result.width]; ++i)
      for (std::int32_t x = 0; x < plan_.columns[i].length; ++x)
        needed_columns_[static_cast<std::size_t>(plan_.columns[i].source + x)] = true;
  }

  // The tile whose strip stays in L2 and that costs least: reading the weights from L3 if they are
  // large, and splitting what neighbouring tiles have split too. In cycles for a pixel.
  void choose_tile() {
    constexpr double block_cycles = 250, cycle_bytes = 8;
    const bool far = weight_bytes() > near_cache;
    double least = 0;
    std::int64_t smallest = 0;
    for (std::int64_t parts = 1; parts <= plan_.result.width; ++parts) {
      const std::int64_t columns = ceil_divide(plan_.result.width, parts);
      const std::int64_t width = most_seen(seen_columns_, columns);
      for (std::int64_t count = 1; count <= std::min<std::int64_t>(32, plan_.result.height);
           ++count) {
        const std::int64_t height = most_seen(seen_rows_, count);
        const std::int64_t bytes = height * width * pixel_bytes();
        const auto pixels = double(count * columns);
        const double fresh = double(count * plan_.source.height) / double(plan_.result.height);
        const double cost = ((far ? double(weight_bytes()) / cycle_bytes : 0) +
                             block_cycles * double(plan_.source.blocks) * fresh * double(width)) /
                            pixels;
        const bool fits = bytes <= strip_bytes;
        const bool first = smallest == 0;
        const bool better = fits ? smallest > strip_bytes || cost < least : bytes < smallest;
        if (!first && !better) continue;
        tile_ = {count, columns};
        slots_ = height;
        columns_ = width;
        least = cost;
        smallest = bytes;
      }
    }
  }

  void choose_pieces() {
    const std::int64_t result_bytes = plan_.result.count() * image_bytes();
    stream_ = result_bytes >= stream_bytes;
    pixel_by_pixel_ = weight_bytes() <= near_cache;
    blocks_in_piece_ = plan_.result.blocks;
    const std::int64_t most = std::max<std::int64_t>(1, rows() * column_pieces() / fewest_pieces);
    const std::int64_t usual = std::max<std::int64_t>(1, most / column_pieces());
    tile_.rows = std::min(tile_.rows, usual);
    rows_in_piece_ = usual / tile_.rows * tile_.rows;
    if (pieces() < fewest_pieces)
      blocks_in_piece_ = ceil_divide(plan_.result.blocks, ceil_divide(fewest_pieces, pieces()));
  }

  std::int64_t run_piece(const Call& call, SplitRows strip, std::int64_t index) const {
    const std::int64_t block = index % block_pieces() * blocks_in_piece_;
    const std::int64_t column = index / block_pieces() % column_pieces() * tile_.columns;
    const std::int64_t first = index / block_pieces() / column_pieces() * rows_in_piece_;
    auto* const workspace = static_cast<const std::byte*>(call.workspace);
    SplitGatherPiece piece{strip,
                           workspace,
                           static_cast<std::byte*>(call.outputs[0]),
                           image_,
                           reinterpret_cast<const float*>(workspace + weight_bytes()),
                           0,
                           0,
                           column,
                           std::min(plan_.result.width, column + tile_.columns),
                           block,
                           std::min(plan_.result.blocks, block + blocks_in_piece_),
                           pixel_by_pixel_,
                           stream_};
    const Range columns = seen_by(seen_columns_, piece.column_begin, piece.column_end);
    piece.source.first_column = columns.begin;
    piece.source.columns = columns.size();
    const auto* source = static_cast<const std::byte*>(call.inputs[backward_ ? 1 : 0]);
    const std::int64_t last = std::min(rows(), first + rows_in_piece_);
    std::int64_t lost = 0;
    for (std::int64_t row = first, split = 0; row < last; row = piece.row_end) {
      const std::int64_t group = row / plan_.result.height, y = row % plan_.result.height;
      piece.row_begin = row;
      piece.row_end = std::min({last, row + tile_.rows, (group + 1) * plan_.result.height});
      const Range seen = seen_by(seen_rows_, y, y + piece.row_end - row);
      if (y == 0 || row == first) split = seen.begin;
      for (std::int64_t r = std::max(split, seen.begin); r < seen.end; ++r)
        split_row(source, group, r, piece.source);
      split = std::max(split, seen.end);
      lost += amx::gather_split(plan_, piece);
    }
    return lost;
  }

  void split_row(const std::byte* source, std::int64_t group, std::int64_t row,
                 const SplitRows& to) const {
    if (!needed_rows_[static_cast<std::size_t>(row)]) return;
    const std::int64_t blocks = plan_.source.blocks, end = to.first_column + to.columns;
    std::byte* const slot = to.blocks + row % to.slots * to.columns * pixel_bytes();
    for (std::int64_t x = to.first_column; x < end;) {
      std::int64_t next = x;
      while (next < end && needed_columns_[static_cast<std::size_t>(next)]) ++next;
      const std::int64_t from = plan_.source.row(group, row) + x * blocks;
      amx::split_blocks(image_, source + from * image_bytes(), (next - x) * blocks,
                        slot + (x - to.first_column) * pixel_bytes());
      x = next + 1;
    }
  }

  bool backward_;
  DType image_;
  std::optional<DType> bias_;
  GatherTables tables_;
  const GatherPlan& plan_;
  std::int64_t threads_;
  std::vector<Range> seen_rows_, seen_columns_;  // of the source, for each of the result
  std::vector<bool> needed_rows_, needed_columns_;
  Tile tile_;
  std::int64_t slots_ = 1, columns_ = 1;  // of a strip
  std::int64_t rows_in_piece_ = 1, blocks_in_piece_ = 1;
  bool pixel_by_pixel_ = false, stream_ = false;
};

}  // namespace

void prepare_split_convolution(const BatchInnerConvolution& c, Prepared& prepared) {
  const auto gather = std::make_shared<const SplitGather>(c);
  prepared.workspace = gather->workspace();
  prepared.run = [gather](const Call& call) { gather->run(call); };
}

}  // namespace narrowgauge::cpu
