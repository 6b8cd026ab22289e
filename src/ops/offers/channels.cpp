// SPDX-License-Identifier: Apache-2.0
#include "ops/offers/channels.h"

#include <algorithm>

#include "kernels/cpu/convert/convert.h"
#include "ops/offers/batch_inner.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {

struct Placement {
  cpu::ChannelLayout layout;
  std::int64_t pitch = 0;
};

std::int64_t product(const Dims& dims, std::size_t begin) {
  std::int64_t result = 1;
  for (std::size_t i = begin; i < dims.size(); ++i) result *= dims[i];
  return result;
}

// N, C, spatial: slices of C * inner elements, a pitch apart.
std::optional<Placement> channels_first(const Operand& operand) {
  const Dims &dims = operand.dims, &strides = operand.strides;
  std::int64_t expected = 1;
  for (std::size_t axis = dims.size(); axis-- > 1; expected *= dims[axis])
    if (dims[axis] > 1 && strides[axis] != expected) return std::nullopt;
  const std::int64_t pitch = dims[0] > 1 ? strides[0] : expected;
  if (pitch < expected) return std::nullopt;
  return Placement{{dims[0], dims[1], product(dims, 2), 1}, pitch};
}

// N, spatial, C: slices of C elements.
std::optional<Placement> channels_last(const Operand& operand) {
  const Dims &dims = operand.dims, &strides = operand.strides;
  if (dims[1] > 1 && strides[1] != 1) return std::nullopt;
  std::int64_t pitch = 0, expected = 0, slices = 1;
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
    const std::size_t axis = i + 2 == dims.size() ? 0 : dims.size() - 1 - i;
    slices *= dims[axis];
    if (dims[axis] == 1) continue;
    if (pitch == 0) pitch = expected = strides[axis];
    if (strides[axis] != expected) return std::nullopt;
    expected *= dims[axis];
  }
  if (pitch == 0) pitch = dims[1];
  if (pitch < dims[1]) return std::nullopt;
  return Placement{{slices, dims[1], 1, 1}, pitch};
}

// N, C / block, spatial, block.
std::optional<Placement> channels_blocked(const Operand& operand) {
  const Storage& storage = operand.storage;
  const auto rank = static_cast<std::int64_t>(operand.dims.size());
  if (storage.blocks.size() != 1 || storage.blocks[0].axis != 1) return std::nullopt;
  const std::int64_t block = storage.blocks[0].size;
  if (!storage.order.empty() && storage.order != Storage::channels_blocked(rank, block).order)
    return std::nullopt;
  if (operand.dims[1] % block != 0) return std::nullopt;
  return Placement{{operand.dims[0], operand.dims[1], product(operand.dims, 2), block}, 0};
}

// N / 32, spatial, C / 32, 32 images, 32 channels.
std::optional<Placement> batch_inner(const Operand& operand) {
  if (!lies_batch_inner(operand)) return std::nullopt;
  const Dims& dims = operand.dims;
  return Placement{{dims[0] / 32 * dims[2] * dims[3], dims[1], 32, 32}, 0};
}

bool same(const cpu::ChannelLayout& a, const cpu::ChannelLayout& b) {
  return a.outer == b.outer && a.channels == b.channels && a.inner == b.inner && a.block == b.block;
}

using Place = std::optional<Placement> (*)(const Operand&);

bool place_all(const std::vector<const Operand*>& operands, Place place, SharedChannels& shared) {
  shared.pitches.clear();
  for (const Operand* operand : operands) {
    const auto placed = place(*operand);
    if (!placed) return false;
    if (shared.pitches.empty()) shared.layout = placed->layout;
    if (!same(shared.layout, placed->layout)) return false;
    shared.pitches.push_back(placed->pitch);
  }
  return true;
}

}  // namespace

SharedChannels shared_channels(const std::vector<const Operand*>& operands) {
  SharedChannels shared;
  bool blocked = false;
  for (const Operand* operand : operands) {
    const DType dtype = operand->dtype;
    if (!is_f32_or_narrow(dtype)) shared.reason = concat("dtype ", dtype);
    if (!operand->storage.encoding.empty() || operand->dims.size() < 2)
      shared.reason = concat("storage ", operand->storage, " of ", operand->dims);
    if (element_count(operand->dims) == 0) shared.reason = "no elements";
    blocked = blocked || !operand->storage.blocks.empty();
  }
  if (!shared.reason.empty()) return shared;
  const bool found = blocked ? place_all(operands, channels_blocked, shared) ||
                                   place_all(operands, batch_inner, shared)
                             : place_all(operands, channels_first, shared) ||
                                   place_all(operands, channels_last, shared);
  if (!found)
    shared.reason = concat("operands lie differently, the first as ", operands[0]->storage,
                           " with strides ", operands[0]->strides);
  return shared;
}

const float* FloatVectors::input(const View& view, DType dtype) {
  if (dtype == DType::f32) return view.as<const float>();
  float* const values = scratch();
  cpu::widen_row(dtype, view.data, values, length_);
  return values;
}

float* FloatVectors::output(const View& view, DType dtype, std::int64_t* flushed) {
  if (!view.data || dtype == DType::f32) return view.as<float>();
  float* const values = scratch();
  pending_.push_back({view.data, dtype, values, flushed});
  return values;
}

float* FloatVectors::scratch() {
  float* const values = free_;
  free_ += length_;
  return values;
}

void FloatVectors::store() {
  for (const auto& [target, dtype, values, flushed] : pending_)
    cpu::narrow_row(values, dtype, target, length_, flushed);
}

}  // namespace narrowgauge
