// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_operands.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace narrowgauge::cpu {

QuantizedOperands::QuantizedOperands(const QuantizedTier& tier, const QuantizedViews& views,
                                     std::int64_t groups, const QuantizedNumbers& numbers,
                                     std::int64_t taps_in_run)
    : tier_(tier),
      numbers_(numbers),
      x_signed_(views.x.dtype == DType::i8),
      w_unsigned_(views.w.dtype == DType::u8),
      w_lasts_(views.w_lasts),
      numbers_last_(views.numbers_last),
      y_(views.y.dtype),
      weights_(views.w, groups, tier_, taps_in_run),
      lists_(numbers, groups, weights_.in_group(), weights_.padded()),
      lists_at_(round_up(weights_.bytes(), 64)),
      weights_at_(lists_last() ? 0 : round_up(lists_.bytes(), 64)) {
  if (views.residual) residual_ = views.residual->dtype;
}

std::string QuantizedOperands::packed_format() const {
  return (lists_last() ? lists_.format(y_) : "") + weights_.format();
}

std::vector<int> QuantizedOperands::packed_inputs() const {
  std::vector<int> inputs{quantized_w};
  if (lists_last()) std::ranges::copy(lists_.inputs(), std::back_inserter(inputs));
  return inputs;
}

bool QuantizedOperands::pack(const void* const* inputs, std::byte* packed) const {
  if (!weights_.pack(inputs[quantized_w], packed)) return false;
  if (!lists_last()) return true;
  const Call call{inputs, nullptr, nullptr, nullptr, packed};
  const QuantizedSteps steps = quantized_steps(numbers_, call, y_);
  lists_.fill(call, steps, packed + lists_at_, stored(packed, steps));
  return true;
}

std::int64_t QuantizedOperands::workspace() const {
  return weights_at_ + (w_lasts_ ? 0 : lists_at_);
}

QuantizedOperands::Ready QuantizedOperands::ready(const Call& call, std::byte* memory) const {
  const QuantizedSteps steps = quantized_steps(numbers_, call, y_);
  Ready ready{call.packed, steps.x_zero, stored_zero(steps), {}, nullptr};
  if (!ready.weights) {
    ready.weights = memory + weights_at_;
    require(weights_.pack(call.inputs[quantized_w], memory + weights_at_), tier_.name,
            ": weights that do not fit");
  }
  const QuantizedLists::Stored how = stored(ready.weights, steps);
  ready.finish = lists_last() ? lists_.read(call.packed + lists_at_, steps, how)
                              : lists_.load(call, steps, memory, how);
  ready.finish.y = y_;
  if (residual_) ready.finish.residual = *residual_;
  ready.finish.saturates = saturation_bounds(ready.finish, residual_.has_value());
  if (tier_.takes_starts) ready.starts = std::exchange(ready.finish.starts, nullptr);
  return ready;
}

QuantizedLists::Stored QuantizedOperands::stored(const std::byte* weights,
                                                 const QuantizedSteps& steps) const {
  return {w_unsigned_ ? 128 : 0, stored_zero(steps), tier_.wide ? nullptr : weights_.sums(weights)};
}

}  // namespace narrowgauge::cpu
