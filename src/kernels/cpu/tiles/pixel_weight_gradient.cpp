// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/pixel_weight_gradient.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "kernels/cpu/convert/convert.h"
#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t pixel_block = 32, pixel_block_bytes = 2048, step_bytes = 1024;
constexpr std::int64_t sums_size = pixel_block * pixel_block;  // f32 of a block
constexpr std::int64_t wanted_steps = 16;                      // blocks between two visits of a sum
constexpr std::int64_t near_bytes = 1200 << 10;                // packed operands of a unit, in L2
constexpr std::int64_t pixel_shared_bytes = 12 << 20;          // the same in L3, for all threads
constexpr std::int64_t large_pixel_sums = 1 << 20;             // bytes: no copy for each shard
constexpr std::int64_t pixel_partial_bytes = 4 << 20;          // sums of all shards
constexpr std::int64_t most_pixel_shards = 16, few_channels = 16, stored_run = 8;

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -ceil_divide(-a, b);
}

// One spatial axis: for place i of dy, tap k sees pixel stride * (i + shift) + phase of x.
struct Axis {
  std::int64_t x, y, stride;  // sizes
  std::vector<std::int64_t> shift, phase;
  std::int64_t first = 0, span = 0;  // the least shift; how far the others go beyond it

  Axis(const View& x_view, const View& y_view, std::int64_t kernel, const ConvolutionWindow& window,
       std::size_t i)
      : x(x_view.dims[i + 2]), y(y_view.dims[i + 2]), stride(window.strides[i]) {
    for (std::int64_t k = 0; k < kernel; ++k) {
      const std::int64_t offset = k * window.dilations[i] - window.pads_begin[i];
      shift.push_back(floor_divide(offset, stride));
      phase.push_back(offset - shift.back() * stride);
    }
    first = *std::min_element(shift.begin(), shift.end());
    span = *std::max_element(shift.begin(), shift.end()) - first;
  }
};

// Rows [begin, begin + rows) of dy in each of `parts` images; for a window of one row, the images
// are stacked into one.
struct Unit {
  std::int64_t image, parts, begin, rows;
};

// Works in one of two ways. Large maps: fixed shards of units, each with sums of its own. Large
// sums: units are packed once for all, and threads take different blocks of dw.
class PixelWeightGradient {
 public:
  PixelWeightGradient(const ConvolutionViews& views, const ConvolutionWindow& window, int threads)
      : x_(views.x),
        y_(views.y),
        w_(views.w),
        rows_(x_, y_, w_.dims[2], window, 0),
        columns_(x_, y_, w_.dims[3], window, 1),
        threads_(threads) {
    for (std::size_t ky = 0; ky < rows_.shift.size(); ++ky)
      for (std::size_t kx = 0; kx < columns_.shift.size(); ++kx) add_tap(ky, kx);
    x_is_a_ = taps() == 1 && channels() < outputs();
    zeros_.resize(
        static_cast<std::size_t>(bytes_for(std::max(channels(), outputs()), DType::bf16)));
    choose();
    set_offsets();
  }

  std::int64_t workspace() const {
    return sums_bytes() * shards_ + buffers() * packed_bytes() + threads_ * scratch_bytes();
  }

  void run(const Call& call) const {
    auto* const sums = static_cast<float*>(call.workspace);
    std::byte* const packed = static_cast<std::byte*>(call.workspace) + sums_bytes() * shards_;
    std::byte* const scratch = packed + buffers() * packed_bytes();
    if (shared_)
      run_shared(call, sums, packed, scratch);
    else
      hand_out(shards_, threads_, [&](std::int64_t shard, std::int64_t worker) {
        run_shard(call, shard, sums + shard * sums_bytes() / 4,
                  {packed + worker * packed_bytes(), scratch + worker * scratch_bytes()});
      });
    store(sums, scratch, call);
  }

 private:
  struct Tap {
    std::int64_t plane, distance;  // pixels of x's plane from those of dy
  };
  struct Plane {
    std::int64_t row_phase, column_phase;
    bool odd = false;     // some tap reads pairs that begin at an odd pixel
    std::int64_t at = 0;  // bytes in a block of channels: pairs of even, then those of odd
  };

