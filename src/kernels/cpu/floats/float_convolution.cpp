// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_convolution.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "ir/reason.h"
#include "kernels/cpu/floats/float_depthwise_convolution.h"
#include "kernels/cpu/floats/float_image_convolution.h"
#include "kernels/cpu/floats/float_streams.h"
#include "kernels/cpu/floats/float_stretches.h"
#include "kernels/cpu/floats/float_weights.h"
#include "kernels/cpu/floats/float_window.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t least_depth = 8;   // of a tap: below, most time goes into its start
constexpr std::int64_t most_tasks = 16;   // of rows, for each thread
constexpr std::int64_t float_tasks = 4;   // for each thread
constexpr std::int64_t most_blocks = 14;  // that read a panel in turn
constexpr std::int64_t bytes_each_block = 64 << 10;  // of weights, that may be read again
constexpr std::int64_t bytes_in_cache = 1 << 20;     // of weights, that stay in L2
constexpr std::int64_t blocks_of_panel = 4;          // prefetch the next panel into L2
constexpr std::int64_t ahead_each = 8;  // floats prefetched into L2 with each product of a pixel
constexpr std::int64_t input_bytes_in_l1 = 12 << 10;  // of the blocks of a turn, at least
constexpr std::int64_t most_input_bytes = 512 << 10;  // of the blocks of a turn: a part of L2

// Memory holds for each thread the pointers of a turn's blocks.
class FloatConvolution {
 public:
  FloatConvolution(const ConvolutionViews& views, const ConvolutionWindow& window,
                   const FloatTail& tail, const ContractionOptions& options)
      : window_(views.x, views.w.dims, views.y.dims, window),
        weights_(views.w, fastest_panel_vectors(views.w, window_.rows())),
        biased_(views.bias),
        tail_(tail),
        finish_(options.finish),
        streams_(!options.finish && is_streamed(views.y)) {
    const std::int64_t seen = window_.rows() * window_.taps() * weights_.depth();
    choose(options.threads == 0 ? thread_count() : options.threads,
           4 * std::min(element_count(views.x.dims), seen));
  }

  std::int64_t workspace() const { return workers_ * slot_pointers() * 8; }
  const FloatWeights& weights() const { return weights_; }

  void run(const Call& call) const {
    const std::int64_t tasks = std::min(turns_, most_tasks * workers_);
    hand_out(tasks * groups_, workers_, [&](std::int64_t task, std::int64_t worker) {
      auto* const pointers = static_cast<const float**>(call.workspace) + worker * slot_pointers();
      const Part panels = part_of(weights_.panels(), groups_, task % groups_);
      const Part turns = part_of(turns_, tasks, task / groups_);
      for (std::int64_t turn = turns.begin; turn < turns.end; ++turn)
        run_turn(call, part_of(blocks_, turns_, turn), panels, pointers);
    });
    if (finish_ && groups_ > 1) finish_whole(call);
  }

 private:
  // The first blocks are one row longer where rows do not come out even.
  std::int64_t first_row(std::int64_t block) const {
    return block * least_rows_ + std::min(block, longer_blocks_);
  }
  std::int64_t block_pointers() const { return window_.taps() * float_block_rows; }
  // Threads write to no line of cache together.
  std::int64_t slot_pointers() const {
    return round_up(ceil_divide(blocks_, turns_) * block_pointers(), 16);
  }

