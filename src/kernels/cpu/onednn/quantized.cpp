// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/onednn/quantized.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/threads/parallel.h"
#include "ir/reason.h"
#include "kernels/cpu/bytes/quantized_lists.h"
#include "kernels/cpu/core/work.h"
#include "kernels/cpu/onednn/sharded_primitive.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t tile_rows = 12;
constexpr std::int64_t slack = 64;  // bytes behind the sums that are read and not used

// A product is a convolution of one image, whose pixels are the rows.
struct Case {
  QuantizedViews views;
  ConvolutionWindow window;
};

View as_line(const View& view) {
  const std::int64_t channels = view.dims[1];
  return channels_last_view(view.dtype, {1, channels, element_count(view.dims) / channels});
}

bool is_product(const QuantizedViews& views, const ConvolutionWindow& window) {
  const auto all = [](const Dims& list, std::int64_t value) {
    return std::ranges::all_of(list, [&](std::int64_t each) { return each == value; });
  };
  return all(Dims(views.w.dims.begin() + 2, views.w.dims.end()), 1) && all(window.strides, 1) &&
         all(window.pads_begin, 0) && all(window.pads_end, 0) && window.groups == 1;
}

Case simplified(const QuantizedViews& views, const ConvolutionWindow& window) {
  if (!is_product(views, window)) return {views, window};
  Case line{views, {{1}, {1}, {0}, {0}, 1}};
  line.views.x = as_line(views.x);
  line.views.y = as_line(views.y);
  if (views.residual) line.views.residual = as_line(*views.residual);
  line.views.w.dims.resize(3, 1);
  line.views.w.strides.resize(3, 1);
  return line;
}

// x as u8 with its pads, where zeros would not stand for them.
class PaddedCopy {
 public:
  PaddedCopy(const Case& given, std::optional<std::int32_t> x_zero)
      : x_(given.views.x), flip_(x_.dtype == DType::i8 ? 0x80 : 0) {
    const ConvolutionWindow& window = given.window;
    bool pads = false;
    for (std::size_t i = 0; i < window.pads_begin.size(); ++i)
      pads = pads || window.pads_begin[i] > 0 || window.pads_end[i] > 0;
    needed_ = flip_ != 0 || (pads && x_zero != 0);
    dims_ = x_.dims;
    before_ = Dims(dims_.size() - 2, 0);
    if (!needed_ || !pads) return;
    before_ = window.pads_begin;
    for (std::size_t i = 0; i < before_.size(); ++i)
      dims_[i + 2] += window.pads_begin[i] + window.pads_end[i];
  }

  bool needed() const { return needed_; }
  View view() const { return channels_last_view(DType::u8, dims_); }
  std::int64_t bytes() const { return needed_ ? round_up(element_count(dims_), 64) : 0; }

  void make(const std::byte* x, std::int32_t zero, std::byte* to) const {
    const std::int64_t lines = element_count(dims_) / (dims_[1] * dims_.back());
    const std::int64_t line = dims_[1] * dims_.back(), own = x_.dims[1] * x_.dims.back();
    parallel_for(lines, std::max<std::int64_t>((1 << 14) / line, 1),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     std::memset(to + i * line, zero, static_cast<std::size_t>(line));
                     const std::int64_t from = source_line(i);
                     if (from >= 0)
                       copy(x + from * own, own, to + i * line + before_.back() * dims_[1]);
                   }
                 });
  }

 private:
  // The line of x that a line of the copy holds; -1: none.
  std::int64_t source_line(std::int64_t line) const {
    std::int64_t result = 0, scale = 1;
    for (std::size_t axis = dims_.size() - 1; axis-- > 2;) {
      const std::int64_t at = line % dims_[axis] - before_[axis - 2];
      line /= dims_[axis];
      if (at < 0 || at >= x_.dims[axis]) return -1;
      result += at * scale;
      scale *= x_.dims[axis];
    }
    return result + line * scale;
  }
  void copy(const std::byte* from, std::int64_t count, std::byte* to) const {
    if (flip_ == 0) {
      std::memcpy(to, from, static_cast<std::size_t>(count));
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] ^ std::byte{flip_};
  }

  View x_;
  std::uint8_t flip_;
  bool needed_ = false;
  Dims dims_, before_;
};

// What the finish of a shard needs, as one more of Call::inputs.
struct Finishing {
  QuantizedFinish finish;
  const std::byte* residual;
  std::byte* y;
};

void finish_rows(const Finishing& all, const QuantizedViews& views, const Call& call,
                 std::int64_t begin, std::int64_t end) {
  const std::int64_t channels = views.y.dims[1];
  const auto* const sums = static_cast<const std::int32_t*>(call.outputs[0]);
  const std::int64_t y_size = bits(views.y.dtype) / 8;
  const std::int64_t r_size = views.residual ? bits(views.residual->dtype) / 8 : 0;
  for (std::int64_t row = begin / channels; row < end / channels; row += tile_rows) {
    const std::int64_t at = row * channels;
    finish_quantized(
        all.finish,
        {std::min(tile_rows, end / channels - row), 0, channels, sums + at, nullptr, channels,
         all.residual ? all.residual + at * r_size : nullptr, all.y + at * y_size, channels});
  }
}

enum Source { source_x, source_w, source_finishing };

