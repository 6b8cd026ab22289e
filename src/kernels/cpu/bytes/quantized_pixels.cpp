// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_pixels.h"

#include <algorithm>
#include <memory>

#include "ir/reason.h"
#include "kernels/cpu/bytes/quantized_operands.h"
#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t part_bytes = 512 << 10;  // of x, y and the residual: of L2
// Bytes of a task's weights that stay in L2, so that they are read again for each two segments.
constexpr std::int64_t near_weights = 768 << 10;
constexpr std::int64_t least_part_pixels = 56;  // of several
constexpr std::int64_t pixel_tasks_of_thread = 4;
constexpr std::int64_t least_task_panels = 4;

// The tier whose weights these are.
const QuantizedTier& pixel_tier() {
  static constexpr QuantizedTier tier{.name = "int8 pixels, vnni",
                                      .isa = Isa::vnni,
                                      .rows = 2 * segment_pixels,
                                      .panels = block_panels,
                                      .group = 4,
                                      .wide = false,
                                      .saturates = false,
                                      .takes_starts = true,
                                      .multiply = nullptr};
  return tier;
}

// Memory holds what is not packed ahead, and for each thread the segments of a part and what is
// copied for them.
class PixelConvolution {
 public:
  PixelConvolution(const QuantizedViews& views, const ConvolutionWindow& window,
                   const QuantizedNumbers& numbers, std::int64_t threads)
      : views_(views),
        segments_(views.x, views.w.dims, views.y.dims, window),
        operands_(pixel_tier(), views, 1, numbers, segments_.taps_in_run()) {
    cut(threads);
    const std::int64_t grains = ceil_divide(segments_.grains(), parts_);
    copies_at_ = round_up(
        segments_.most_segments(grains) * static_cast<std::int64_t>(sizeof(PixelSegment)), 64);
    slot_bytes_ = copies_at_ + segments_.copy_bytes(grains);
  }

  std::int64_t workspace() const { return slots_at() + workers_ * slot_bytes_; }
  const QuantizedOperands& operands() const { return operands_; }

  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    const Run run{call, operands_.ready(call, memory)};
    hand_out(parts_ * column_parts_, workers_, [&](std::int64_t task, std::int64_t worker) {
      run_task(run, task, memory + slots_at() + worker * slot_bytes_);
    });
  }

 private:
  struct Run {
    const Call& call;
    QuantizedOperands::Ready ready;
  };

  const QuantizedWeights& weights() const { return operands_.weights(); }
  std::int64_t slots_at() const { return operands_.workspace(); }

  // Cuts last, and so reads more than once, what there is less of: pixels or weights.
  void cut(std::int64_t threads) {
    const std::int64_t grains = segments_.grains(), pixels = grains * segments_.grain_pixels();
    const std::int64_t panels = weights().panels();
    const std::int64_t wanted = threads > 1 ? pixel_tasks_of_thread * threads : 1;
    const std::int64_t most_column_parts = std::max<std::int64_t>(panels / least_task_panels, 1);
    const std::int64_t most_parts = std::max<std::int64_t>(pixels / least_part_pixels, 1);
    const bool columns_first =
        weights().panels() * weights().panel_bytes() > pixels * segments_.pixel_bytes();
    if (columns_first) {
      column_parts_ = std::min(wanted, most_column_parts);
      parts_ = std::min(ceil_divide(wanted, column_parts_), most_parts);
    } else {
      parts_ = std::min(wanted, most_parts);
      column_parts_ = std::min(ceil_divide(wanted, parts_), most_column_parts);
    }
    task_panels_ = round_up(ceil_divide(panels, column_parts_), block_panels);
    column_parts_ = ceil_divide(panels, task_panels_);
    const std::int64_t result_bits =
        bits(views_.y.dtype) + (views_.residual ? bits(views_.residual->dtype) : 0);
    const std::int64_t columns = std::min(task_panels_ * quantized_panel, weights().in_group());
    const std::int64_t pixel_bytes = segments_.pixel_bytes() + columns * result_bits / 8;
    parts_ = std::max(parts_, ceil_divide(pixels * pixel_bytes, part_bytes));
    parts_ = std::min(parts_ > 1 ? round_up(parts_, threads) : 1, grains);
    workers_ = std::min(threads, parts_ * column_parts_);
  }

  void run_task(const Run& run, std::int64_t task, std::byte* slot) const {
    auto* const segments = reinterpret_cast<PixelSegment*>(slot);
    const Part part = part_of(segments_.grains(), parts_, task / column_parts_);
    const std::int64_t count = segments_.list(
        static_cast<const std::byte*>(run.call.inputs[quantized_x]), part.begin, part.end,
        static_cast<std::uint8_t>(run.ready.stored_zero), slot + copies_at_, segments);
    const std::int64_t first = task % column_parts_ * task_panels_;
    const std::int64_t last = std::min(first + task_panels_, weights().panels());
    avx512::multiply_pixels({segments,
                             count,
                             {segments_.lengths()[0], segments_.lengths()[1]},
                             segments_.pixel_bytes(),
                             segments_.run_at().data(),
                             std::ssize(segments_.run_at()),
                             ceil_divide(segments_.run_bytes(), std::int64_t{4}),
                             run.ready.weights,
                             weights().panel_bytes(),
                             first,
                             last - first,
                             run.ready.starts,
                             (last - first) * weights().panel_bytes() <= near_weights,
                             segments_.copies(),
                             run.ready.finish,
                             static_cast<const std::byte*>(run.call.inputs[quantized_residual]),
                             static_cast<std::byte*>(run.call.outputs[0]),
                             weights().in_group()});
  }

  QuantizedViews views_;
  QuantizedSegments segments_;
  QuantizedOperands operands_;
  std::int64_t parts_ = 1, column_parts_ = 1, task_panels_ = 1, workers_ = 1;
  std::int64_t copies_at_, slot_bytes_;  // in a slot
};

}  // namespace

std::string quantized_pixels_reason(const QuantizedViews& views, const ConvolutionWindow& window,
                                    const QuantizedNumbers& numbers, Isa isa) {
  return first_reason([&] { return unless(isa >= Isa::vnni, "needs vnni"); },
                      [&] {
                        return unless(views.w.dtype == DType::i8 && numbers.w_zero.count == 0,
                                      "weights with a zero point");
                      },
                      [&] { return unless(window.groups == 1, "groups of channels"); },
                      [&] { return unless(views.x.dims.size() <= 4, "three spatial axes"); });
}

Prepared prepare_quantized_pixels(const QuantizedViews& views, const ConvolutionWindow& window,
                                  const QuantizedNumbers& numbers, int threads) {
  const auto made =
      std::make_shared<const PixelConvolution>(views, window, numbers, std::int64_t{threads});
  Prepared prepared{std::string(pixel_tier().name),
                    made->workspace(),
                    [made](const Call& call) { made->run(call); },
                    {.isa = pixel_tier().isa}};
  const QuantizedOperands& operands = made->operands();
  if (views.w_lasts)
    prepared.packed = {operands.packed_format(), operands.packed_bytes(), operands.packed_inputs(),
                       [made](const void* const* inputs, std::byte* packed) {
                         (void)made->operands().pack(inputs, packed);
                       }};
  return prepared;
}

}  // namespace narrowgauge::cpu