  // Blocks are cut into turns that multiply by one panel after the other: the larger the weights,
  // the more blocks, as long as these have their inputs in L2. Where the weights are larger than
  // that, or the blocks are few, each thread takes panels of its own.
  void choose(int threads, std::int64_t input_bytes) {
    blocks_ = ceil_divide(window_.rows(), weights_.block_pixels());
    least_rows_ = window_.rows() / blocks_;
    longer_blocks_ = window_.rows() % blocks_;
    const std::int64_t wanted = threads > 1 ? float_tasks * threads : 1, bytes = weights_.bytes();
    is_fetched_ = bytes > bytes_in_cache / 2;
    const std::int64_t blocks_in_l1 =
        std::clamp<std::int64_t>(input_bytes_in_l1 * blocks_ / input_bytes, 1, most_blocks);
    const std::int64_t most = std::clamp<std::int64_t>(
        std::min(bytes / bytes_each_block, most_input_bytes * blocks_ / input_bytes),
        is_fetched_ ? blocks_of_panel : blocks_in_l1, most_blocks);
    turns_ = ceil_divide(blocks_, most);
    if (blocks_ < wanted || bytes > std::max(bytes_in_cache, input_bytes)) {
      groups_ = std::min(wanted, weights_.panels());
      if (groups_ % threads != 0) turns_ = std::min(blocks_, turns_ * threads);
    } else {
      const std::int64_t least = std::clamp<std::int64_t>(4 * bytes / bytes_in_cache, 1, 4);
      turns_ = std::max(turns_, std::min(wanted, blocks_ / least));
      turns_ = std::min(round_up(turns_, threads), blocks_);
    }
    workers_ = std::min<std::int64_t>(threads, turns_ * groups_);
  }

  void run_turn(const Call& call, const Part& blocks, const Part& panels,
                const float** pointers) const {
    const auto* const x = static_cast<const float*>(call.inputs[0]);
    const auto* const packed = reinterpret_cast<const float*>(call.packed);
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block)
      window_.locate(x, FloatWeights::zeros(packed), first_row(block),
                     first_row(block + 1) - first_row(block),
                     pointers + (block - blocks.begin) * block_pointers());
    const Next next = next_of(call, blocks, panels);
    for (std::int64_t panel = panels.begin; panel < panels.end; ++panel) {
      const FloatStretches ahead = stretches_of(next, packed, panel - panels.begin, panel);
      const float* const weights = weights_.panel(packed, panel);
      for (std::int64_t i = 0; i < blocks.end - blocks.begin; ++i)
        run_block(call, blocks.begin + i, panel,
                  {pointers + i * block_pointers(), weights,
                   ahead.find(i * weights_.taps() * weights_.depth() * ahead_each, weights)});
    }
    if (streams_) avx512::end_float_streams();
    if (finish_ && groups_ == 1)
      finish_(call, first_row(blocks.begin) * weights_.outputs(),
              first_row(blocks.end) * weights_.outputs());
  }

  // What the next turn reads of x and of the residual, and the results that it overwrites: a part
  // of it with each panel of this one.
  struct Next {
    const float *x, *residual, *y;
    std::int64_t x_each, residual_each, y_each;
  };

  Next next_of(const Call& call, const Part& blocks, const Part& panels) const {
    if (groups_ > 1) return {};
    const std::int64_t row = first_row(blocks.end), count = panels.end - panels.begin;
    const std::int64_t end = first_row(std::min(2 * blocks.end - blocks.begin, blocks_));
    const auto at = [&](int input, std::int64_t place) {
      return static_cast<const float*>(call.inputs[input]) + place;
    };
    const std::int64_t x = window_.reach(row);
    Next next{at(0, x), nullptr, nullptr, ceil_divide(window_.reach(end) - x, count), 0, 0};
    const std::int64_t results = row * weights_.outputs();
    const std::int64_t results_each = ceil_divide((end - row) * weights_.outputs(), count);
    const bool in_place = tail_.residual >= 0 && call.inputs[tail_.residual] == call.outputs[0];
    if (tail_.residual >= 0) {
      next.residual = at(tail_.residual, results);
      next.residual_each = results_each;
    }
    if (!streams_ && !in_place) {
      next.y = static_cast<const float*>(call.outputs[0]) + results;
      next.y_each = results_each;
    }
    return next;
  }

  void add_panel(FloatStretches& ahead, const float* packed, std::int64_t panel) const {
    ahead.add(weights_.panel(packed, panel), weights_.panel_size(panel));
  }

  FloatStretches stretches_of(const Next& next, const float* packed, std::int64_t i,
                              std::int64_t panel) const {
    FloatStretches ahead;
    if (is_fetched_) add_panel(ahead, packed, panel + 1 < weights_.panels() ? panel + 1 : 0);
    ahead.add(next.x + i * next.x_each, next.x_each);
    ahead.add(next.residual + i * next.residual_each, next.residual_each);
    ahead.add(next.y + i * next.y_each, next.y_each);
    return ahead;
  }

  struct Located {
    const float* const* pointers;
    const float *weights, *ahead;
  };

  void run_block(const Call& call, std::int64_t block, std::int64_t panel,
                 const Located& located) const {
    const std::int64_t row = first_row(block);
    const std::int64_t column = weights_.column(panel), at = row * weights_.outputs() + column;
    const auto input = [&](int index) { return static_cast<const float*>(call.inputs[index]); };
    avx512::multiply_float_block({
        .rows = located.pointers,
        .row_count = first_row(block + 1) - row,
        .taps = weights_.taps(),
        .depth = weights_.depth(),
        .weights = located.weights,
        .ahead = located.ahead,
        .results = {.bias = biased_ ? input(2) + column : nullptr,
                    .residual = tail_.residual < 0 ? nullptr : input(tail_.residual) + at,
                    .y = static_cast<float*>(call.outputs[0]) + at,
                    .pitch = weights_.outputs(),
                    .channels = weights_.columns(panel),
                    .bounds = tail_.bounds,
                    .streams = streams_ && is_at_line(call.outputs[0])},
    });
  }

  void finish_whole(const Call& call) const {
    constexpr std::int64_t piece = 8192;  // elements: enough to be worth a thread
    parallel_for(window_.rows() * weights_.outputs(), piece,
                 [&](std::int64_t begin, std::int64_t end) { finish_(call, begin, end); });
  }

  FloatWindow window_;
  FloatWeights weights_;
  bool biased_;
  FloatTail tail_;
  Finish finish_;
  bool streams_;
  bool is_fetched_ = false;                                         // panels come from beyond L2
  std::int64_t least_rows_ = 1, longer_blocks_ = 0;                 // of a block
  std::int64_t blocks_ = 1, turns_ = 1, groups_ = 1, workers_ = 1;  // groups of panels
};