// Memory holds the lists, the sums, the copy of x, and what the primitive needs.
class OnednnQuantized {
 public:
  OnednnQuantized(const Case& given, const QuantizedNumbers& numbers,
                  std::optional<std::int32_t> x_zero, int threads)
      : given_(given),
        numbers_(numbers),
        copy_(given, x_zero),
        channels_(given.views.y.dims[1]),
        lists_(numbers, 1, channels_, round_up(channels_, quantized_panel)),
        inner_(sums(threads)) {
    sums_at_ = round_up(lists_.bytes(), 64);
    copy_at_ = round_up(sums_at_ + 4 * element_count(given.views.y.dims) + slack, 64);
    inner_at_ = copy_at_ + copy_.bytes();
  }

  Prepared prepared(const std::shared_ptr<const OnednnQuantized>& self) const {
    Prepared prepared{inner_.implementation, inner_at_ + inner_.workspace,
                      [self](const Call& call) { self->run(call); }, inner_.facts};
    prepared.packed = {concat("column sums ", channels_, ' ', inner_.packed.format),
                       packed_at() + inner_.packed.bytes,
                       {quantized_w},
                       [self](const void* const* inputs, std::byte* packed) {
                         self->pack(inputs[quantized_w], packed);
                       }};
    return prepared;
  }

 private:
  std::int64_t packed_at() const { return round_up(4 * channels_, 64); }

  void pack(const void* w, std::byte* packed) const {
    const View& view = given_.views.w;
    auto* const sums = reinterpret_cast<std::int32_t*>(packed);
    std::vector<std::int64_t> places{0};
    for (std::size_t axis = 1; axis < view.dims.size(); ++axis) {
      std::vector<std::int64_t> further;
      for (const std::int64_t at : places)
        for (std::int64_t i = 0; i < view.dims[axis]; ++i)
          further.push_back(at + i * view.strides[axis]);
      places = std::move(further);
    }
    parallel_for(channels_, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t channel = begin; channel < end; ++channel) {
        const auto* const from = static_cast<const std::int8_t*>(w) + channel * view.strides[0];
        sums[channel] = 0;
        for (const std::int64_t place : places) sums[channel] += from[place];
      }
    });
    const std::array<const void*, 2> inputs{nullptr, w};
    if (inner_.packed.bytes > 0) inner_.packed.run(inputs.data(), packed + packed_at());
  }

  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    const QuantizedSteps steps = quantized_steps(numbers_, call, given_.views.y.dtype);
    const std::int32_t zero = steps.x_zero + (given_.views.x.dtype == DType::i8 ? 128 : 0);
    const auto* x = static_cast<const std::byte*>(call.inputs[quantized_x]);
    if (copy_.needed()) {
      copy_.make(x, zero, memory + copy_at_);
      x = memory + copy_at_;
    }
    Finishing finishing{lists_.load(call, steps, memory,
                                    {0, zero, reinterpret_cast<const std::int32_t*>(call.packed)}),
                        static_cast<const std::byte*>(call.inputs[quantized_residual]),
                        static_cast<std::byte*>(call.outputs[0])};
    finishing.finish.y = given_.views.y.dtype;
    if (given_.views.residual) finishing.finish.residual = given_.views.residual->dtype;
    finishing.finish.saturates =
        saturation_bounds(finishing.finish, given_.views.residual.has_value());
    const std::array<const void*, 3> inputs{x, call.inputs[quantized_w], &finishing};
    void* const sums = memory + sums_at_;
    inner_.run({inputs.data(), &sums, memory + inner_at_, nullptr, call.packed + packed_at()});
  }

  // The convolution of u8 by s8 in i32.
  Prepared sums(int threads) const {
    const View x = copy_.needed() ? copy_.view() : given_.views.x;
    const View y = channels_last_view(DType::i32, given_.views.y.dims);
    ConvolutionWindow window = given_.window;
    if (copy_.needed()) {
      std::ranges::fill(window.pads_begin, 0);
      std::ranges::fill(window.pads_end, 0);
    }
    ContractionOptions options{.threads = threads, .lasting = {source_w}};
    options.finish = [views = given_.views](const Call& call, std::int64_t begin,
                                            std::int64_t end) {
      finish_rows(*static_cast<const Finishing*>(call.inputs[source_finishing]), views, call, begin,
                  end);
    };
    return prepare_onednn_sums({x, given_.views.w, y, {}}, window, options);
  }

  Case given_;
  QuantizedNumbers numbers_;
  PaddedCopy copy_;
  std::int64_t channels_;
  QuantizedLists lists_;
  Prepared inner_;
  std::int64_t sums_at_ = 0, copy_at_ = 0, inner_at_ = 0;
};

}  // namespace

std::string onednn_quantized_reason(const QuantizedViews& views, const QuantizedNumbers& numbers) {
  return first_reason(
      [&] { return quantized_convolution_reason(views); },
      [&] { return unless(views.w.dtype == DType::i8, "weights of u8"); },
      [&] { return unless(numbers.w_zero.count == 0, "weights with a zero point"); },
      [&] { return unless(views.w_lasts, "weights that may change"); },
      [&] {
        return unless(is_channels_last(views.x) && is_channels_last(views.y) &&
                          (!views.residual || is_channels_last(*views.residual)),
                      "channels that lie apart");
      });
}

Prepared prepare_onednn_quantized(const QuantizedViews& views, const ConvolutionWindow& window,
                                  const QuantizedNumbers& numbers,
                                  std::optional<std::int32_t> x_zero, int threads) {
  const std::string reason = onednn_quantized_reason(views, numbers);
  require(reason.empty(), "quantised convolution of oneDNN: ", reason);
  const auto made = std::make_shared<const OnednnQuantized>(
      simplified(views, window), numbers, x_zero, threads > 0 ? threads : thread_count());
  return made->prepared(made);
}

}  // namespace narrowgauge::cpu
