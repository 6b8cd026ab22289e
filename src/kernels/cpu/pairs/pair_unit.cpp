// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/pairs/pair_unit.h"

#include "base/machine/cpu.h"
#include "kernels/cpu/convert/convert.h"
#include "kernels/cpu/pairs/pair_work.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge::cpu {
namespace {

std::string cpu_reason(PairFormat format, Isa isa) {
  if (format == PairFormat::dfp16)
    return isa < Isa::vnni ? concat("dfp16 needs AVX512_VNNI, this is ", name(isa)) : "";
  if (isa < Isa::bf16) return concat("pairs of bf16 need AVX512_BF16, this is ", name(isa));
  return isa >= Isa::amx ? "pairs of bf16: the tiles of AMX are faster" : "";
}

bool takes(PairFormat format, DType input, Isa isa) {
  if (format == PairFormat::bf16) return input == DType::bf16;
  return is_f32_or_narrow(input) && (input != DType::bf16 || isa < Isa::amx);
}

}  // namespace

std::string_view name(PairFormat format) {
  return format == PairFormat::dfp16 ? "dfp16" : "pairs of bf16";
}

std::string pair_format_reason(PairFormat format, std::array<const View*, 2> inputs,
                               const View& output, Isa isa) {
  std::string reason = cpu_reason(format, isa);
  if (!reason.empty()) return reason;
  for (const View* input : inputs)
    if (!takes(format, input->dtype, isa)) return concat(name(format), " of ", input->dtype);
  return is_f32_or_narrow(output.dtype) ? "" : concat(name(format), " to ", output.dtype);
}

const PairUnit& pair_unit(PairFormat format) {
  return format == PairFormat::dfp16 ? avx512::dfp16_unit : avx512::bf16_unit;
}

void pair_load_bias(const View& view, const void* data, std::int64_t room, float* bias) {
  for (std::int64_t i = 0; i < room; ++i) bias[i] = 0;
  for (std::int64_t i = 0; i < view.dims[0]; ++i)
    widen_row(view.dtype, at_offset(data, view.dtype, i * view.strides[0]), bias + i, 1);
}

}  // namespace narrowgauge::cpu