bool is_f32(const View& view) { return view.dtype == DType::f32; }

}  // namespace

std::string float_convolution_reason(const ConvolutionViews& views, const ConvolutionWindow& window,
                                     const std::vector<int>& lasting, Isa isa) {
  const View &x = views.x, &w = views.w, &y = views.y;
  return first_reason(
      [&] { return unless(isa >= Isa::avx512, "panels of f32 need avx512"); },
      [&] {
        return unless(is_f32(x) && is_f32(w) && is_f32(y) && (!views.bias || is_f32(*views.bias)),
                      "operands that are not f32");
      },
      [&] {
        return unless(window.groups == 1 || is_float_depthwise(views, window),
                      "channels in groups");
      },
      [&] { return unless(element_count(y.dims) > 0, "nothing to compute"); },
      [&] {
        if (is_float_image(views, window)) return std::string();
        return unless((window.groups == 1 ? w : x).dims[1] >= least_depth, "few channels");
      },
      [&] {
        return unless(x.strides[1] == 1 || is_float_image(views, window),
                      "channels that do not lie together");
      },
      [&] { return unless(is_channels_last(y), "a result whose channels do not lie together"); },
      [&] { return unless(!views.bias || views.bias->strides[0] == 1, "a bias with strides"); },
      [&] {
        return unless(std::find(lasting.begin(), lasting.end(), 1) != lasting.end(),
                      "weights that may change");
      });
}

Prepared prepare_float_convolution(const ConvolutionViews& views, const ConvolutionWindow& window,
                                   const FloatTail& tail, const ContractionOptions& options) {
  if (window.groups > 1) return prepare_float_depthwise(views, window, tail, options);
  if (is_float_image(views, window)) return prepare_float_image(views, window, tail, options);
  const auto made = std::make_shared<const FloatConvolution>(views, window, tail, options);
  Packed packed{made->weights().format(),
                made->weights().bytes(),
                {1},
                [made](const void* const* inputs, std::byte* bytes) {
                  made->weights().pack(static_cast<const float*>(inputs[1]),
                                       reinterpret_cast<float*>(bytes));
                }};
  return {"panels of f32",
          made->workspace(),
          [made](const Call& call) { made->run(call); },
          {.isa = Isa::avx512},
          std::move(packed)};
}

}  // namespace narrowgauge::cpu
