// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_row_convolution.h"

#include <algorithm>
#include <memory>

#include "kernels/cpu/bytes/quantized_lists.h"
#include "kernels/cpu/bytes/quantized_weights.h"
#include "kernels/cpu/bytes/quantized_window.h"
#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t block_bytes = 192 << 10;    // of packed rows: a part of L2
constexpr std::int64_t one_block_rows = 64;        // that stay one block: weights are read once
constexpr std::int64_t row_convolution_tasks = 4;  // for each thread
constexpr std::int64_t least_panels = 4;           // of a task, as each packs its rows

// Memory holds the lists; the weights unless they are packed ahead; and for each thread a slot of
// packed rows and their sums.
class RowConvolution {
 public:
  RowConvolution(const QuantizedTier& tier, const QuantizedViews& views,
                 const ConvolutionWindow& window, const QuantizedNumbers& numbers, int threads)
      : tier_(tier),
        views_(views),
        groups_(window.groups),
        numbers_(numbers),
        window_(views.x.dims, views.w.dims, views.y.dims, window),
        weights_(views.w, window.groups, tier_),
        lists_(numbers, groups_, weights_.in_group(), weights_.padded()),
        x_signed_(views.x.dtype == DType::i8),
        w_unsigned_(views.w.dtype == DType::u8) {
    direct_ = !tier_.wide && window_.is_x() && !x_signed_ && !needs_row_sums() &&
              window_.channels() % tier_.group == 0;
    choose(threads);
    weights_at_ = round_up(lists_.bytes(), 64);
    slots_at_ = weights_at_ + (views.w_lasts ? 0 : round_up(weights_.bytes(), 64));
    sums_at_ = direct_ ? 0 : round_up(block_rows_ * row_bytes(), 64);
    slot_bytes_ = round_up(sums_at_ + 4 * block_rows_, 64);
  }

  std::int64_t workspace() const { return slots_at_ + workers_ * slot_bytes_; }
  const QuantizedWeights& weights() const { return weights_; }
  const QuantizedTier& tier() const { return tier_; }

  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    Run run{call, call.packed, quantized_steps(numbers_, call, views_.y.dtype), {}};
    if (!run.weights) {
      run.weights = memory + weights_at_;
      require(weights_.pack(call.inputs[quantized_w], memory + weights_at_), tier_.name,
              ": weights that do not fit");
    }
    run.finish = lists_.load(call, run.steps, memory,
                             {w_unsigned_ ? 128 : 0, stored_zero(run.steps),
                              tier_.wide ? nullptr : weights_.sums(run.weights)});
    run.finish.y = views_.y.dtype;
    if (views_.residual) run.finish.residual = views_.residual->dtype;
    const std::int64_t tasks = groups_ * row_blocks_ * column_blocks_;
    hand_out(tasks, workers_, [&](std::int64_t task, std::int64_t worker) {
      run_task(run, task, memory + slots_at_ + worker * slot_bytes_);
    });
  }

 private:
  struct Run {
    const Call& call;
    const std::byte* weights;
    QuantizedSteps steps;
    QuantizedFinish finish;
  };

  bool needs_row_sums() const { return w_unsigned_ || numbers_.w_zero.count > 0; }
  std::int64_t row_bytes() const { return weights_.steps() * 4; }
  std::int32_t stored_zero(const QuantizedSteps& steps) const {
    return steps.x_zero + (x_signed_ ? 128 : 0);
  }

  void choose(int threads) {
    const std::int64_t rows = window_.rows(), panels = weights_.panels();
    const std::int64_t fitting = std::max<std::int64_t>(block_bytes / row_bytes(), tier_.rows);
    std::int64_t block = rows <= one_block_rows ? rows : std::min(rows, fitting);
    const std::int64_t wanted =
        threads > 1 ? ceil_divide(row_convolution_tasks * threads, groups_) : 1;
    // Rows are cut first, down to a few tiles, then columns.
    if (rows > one_block_rows)
      block = std::min(block, std::max(ceil_divide(rows, wanted), 4 * tier_.rows));
    block_rows_ = std::min(round_up(block, tier_.rows), round_up(rows, tier_.rows));
    row_blocks_ = ceil_divide(rows, block_rows_);
    const std::int64_t parts = std::clamp<std::int64_t>(
        ceil_divide(wanted, row_blocks_), 1, std::max<std::int64_t>(panels / least_panels, 1));
    block_panels_ = ceil_divide(panels, parts);
    column_blocks_ = ceil_divide(panels, block_panels_);
    workers_ = std::min<std::int64_t>(threads, groups_ * row_blocks_ * column_blocks_);
  }

  void run_task(const Run& run, std::int64_t task, std::byte* slot) const {
    const std::int64_t group = task % groups_, block = task / groups_;
    const std::int64_t begin = block / column_blocks_ * block_rows_;
    const std::int64_t end = std::min(begin + block_rows_, window_.rows());
    const std::int64_t first = block % column_blocks_ * block_panels_;
    const std::int64_t last = std::min(first + block_panels_, weights_.panels());
    auto* const sums = reinterpret_cast<std::int32_t*>(slot + sums_at_);
    const auto* const x = static_cast<const std::byte*>(run.call.inputs[quantized_x]);
    const std::byte* rows = x + begin * window_.channels();
    if (!direct_) {
      window_.pack(x, group, begin, end, {&tier_, {x_signed_, run.steps.x_zero}, needs_row_sums()},
                   row_bytes(), slot, sums);
      // Of x less its zero point, as the wide form has it.
      if (needs_row_sums() && !tier_.wide)
        for (std::int64_t row = 0; row < end - begin; ++row)
          sums[row] -= static_cast<std::int32_t>(window_.depth()) * stored_zero(run.steps);
      rows = slot;
    }
    for (std::int64_t panel = first; panel < last; ++panel) {
      const QuantizedColumns columns = weights_.panel(run.weights, group, panel);
      for (std::int64_t row = begin; row < end; row += tier_.rows)
        one_tile(run, {group, panel, row, std::min(tier_.rows, end - row)}, columns,
                 rows + (row - begin) * row_bytes(), sums + (row - begin));
    }
  }

  struct Tile {
    std::int64_t group, panel, row, rows;
  };

  void one_tile(const Run& run, const Tile& tile, const QuantizedColumns& columns,
                const std::byte* rows, const std::int32_t* row_sums) const {
    alignas(64) std::int32_t sums[quantized_most_rows * quantized_panel];
    tier_.multiply({rows, row_bytes(), tile.rows, columns, sums});
    const std::int64_t column = tile.panel * quantized_panel, in_group = weights_.in_group();
    const std::int64_t pitch = groups_ * in_group;
    const std::int64_t at = tile.row * pitch + tile.group * in_group + column;
    const auto offset = [&](const void* data, DType dtype) {
      return static_cast<const std::byte*>(data) + at * bits(dtype) / 8;
    };
    finish_quantized(
        run.finish,
        {tile.rows, tile.group * weights_.padded() + column,
         std::min(quantized_panel, in_group - column), sums, row_sums, quantized_panel,
         views_.residual ? offset(run.call.inputs[quantized_residual], views_.residual->dtype)
                         : nullptr,
         const_cast<std::byte*>(offset(run.call.outputs[0], views_.y.dtype)), pitch});
  }

  const QuantizedTier& tier_;
  QuantizedViews views_;
  std::int64_t groups_;
  QuantizedNumbers numbers_;
  QuantizedWindow window_;
  QuantizedWeights weights_;
  QuantizedLists lists_;
  bool x_signed_, w_unsigned_, direct_ = false;
  std::int64_t block_rows_ = 1, row_blocks_ = 1, block_panels_ = 1, column_blocks_ = 1;
  std::int64_t workers_ = 1;
  std::int64_t weights_at_ = 0, slots_at_ = 0, sums_at_ = 0, slot_bytes_ = 0;
};

