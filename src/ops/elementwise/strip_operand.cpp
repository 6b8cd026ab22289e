// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/strip_operand.h"

#include <algorithm>

#include "kernels/cpu/convert/convert.h"

namespace narrowgauge {

namespace {

// Calls visit(offset in memory, position in the strip, length) for each run along the last axis.
template <class Visit>
void for_each_run(const StripOperand& operand, std::int64_t begin, std::int64_t count,
                  const Visit& visit) {
  const std::size_t rank = operand.dims.size();
  Dims index(rank);
  std::int64_t rest = begin, offset = 0;
  for (std::size_t i = rank; i-- > 0;) {
    index[i] = rest % operand.dims[i];
    rest /= operand.dims[i];
    offset += index[i] * operand.strides[i];
  }
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t length = std::min(operand.dims[rank - 1] - index[rank - 1], count - done);
    visit(offset, done, length);
    done += length;
    index[rank - 1] += length;
    offset += length * operand.strides[rank - 1];
    for (std::size_t i = rank; i-- > 1 && index[i] == operand.dims[i];) {
      offset += operand.strides[i - 1] - index[i] * operand.strides[i];
      index[i] = 0;
      ++index[i - 1];
    }
  }
}

void load_run(const StripOperand& operand, const std::byte* source, std::int64_t length,
              float* out) {
  const std::int64_t stride = operand.strides.back();
  if (stride == 1) {
    cpu::widen_row(operand.dtype, source, out, length);
  } else if (stride == 0) {
    float value;
    cpu::widen_row(operand.dtype, source, &value, 1);
    std::fill_n(out, length, value);
  } else {
    const std::int64_t step = stride * bits(operand.dtype) / 8;
    for (std::int64_t i = 0; i < length; ++i)
      cpu::widen_row(operand.dtype, source + i * step, out + i, 1);
  }
}

}  // namespace

bool StripOperand::is_one_value() const {
  return std::ranges::all_of(strides, [](std::int64_t stride) { return stride == 0; });
}

const float* StripOperand::load(const void* data, std::int64_t begin, std::int64_t count,
                                float* buffer) const {
  const auto* bytes = static_cast<const std::byte*>(data);
  const std::int64_t size = bits(dtype) / 8;
  if (contiguous) {
    if (dtype == DType::f32 && count % 16 == 0) return static_cast<const float*>(data) + begin;
    cpu::widen_row(dtype, bytes + begin * size, buffer, count);
    return buffer;
  }
  for_each_run(*this, begin, count, [&](std::int64_t offset, std::int64_t at, std::int64_t length) {
    load_run(*this, bytes + offset * size, length, buffer + at);
  });
  return buffer;
}

float* StripOperand::direct(void* data, std::int64_t begin, std::int64_t count) const {
  const bool possible = data && contiguous && dtype == DType::f32 && count % 16 == 0;
  return possible ? static_cast<float*>(data) + begin : nullptr;
}

void StripOperand::store(const float* values, void* data, std::int64_t begin, std::int64_t count,
                         std::int64_t* flushed) const {
  auto* bytes = static_cast<std::byte*>(data);
  const std::int64_t size = bits(dtype) / 8;
  if (contiguous) {
    if (values != direct(data, begin, count))
      cpu::narrow_row(values, dtype, bytes + begin * size, count, flushed);
    return;
  }
  for_each_run(*this, begin, count, [&](std::int64_t offset, std::int64_t at, std::int64_t length) {
    const std::int64_t stride = strides.back();
    if (stride == 1) {
      cpu::narrow_row(values + at, dtype, bytes + offset * size, length, flushed);
      return;
    }
    for (std::int64_t i = 0; i < length; ++i)
      cpu::narrow_row(values + at + i, dtype, bytes + (offset + i * stride) * size, 1, flushed);
  });
}

