// SPDX-License-Identifier: Apache-2.0
// A strided array for kernel tests: any layout, random values, reading and writing as double, and
// guards that show writes beside it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/core/view.h"
#include "support/guard.h"
#include "tensor/values.h"

namespace narrowgauge::cpu {

enum class Layout { row_major, channels_last, channel_slice, channel_slice_row_major };

class GuardedArray {
 public:
  GuardedArray(DType dtype, const Dims& dims, Layout layout = Layout::row_major)
      : view_(dense_view(dtype, dims)) {
    const bool slice = layout == Layout::channel_slice || layout == Layout::channel_slice_row_major;
    Dims buffer = dims;
    if (slice) buffer[1] += 5;
    const bool last = layout == Layout::channels_last || layout == Layout::channel_slice;
    view_.strides = (last ? channels_last_view(dtype, buffer) : dense_view(dtype, buffer)).strides;
    if (slice) offset_ = 3 * view_.strides[1];
    place(element_count(buffer));
  }
  explicit GuardedArray(const View& view, std::int64_t elements) : view_(view) { place(elements); }

  const View& view() const { return view_; }
  std::int64_t size() const { return element_count(view_.dims); }
  void* data() { return at_offset(bytes_.data(), view_.dtype, offset_); }
  const void* data() const { return at_offset(bytes_.data(), view_.dtype, offset_); }

  double at(std::int64_t flat) const {
    return load_element(view_.dtype, bytes_.data(), offset_ + element(flat));
  }
  void set(std::int64_t flat, double value) {
    store_element(view_.dtype, bytes_.data(), offset_ + element(flat), value);
  }
  void randomize(unsigned seed, double scale = 1) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0, scale);
    for (std::int64_t i = 0; i < size(); ++i) set(i, normal(random));
  }
  std::vector<double> values() const {
    std::vector<double> result(static_cast<std::size_t>(size()));
    for (std::int64_t i = 0; i < size(); ++i) result[static_cast<std::size_t>(i)] = at(i);
    return result;
  }
  // Everything that is not an element of the view is as it was made.
  bool guards_intact() const {
    std::vector<std::uint8_t> others = bytes_;
    const auto width = static_cast<std::size_t>(bits(view_.dtype) / 8);
    for (std::int64_t i = 0; i < size(); ++i)
      std::memset(others.data() + static_cast<std::size_t>(offset_ + element(i)) * width, guard,
                  width);
    return testing_support::all_bytes_are(guard, others.data(), others.size());
  }
  bool same_bytes(const GuardedArray& other) const { return bytes_ == other.bytes_; }

 private:
  static constexpr std::uint8_t guard = 0xff;  // NaN in every floating format

  void place(std::int64_t elements) {
    bytes_.assign(static_cast<std::size_t>(bytes_for(elements, view_.dtype)) + 64, guard);
  }
  std::int64_t element(std::int64_t flat) const {
    std::int64_t result = 0;
    for (std::size_t axis = view_.dims.size(); axis-- > 0; flat /= view_.dims[axis])
      result += flat % view_.dims[axis] * view_.strides[axis];
    return result;
  }

  View view_;
  std::int64_t offset_ = 0;
  std::vector<std::uint8_t> bytes_;
};

// Memory of bytes that begins at a line of cache, filled with NaN and guarded behind.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)), memory_(bytes_ + 128, 0xff) {}

  std::uint8_t* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return memory_.data() + (64 - address % 64) % 64;
  }
  bool guard_intact() {
    return std::all_of(data() + bytes_, data() + bytes_ + 64,
                       [](std::uint8_t byte) { return byte == 0xff; });
  }

 private:
  std::size_t bytes_;
  std::vector<std::uint8_t> memory_;
};

// Packs what is to be packed, and runs with a workspace filled with NaN; an input may be null.
inline std::int64_t run_into(const Prepared& prepared,
                             const std::vector<const GuardedArray*>& inputs,
                             std::vector<void*> out) {
  std::vector<const void*> in;
  for (const GuardedArray* array : inputs) in.push_back(array ? array->data() : nullptr);
  AlignedBytes workspace(prepared.workspace), packed(prepared.packed.bytes);
  auto* const packed_bytes = reinterpret_cast<std::byte*>(packed.data());
  if (prepared.packed.bytes > 0) prepared.packed.run(in.data(), packed_bytes);
  std::int64_t flushed = 0;
  prepared.run({in.data(), out.data(), workspace.data(), &flushed, packed_bytes});
  EXPECT_TRUE(workspace.guard_intact()) << "the workspace is longer than promised";
  EXPECT_TRUE(packed.guard_intact()) << "what is packed is longer than promised";
  return flushed;
}

inline std::int64_t run(const Prepared& prepared, const std::vector<const GuardedArray*>& inputs,
                        const std::vector<GuardedArray*>& outputs) {
  std::vector<void*> out;
  for (GuardedArray* array : outputs) out.push_back(array->data());
  return run_into(prepared, inputs, std::move(out));
}

inline double relative_error(const std::vector<double>& got, const std::vector<double>& expected) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    error += (got[i] - expected[i]) * (got[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(error / norm);
}

// The tensor-core contract: exact products, f32 accumulation, one rounding on store.
inline void expect_within_format(const GuardedArray& got, const std::vector<double>& expected,
                                 const std::string& what) {
  std::vector<double> stored = expected;
  const DType dtype = got.view().dtype;
  for (double& value : stored) {
    double bytes = 0;
    store_element(dtype, &bytes, 0, value);
    value = load_element(dtype, &bytes, 0);
  }
  const double accumulation = dtype == DType::f64 ? 1e-14 : 1e-6;
  const double bound = 1.1 * relative_error(stored, expected) + accumulation;
  const double error = relative_error(got.values(), expected);
  EXPECT_LE(error, bound) << what;
  EXPECT_TRUE(got.guards_intact()) << what;
}

}  // namespace narrowgauge::cpu
