// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_window.h"

#include <algorithm>
#include <cstring>

namespace narrowgauge::cpu {

QuantizedWindow::QuantizedWindow(const Dims& x, const Dims& w, const Dims& y,
                                 const ConvolutionWindow& window)
    : groups_(window.groups),
      channels_(x[1]),
      in_group_(w[1]),
      depth_(element_count(w) / w[0]),
      rows_(element_count(y) / y[1]) {
  const std::size_t spatial = x.size() - 2;
  is_x_ = groups_ == 1 && depth_ == in_group_;
  for (std::size_t i = 0; i < spatial; ++i) {
    WindowAxis& axis = axes_[3 - spatial + i];
    axis = {
        x[i + 2], y[i + 2], w[i + 2], window.strides[i], window.dilations[i], window.pads_begin[i]};
    is_x_ = is_x_ && axis.x == axis.y && axis.stride == 1 && axis.pad == 0;
  }
}

// Writes the parts of one row after the other.
class QuantizedWindow::RowWriter {
 public:
  RowWriter(const Packer& packer, std::int64_t row_bytes)
      : packer_(packer), element_(packer.tier->wide ? 2 : 1), row_bytes_(row_bytes) {
    const std::int32_t zero = packer.source.zero + (packer.source.is_signed ? 128 : 0);
    padding_ = packer.tier->wide ? 0 : zero;
  }

  void begin(std::byte* row, std::int32_t* sum) {
    row_ = at_ = row;
    sum_ = packer_.sums ? sum : nullptr;
    if (sum_) *sum_ = 0;
  }
  void copy(const std::byte* x, std::int64_t count) {
    const auto store = packer_.tier->wide ? store_wide : store_narrow;
    store(x, count, packer_.source, at_, sum_);
    at_ += count * element_;
  }
  void pad(std::int64_t count) {
    if (count <= 0) return;
    std::memset(at_, padding_, static_cast<std::size_t>(count * element_));
    if (sum_) *sum_ += static_cast<std::int32_t>(count) * padding_;
    at_ += count * element_;
  }
  void end() { std::memset(at_, 0, static_cast<std::size_t>(row_ + row_bytes_ - at_)); }

 private:
  const Packer& packer_;
  std::int64_t element_, row_bytes_;
  std::int32_t padding_ = 0;
  std::byte *row_ = nullptr, *at_ = nullptr;
  std::int32_t* sum_ = nullptr;
};

void QuantizedWindow::pack_row(const std::byte* image, const std::array<std::int64_t, 3>& place,
                               RowWriter& writer) const {
  const auto& [z, y, x] = axes_;
  const auto from = [&](const WindowAxis& axis, std::size_t i) {
    return place[i] * axis.stride - axis.pad;
  };
  // Taps beside each other are one run where their channels are.
  const bool joined = groups_ == 1 && x.dilation == 1;
  const std::int64_t width = joined ? x.kernel : 1, runs = joined ? 1 : x.kernel;
  for (std::int64_t kz = 0; kz < z.kernel; ++kz)
    for (std::int64_t ky = 0; ky < y.kernel; ++ky) {
      const std::int64_t in_z = from(z, 0) + kz * z.dilation, in_y = from(y, 1) + ky * y.dilation;
      const bool outside = in_z < 0 || in_z >= z.x || in_y < 0 || in_y >= y.x;
      const std::byte* const line = outside ? image : image + (in_z * y.x + in_y) * x.x * channels_;
      for (std::int64_t run = 0; run < runs; ++run) {
        const std::int64_t in_x = from(x, 2) + run * x.dilation;
        const std::int64_t before = outside ? width : std::clamp<std::int64_t>(-in_x, 0, width);
        const std::int64_t last = outside ? width : std::clamp(x.x - in_x, before, width);
        writer.pad(before * in_group_);
        if (last > before)
          writer.copy(line + (in_x + before) * channels_, (last - before) * in_group_);
        writer.pad((width - last) * in_group_);
      }
    }
}

void QuantizedWindow::pack(const std::byte* x, std::int64_t group, std::int64_t begin,
                           std::int64_t end, const Packer& packer, std::int64_t row_bytes,
                           std::byte* rows, std::int32_t* sums) const {
  RowWriter writer(packer, row_bytes);
  const std::int64_t element = packer.tier->wide ? 2 : 1;
  if (is_x_ && !packer.sums && row_bytes == depth_ * element) {  // rows are one run
    writer.begin(rows, nullptr);
    writer.copy(x + begin * depth_, (end - begin) * depth_);
    return;
  }
  const std::int64_t image_bytes = axes_[0].x * axes_[1].x * axes_[2].x * channels_;
  const std::int64_t line = begin / axes_[2].y, slice = line / axes_[1].y;
  std::array<std::int64_t, 3> place{slice % axes_[0].y, line % axes_[1].y, begin % axes_[2].y};
  const std::byte* image = x + slice / axes_[0].y * image_bytes + group * in_group_;
  for (std::int64_t row = begin; row < end; ++row) {
    writer.begin(rows + (row - begin) * row_bytes, sums + (row - begin));
    pack_row(image, place, writer);
    writer.end();
    for (std::size_t axis = 3; axis-- > 0 && ++place[axis] == axes_[axis].y;) {
      place[axis] = 0;
      if (axis == 0) image += image_bytes;
    }
  }
}

}  // namespace narrowgauge::cpu