  std::int64_t channels() const { return x_.dims[1]; }
  std::int64_t outputs() const { return y_.dims[1]; }
  std::int64_t x_blocks() const { return ceil_divide(channels(), pixel_block); }
  std::int64_t y_blocks() const { return ceil_divide(outputs(), pixel_block); }
  std::int64_t a_blocks() const { return x_is_a_ ? x_blocks() : y_blocks(); }
  std::int64_t b_blocks() const { return x_is_a_ ? y_blocks() : x_blocks(); }
  std::int64_t taps() const { return static_cast<std::int64_t>(taps_.size()); }
  std::int64_t pitch() const { return columns_.y + columns_.span; }
  bool one_image() const { return rows_.span == 0; }
  std::int64_t images() const { return one_image() ? 1 : y_.dims[0]; }
  std::int64_t image_rows() const { return one_image() ? y_.dims[0] * rows_.y : rows_.y; }

  std::int64_t sums_bytes() const { return x_blocks() * y_blocks() * taps() * sums_size * 4; }
  std::int64_t a_bytes() const { return a_blocks() * parts_ * steps_ * pixel_block_bytes; }
  std::int64_t packed_bytes() const { return a_bytes() + b_blocks() * parts_ * part_bytes_; }
  std::int64_t buffers() const { return shared_ ? 1 : threads_; }
  // Holds the places of pixels; later the sums of a block and 32 rows of dw.
  std::int64_t scratch_bytes() const {
    const std::int64_t pixels = (2 * pairs_of(steps_) + 1) * std::int64_t{sizeof(std::byte*)};
    const std::int64_t floats = sums_size + pixel_block * row_floats();
    return round_up(std::max(pixels, floats * 4), 64);
  }
  // Blocks of x that are stored together, so that dw is written in long runs.
  std::int64_t stored_blocks() const { return std::max<std::int64_t>(1, stored_run / taps()); }
  std::int64_t row_floats() const { return stored_blocks() * pixel_block * taps(); }

  void add_tap(std::size_t ky, std::size_t kx) {
    const std::int64_t distance =
        (rows_.shift[ky] - rows_.first) * pitch() + columns_.shift[kx] - columns_.first;
    std::size_t plane = 0;
    while (plane < planes_.size() && (planes_[plane].row_phase != rows_.phase[ky] ||
                                      planes_[plane].column_phase != columns_.phase[kx]))
      ++plane;
    if (plane == planes_.size()) planes_.push_back({rows_.phase[ky], columns_.phase[kx]});
    planes_[plane].odd |= distance % 2 != 0;
    taps_.push_back({static_cast<std::int64_t>(plane), distance});
  }

  // The blocks of 32 pixels in `rows` rows of dy.
  std::int64_t steps_of(std::int64_t rows) const {
    return ceil_divide(rows * pitch(), pixel_block);
  }
  // The pairs of a plane of x that `steps` blocks of dy meet.
  std::int64_t pairs_of(std::int64_t steps) const {
    return ceil_divide(steps * pixel_block + rows_.span * pitch() + columns_.span + 1, 2);
  }
  std::int64_t copies() const {
    std::int64_t count = 0;
    for (const Plane& plane : planes_) count += plane.odd ? 2 : 1;
    return count;
  }

  void choose() {
    shared_ = sums_bytes() >= large_pixel_sums;
    const std::int64_t of_step = pixel_block_bytes * (a_blocks() + b_blocks() * copies());
    const std::int64_t steps = std::clamp<std::int64_t>(
        (shared_ ? pixel_shared_bytes : near_bytes) / of_step, 1, wanted_steps);
    const std::int64_t fitting = std::max<std::int64_t>(1, steps * pixel_block / pitch());
    band_ = ceil_divide(image_rows(), ceil_divide(image_rows(), fitting));
    bands_ = ceil_divide(image_rows(), band_);
    steps_ = steps_of(band_);
    parts_ = bands_ > 1 ? 1 : std::clamp<std::int64_t>(steps / steps_, 1, images());
    units_ = ceil_divide(images(), parts_) * bands_;
    shards_ = shared_ ? 1
                      : std::clamp<std::int64_t>(pixel_partial_bytes / sums_bytes(), 1,
                                                 std::min(most_pixel_shards, units_));
    const std::int64_t half = pairs_of(steps_) * 64;
    half_ = half;
    for (Plane& plane : planes_) {
      plane.at = part_bytes_;
      part_bytes_ += half * 2 * (plane.odd ? 2 : 1);
    }
  }

