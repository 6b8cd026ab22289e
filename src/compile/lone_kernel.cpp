// SPDX-License-Identifier: Apache-2.0
#include "compile/lone_kernel.h"

#include <algorithm>

#include "base/machine/floating_environment.h"
#include "base/random.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {
namespace {

bool is_drawn(DType dtype) { return dtype == DType::f64 || is_f32_or_narrow(dtype); }

void fill(Tensor& tensor) {
  if (!is_drawn(tensor.dtype())) {
    std::fill_n(tensor.data(), tensor.bytes(), std::byte{});
    return;
  }
  constexpr std::int64_t pattern = 4099;
  const RandomStream random(1, "contraction");
  const std::int64_t drawn = std::min(pattern, tensor.size());
  for (std::int64_t i = 0; i < drawn; ++i)
    tensor.set(i, 2 * random.uniform(static_cast<std::uint64_t>(i)) - 0.99);
  const std::int64_t step = drawn > 0 ? tensor.bytes() / tensor.size() * drawn : 0;
  for (std::int64_t at = step; step > 0 && at < tensor.bytes(); at += step)
    std::copy_n(tensor.data(), std::min(step, tensor.bytes() - at), tensor.data() + at);
}

// The elements that the operand spans in memory, its blocks padded.
std::int64_t spanned_elements(const Operand& operand) {
  if (!operand.storage.blocks.empty() || operand.strides.empty())
    return stored_elements(operand.dims, operand.storage);
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < operand.dims.size(); ++axis) {
    if (operand.dims[axis] == 0) return 0;
    last += (operand.dims[axis] - 1) * operand.strides[axis];
  }
  return last + 1;
}

}  // namespace

std::int64_t lone_kernel_bytes(std::span<const Operand> inputs, std::span<const Operand> outputs,
                               std::int64_t workspace) {
  std::int64_t bytes = workspace;
  for (const auto operands : {inputs, outputs})
    for (const Operand& operand : operands)
      if (operand.present) bytes += bytes_for(spanned_elements(operand), operand.dtype);
  return bytes;
}

LoneKernel::LoneKernel(std::span<const Operand> inputs, std::span<const Operand> outputs,
                       std::int64_t workspace)
    : flushed_(outputs.size()), workspace_(DType::u8, {std::max<std::int64_t>(workspace, 1)}) {
  const auto place = [&](const Operand& operand, std::vector<View>& views) {
    if (!operand.present) {
      views.push_back({});
      return;
    }
    tensors_.emplace_back(operand.dtype, Dims{spanned_elements(operand)});
    fill(tensors_.back());
    views.push_back({tensors_.back().data()});
  };
  for (const Operand& input : inputs) place(input, inputs_);
  for (const Operand& output : outputs) place(output, outputs_);
}

Tensor LoneKernel::pack(const Packing& packing) const {
  Tensor packed(DType::u8, {packing.bytes});
  if (packing.bytes > 0) packing.run(inputs_, packed.data());
  return packed;
}

double LoneKernel::milliseconds(const std::function<void(const KernelCall&)>& run,
                                const Tensor& packed, Stopwatch& stopwatch) {
  const FloatingEnvironment environment(Subnormals::flush);
  const double start = stopwatch.seconds();
  run({inputs_, outputs_, workspace_.data(), flushed_, {}, packed.data()});
  return 1e3 * (stopwatch.seconds() - start);
}

}  // namespace narrowgauge