using Made = std::shared_ptr<const RowConvolution>;

Prepared prepared_for(const Made& made) {
  return {std::string(made->tier().name),
          made->workspace(),
          [made](const Call& call) { made->run(call); },
          {.isa = made->tier().isa}};
}

// What is packed begins with whether it is for `faster`, which does not take all weights.
Prepared prepare_either(const Made& faster, const Made& made) {
  constexpr std::int64_t head = 64;
  Prepared prepared = prepared_for(made);
  prepared.workspace = std::max(faster->workspace(), made->workspace());
  prepared.run = [faster, made](const Call& call) {
    Call inner = call;
    inner.packed += head;
    (*call.packed == std::byte{1} ? faster : made)->run(inner);
  };
  const std::int64_t bytes = head + std::max(faster->weights().bytes(), made->weights().bytes());
  prepared.packed = {concat(faster->weights().format(), " or ", made->weights().format()),
                     bytes,
                     {quantized_w},
                     [faster, made, bytes](const void* const* inputs, std::byte* packed) {
                       const void* const w = inputs[quantized_w];
                       std::fill_n(packed, bytes, std::byte{0});
                       const bool fast = faster->weights().pack(w, packed + head);
                       if (!fast) {
                         std::fill_n(packed, bytes, std::byte{0});
                         (void)made->weights().pack(w, packed + head);
                       }
                       *packed = std::byte{fast};
                     }};
  return prepared;
}

}  // namespace

Prepared prepare_quantized_rows(const QuantizedViews& views, const ConvolutionWindow& window,
                                const QuantizedNumbers& numbers, int threads) {
  const auto made_for = [&](const QuantizedTier& tier) {
    return std::make_shared<const RowConvolution>(tier, views, window, numbers, threads);
  };
  const Made made = made_for(quantized_tier());
  if (!views.w_lasts) return prepared_for(made);
  if (const QuantizedTier* const faster = quantized_saturating_tier())
    return prepare_either(made_for(*faster), made);
  Prepared prepared = prepared_for(made);
  prepared.packed = {made->weights().format(),
                     made->weights().bytes(),
                     {quantized_w},
                     [made](const void* const* inputs, std::byte* packed) {
                       (void)made->weights().pack(inputs[quantized_w], packed);
                     }};
  return prepared;
}

}  // namespace narrowgauge::cpu