  void set_offsets() {
    for (const Tap& tap : taps_) {
      const Plane& plane = planes_[static_cast<std::size_t>(tap.plane)];
      offsets_.push_back(plane.at + (tap.distance % 2) * 2 * half_ + tap.distance / 2 * 64);
    }
  }

  Unit unit(std::int64_t number) const {
    const std::int64_t image = number / bands_ * parts_, begin = number % bands_ * band_;
    return {image, std::min(parts_, images() - image), begin,
            std::min(band_, image_rows() - begin)};
  }

  // A row of x or y, counted as dy's rows are; null if it is outside.
  const std::byte* row(const View& view, const void* data, std::int64_t image, std::int64_t dy_row,
                       std::int64_t stride, std::int64_t offset) const {
    if (one_image()) {
      image = dy_row / rows_.y;
      dy_row %= rows_.y;
    }
    const std::int64_t y = dy_row * stride + offset;
    if (y < 0 || y >= view.dims[2]) return nullptr;
    return static_cast<const std::byte*>(
        at_offset(data, view.dtype, image * view.strides[0] + y * view.strides[2]));
  }

  struct Buffers {
    std::byte *packed, *scratch;
    const std::byte** pixels() const { return reinterpret_cast<const std::byte**>(scratch); }
  };

  // The places of dy's pixels in part `part` of a unit; zeros beyond each row and at the end.
  void find_y(const Call& call, const Unit& unit, std::int64_t part,
              const std::byte** pixels) const {
    std::fill_n(pixels, 2 * pairs_of(steps_) + 1, zeros_.data());
    for (std::int64_t r = 0; r < unit.rows; ++r) {
      const std::byte* const from =
          row(y_, call.inputs[1], unit.image + part, unit.begin + r, 1, 0);
      for (std::int64_t j = 0; j < columns_.y; ++j)
        pixels[r * pitch() + j] = from + j * y_.strides[3] * 2;
    }
  }

  // The places of a plane of x, with the surrounding rows and columns that the window sees.
  void find_x(const Call& call, const Unit& unit, std::int64_t part, const Plane& plane,
              const std::byte** pixels) const {
    std::fill_n(pixels, 2 * pairs_of(steps_) + 1, zeros_.data());
    for (std::int64_t r = 0; r < unit.rows + rows_.span; ++r) {
      const std::byte* const from = row(x_, call.inputs[0], unit.image + part, unit.begin + r,
                                        rows_.stride, rows_.first * rows_.stride + plane.row_phase);
      for (std::int64_t j = 0; from && j < pitch(); ++j) {
        const std::int64_t column = (j + columns_.first) * columns_.stride + plane.column_phase;
        if (column >= 0 && column < columns_.x)
          pixels[r * pitch() + j] = from + column * x_.strides[3] * 2;
      }
    }
  }