namespace {

bool same_layout(const Operand& a, const Operand& b) {
  return a.dims == b.dims && a.storage == b.storage && a.strides == b.strides;
}

bool is_dense(const Operand& operand) {
  return !operand.storage.blocks.empty() ||
         operand.strides == strides_of(operand.dims, operand.storage);
}

const Operand& first_present(std::span<const Operand> operands) {
  for (const Operand& operand : operands)
    if (operand.present) return operand;
  return operands.front();
}

// Joins axes that every element step crosses together: [2,3,4] dense is one axis of 24.
void collapse(StripOperand& operand) {
  Dims dims, strides;
  for (std::size_t i = 0; i < operand.dims.size(); ++i) {
    if (operand.dims[i] == 1) continue;
    if (!dims.empty() && strides.back() == operand.strides[i] * operand.dims[i]) {
      dims.back() *= operand.dims[i];
      strides.back() = operand.strides[i];
    } else {
      dims.push_back(operand.dims[i]);
      strides.push_back(operand.strides[i]);
    }
  }
  if (dims.empty()) dims = {1}, strides = {0};
  operand.contiguous = dims.size() == 1 && (strides[0] == 1 || dims[0] == 1);
  operand.dims = std::move(dims);
  operand.strides = std::move(strides);
}

}  // namespace

IterationSpace::IterationSpace(const Request& request) : result_(&first_present(request.outputs)) {
  total_ = stored_elements(result_->dims, result_->storage);
}

StripOperand IterationSpace::operand(const Operand& operand) const {
  StripOperand strip;
  strip.dtype = operand.dtype;
  if (!operand.present) return strip;
  if (same_layout(operand, *result_) && is_dense(operand)) {
    strip.dims = {total_};
    strip.strides = {1};
    strip.contiguous = true;
    return strip;
  }
  if (!result_->storage.blocks.empty()) {  // checked: a single element
    strip.dims = {total_};
    strip.strides = {0};
    return strip;
  }
  const std::size_t rank = result_->dims.size(), missing = rank - operand.dims.size();
  for (std::size_t i = 0; i < rank; ++i) {
    const auto axis =
        result_->storage.order.empty() ? i : static_cast<std::size_t>(result_->storage.order[i]);
    strip.dims.push_back(result_->dims[axis]);
    const bool fixed = axis < missing || operand.dims[axis - missing] == 1;
    strip.strides.push_back(fixed ? 0 : operand.strides[axis - missing]);
  }
  collapse(strip);
  return strip;
}

std::string check_strip_operands(const Request& request, bool bytes) {
  const Operand& result = first_present(request.outputs);
  for (const auto operands : {request.inputs, request.outputs}) {
    for (const Operand& operand : operands) {
      if (!operand.present) continue;
      const bool byte = bytes && (operand.dtype == DType::u8 || operand.dtype == DType::i8);
      const bool narrow = byte || (is_floating(operand.dtype) && operand.dtype != DType::f64 &&
                                   !is_storage_only(operand.dtype));
      if (!narrow && operand.dtype != DType::boolean)
        return concat("strips compute in f32, not in ", operand.dtype);
      if (!operand.storage.encoding.empty()) return concat("storage ", operand.storage);
      const bool blocked = !operand.storage.blocks.empty() || !result.storage.blocks.empty();
      if (blocked && !(operand.dims == result.dims && operand.storage == result.storage) &&
          element_count(operand.dims) != 1)
        return concat("storage ", operand.storage, " beside ", result.storage);
    }
  }
  for (const Operand& output : request.outputs)
    if (output.present && !(output.dims == result.dims && output.storage == result.storage))
      return "outputs of different shape or storage";
  return {};
}

std::vector<InPlace> in_place_pairs(const Request& request) {
  std::vector<InPlace> pairs;
  for (std::size_t o = 0; o < request.outputs.size(); ++o)
    for (std::size_t i = 0; i < request.inputs.size(); ++i)
      if (request.inputs[i].present && request.outputs[o].present &&
          request.inputs[i].dtype == request.outputs[o].dtype &&
          same_layout(request.inputs[i], request.outputs[o]))
        pairs.push_back({static_cast<int>(i), static_cast<int>(o)});
  return pairs;
}

}  // namespace narrowgauge
