// SPDX-License-Identifier: Apache-2.0
// The sum of two dequantised values, a Relu, and the quantisation behind them, on bytes.
#include "kernels/cpu/bytes/byte_sum.h"

#include "base/threads/parallel.h"
#include "groups/group.h"
#include "ir/reason.h"
#include "ops/activation/relu.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/quantized/steps.h"

namespace narrowgauge {

namespace {

constexpr std::int64_t bytes_of_task = 1 << 14;

struct SumOfBytes {
  static constexpr std::string_view name = "sum of bytes";
  struct Pattern : GroupPattern {
    Part a = one<FromSteps>();
    Part b = one<FromSteps>();
    Part sum = one<Add>({reads(0, {a}), reads(1, {b})});
    Part relu = maybe<Relu>({reads(0, {sum})});
    Part steps = anchor<ToSteps>({reads(0, {relu, sum})});
  };
  static Offer offer(const GroupRequest& group, const Pattern& parts);
};

cpu::ByteTerm term_of(const Operand& operand, double scale, double zero) {
  return {operand.dtype, static_cast<float>(scale), static_cast<float>(zero)};
}

bool is_of_bytes(const Operand& operand) {
  return operand.dtype == DType::u8 || operand.dtype == DType::i8;
}

// Whether elements of both lie together and in the same order.
bool lie_alike(const Operand& a, const Operand& b) {
  return a.dims == b.dims && a.storage == b.storage && a.strides == b.strides &&
         a.strides == strides_of(a.dims, a.storage);
}

Offer SumOfBytes::offer(const GroupRequest& group, const Pattern& parts) {
  const GroupMatch& match = group.match;
  const int a = match.input(parts.a, 0), b = match.input(parts.b, 0);
  const int y = match.output(parts.steps);
  std::string reason = first_reason(
      [&] { return unless(a >= 0 && b >= 0, "terms that are constants"); },
      [&] { return unless(group.request.outputs.size() == 1 && y == 0, "not one result"); },
      [&] {
        const bool bytes = is_of_bytes(group.input(a)) && is_of_bytes(group.input(b)) &&
                           is_of_bytes(group.output(y));
        return unless(bytes, "values that are not of bytes");
      },
      [&] {
        const bool alike = lie_alike(group.input(a), group.output(y)) &&
                           lie_alike(group.input(b), group.output(y));
        return unless(alike, "values that do not lie alike");
      });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const auto &from_a = match.as<FromSteps>(parts.a), &from_b = match.as<FromSteps>(parts.b);
  const auto& to = match.as<ToSteps>(parts.steps);
  const cpu::ByteSum sum{term_of(group.input(a), from_a.scale, from_a.zero),
                         term_of(group.input(b), from_b.scale, from_b.zero),
                         term_of(group.output(y), to.scale, to.zero),
                         match.has(parts.relu),
                         static_cast<float>(to.low),
                         static_cast<float>(to.high)};
  reason = cpu::byte_sum_reason(sum, group.target().isa);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  Offer offer;
  offer.implementation = "bytes, avx512";
  offer.facts = {.isa = Isa::avx512};
  offer.run = [=, count = element_count(group.output(y).dims)](const KernelCall& call) {
    const auto* const x = static_cast<const std::uint8_t*>(data_at(call.inputs, a));
    const auto* const other = static_cast<const std::uint8_t*>(data_at(call.inputs, b));
    auto* const result = static_cast<std::uint8_t*>(data_at(call.outputs, y));
    parallel_for(count, bytes_of_task, [&](std::int64_t begin, std::int64_t end) {
      cpu::avx512::add_bytes(sum, x + begin, other + begin, result + begin, end - begin);
    });
  };
  for (const int term : {a, b})
    if (group.input(term).dtype == group.output(y).dtype) offer.in_place.push_back({term, y});
  return offer;
}

}  // namespace

}  // namespace narrowgauge

NG_GROUP(byte_sum, narrowgauge::SumOfBytes)