  // Packs A [block][part][step], then B [block][part][plane]. A is dy; if x is not shifted, A is
  // the operand with fewer channels, as transposing costs more than pairing.
  void pack_part(const Call& call, const Unit& unit, std::int64_t part, bool x,
                 const Buffers& to) const {
    if (!x) {
      find_y(call, unit, part, to.pixels());
      return x_is_a_ ? pack_b(part, planes_[0], outputs(), to) : pack_a(part, outputs(), to);
    }
    for (const Plane& plane : planes_) {
      find_x(call, unit, part, plane, to.pixels());
      x_is_a_ ? pack_a(part, channels(), to) : pack_b(part, plane, channels(), to);
    }
  }
  void pack_a(std::int64_t part, std::int64_t count, const Buffers& to) const {
    for (std::int64_t i = 0; i < a_blocks(); ++i)
      for (std::int64_t step = 0; step < steps_; ++step)
        amx::pack_pixel_rows(
            {to.pixels() + step * pixel_block, i * pixel_block, count - i * pixel_block},
            to.packed + ((i * parts_ + part) * steps_ + step) * pixel_block_bytes);
  }
  void pack_b(std::int64_t part, const Plane& plane, std::int64_t count, const Buffers& to) const {
    for (std::int64_t i = 0; i < b_blocks(); ++i) {
      std::byte* const even = to.packed + a_bytes() + (i * parts_ + part) * part_bytes_ + plane.at;
      amx::pack_pixel_pairs({to.pixels(), i * pixel_block, count - i * pixel_block},
                            pairs_of(steps_),
                            {even, plane.odd ? even + 2 * half_ : nullptr, half_});
    }
  }

  // Computes the sums [A block][B block][tap] for a range of blocks of A.
  void multiply(const Unit& unit, const std::byte* packed, std::array<std::int64_t, 2> range,
                bool add, float* sums) const {
    for (std::int64_t i = range[0]; i < range[1]; ++i)
      for (std::int64_t j = 0; j < b_blocks(); ++j)
        amx::multiply_pixels(
            {packed + i * parts_ * steps_ * pixel_block_bytes,
             packed + a_bytes() + j * parts_ * part_bytes_, unit.parts, steps_, part_bytes_, half_,
             add, sums + (i * b_blocks() + j) * taps() * sums_size},
            offsets_.data(), taps());
  }

  void run_shard(const Call& call, std::int64_t shard, float* sums, const Buffers& to) const {
    const std::int64_t begin = units_ * shard / shards_, end = units_ * (shard + 1) / shards_;
    for (std::int64_t number = begin; number < end; ++number) {
      const Unit one = unit(number);
      for (std::int64_t part = 0; part < one.parts; ++part) {
        pack_part(call, one, part, false, to);
        pack_part(call, one, part, true, to);
      }
      multiply(one, to.packed, {0, a_blocks()}, number > begin, sums);
    }
  }

  void run_shared(const Call& call, float* sums, std::byte* packed, std::byte* scratch) const {
    for (std::int64_t number = 0; number < units_; ++number) {
      const Unit one = unit(number);
      hand_out(2 * one.parts, threads_, [&](std::int64_t task, std::int64_t worker) {
        const Buffers to{packed, scratch + worker * scratch_bytes()};
        pack_part(call, one, task / 2, task % 2 == 0, to);
      });
      hand_out(a_blocks(), threads_, [&](std::int64_t i, std::int64_t) {
        multiply(one, packed, {i, i + 1}, number > 0, sums);
      });
    }
  }

  // Stores the shards' sums, added in their order, as rows of dw [outputs][channels][taps].
  void store(const float* sums, std::byte* scratch, const Call& call) const {
    FlushedCount flushed;
    const std::int64_t groups = ceil_divide(x_blocks(), stored_blocks());
    hand_out(y_blocks() * groups, threads_, [&](std::int64_t task, std::int64_t worker) {
      auto* const own = reinterpret_cast<float*>(scratch + worker * scratch_bytes());
      flushed.add(
          store_rows(sums, task / groups, task % groups * stored_blocks(), own, call.outputs[0]));
    });
    flushed.report(call, w_.dtype);
  }

  // Stores block `m` of outputs, for blocks of channels from `first` on.
  std::int64_t store_rows(const float* sums, std::int64_t m, std::int64_t first, float* scratch,
                          void* dw) const {
    float* const rows = scratch + sums_size;
    const std::int64_t end = std::min(first + stored_blocks(), x_blocks());
    for (std::int64_t c = first; c < end; ++c)
      for (std::int64_t tap = 0; tap < taps(); ++tap) {
        const std::int64_t at = x_is_a_ ? c * b_blocks() + m : m * b_blocks() + c;
        join(sums + (at * taps() + tap) * sums_size, scratch);
        place(scratch, rows + (c - first) * pixel_block * taps() + tap);
      }
    const std::int64_t channel = first * pixel_block;
    const std::int64_t run = (std::min(end * pixel_block, channels()) - channel) * taps();
    std::int64_t flushed = 0;
    for (std::int64_t r = m * pixel_block; r < std::min((m + 1) * pixel_block, outputs()); ++r)
      narrow_row(rows + r % pixel_block * row_floats(), w_.dtype,
                 at_offset(dw, w_.dtype, (r * channels() + channel) * taps()), run,
                 w_.dtype == DType::f16 ? &flushed : nullptr);
    return flushed;
  }

  void join(const float* own, float* total) const {
    std::copy_n(own, sums_size, total);
    for (std::int64_t shard = 1; shard < shards_; ++shard) {
      own += sums_bytes() / 4;
      for (std::int64_t k = 0; k < sums_size; ++k) total[k] += own[k];
    }
  }
  // Puts a block of one tap into rows of dw.
  void place(const float* total, float* rows) const {
    const std::int64_t from_row = x_is_a_ ? 1 : pixel_block,
                       from_channel = x_is_a_ ? pixel_block : 1;
    const std::int64_t to_row = row_floats(), to_channel = taps();
    for (std::int64_t r = 0; r < pixel_block; ++r)
      for (std::int64_t k = 0; k < pixel_block; ++k)
        rows[r * to_row + k * to_channel] = total[r * from_row + k * from_channel];
  }

  View x_, y_, w_;
  Axis rows_, columns_;
  std::vector<Tap> taps_;
  std::vector<Plane> planes_;
  std::vector<std::int64_t> offsets_;  // of each tap in a block of channels of x
  std::vector<std::byte> zeros_;       // a pixel
  bool shared_ = false, x_is_a_ = false;
  std::int64_t band_ = 0, bands_ = 0;   // rows of dy; how many an image has
  std::int64_t parts_ = 0, steps_ = 0;  // of a unit at most; of a part
  std::int64_t half_ = 0, part_bytes_ = 0;
  std::int64_t units_ = 0, shards_ = 1, threads_ = 1;
};

bool has_packed_channels(const View& view) { return view.strides[1] == 1 || view.dims[1] == 1; }

}  // namespace

std::string pixel_weight_gradient_reason(const ConvolutionViews& views,
                                         const ConvolutionWindow& window, Isa isa) {
  const auto& [x, w, y, bias] = views;
  if (std::string reason = tile_isa_reason(isa); !reason.empty()) return reason;
  if (x.dtype != DType::bf16 || y.dtype != DType::bf16)
    return concat("images of ", x.dtype, " and ", y.dtype);
  if (w.dtype == DType::f64) return "weights of f64";
  if (x.dims.size() != 4) return "needs two spatial axes";
  if (window.groups != 1) return concat(window.groups, " groups");
  if (x.dims[1] < few_channels) return concat("only ", x.dims[1], " channels");
  if (!has_packed_channels(x) || !has_packed_channels(y)) return "images are not channels last";
  if (w.strides != dense_view(w.dtype, w.dims).strides) return "weights with strides";
  if (element_count(x.dims) == 0 || element_count(y.dims) == 0) return "nothing is summed";
  return {};
}

Prepared prepare_pixel_weight_gradient(const ConvolutionViews& views,
                                       const ConvolutionWindow& window,
                                       const ContractionOptions& options) {
  const std::string reason = pixel_weight_gradient_reason(views, window, isa());
  require(reason.empty(), "weight gradient along pixels: ", reason);
  const int threads = options.threads > 0 ? options.threads : thread_count();
  const auto gradient = std::make_shared<const PixelWeightGradient>(views, window, threads);
  return {"amx tiles, pixels", gradient->workspace(),
          [gradient](const Call& call) { gradient->run(call); }, tile_facts(views.x.dtype)};
}

}  // namespace narrowgauge::cpu
