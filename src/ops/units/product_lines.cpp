// SPDX-License-Identifier: Apache-2.0
#include "ops/units/product_lines.h"

#include <algorithm>

#include "base/threads/parallel.h"

namespace narrowgauge {

namespace {

// Writes one line from front to back.
template <class T>
class LineWriter {
 public:
  LineWriter(const ProductLines& lines, const T* tensor)
      : lines_(lines), tensor_(tensor), below_(lines.axes.size()), place_(lines.axes.size()) {
    std::int64_t elements = lines.depth_inner.size;
    for (std::size_t axis = lines.axes.size(); axis-- > 0;) {
      below_[axis] = elements;
      elements *= lines.axes[axis].depth;
    }
  }

  void write(std::int64_t line, T* out) {
    out_ = out;
    const std::int64_t inner = line % lines_.line_inner.size;
    std::int64_t rest = line / lines_.line_inner.size;
    for (std::size_t axis = lines_.axes.size(); axis-- > 0;) {
      place_[axis] = rest % lines_.axes[axis].lines;
      rest /= lines_.axes[axis].lines;
    }
    const std::int64_t start = rest * lines_.line_outer.stride + inner * lines_.line_inner.stride;
    for (std::int64_t k = 0; k < lines_.depth_outer.size; ++k)
      write_axis(0, start + k * lines_.depth_outer.stride);
  }

 private:
  void write_axis(std::size_t axis, std::int64_t offset) {
    if (axis == lines_.axes.size()) return write_run(offset);
    const ProductLines::Axis& table = lines_.axes[axis];
    const std::int64_t* const offsets = table.offsets.data() + place_[axis] * table.depth;
    for (std::int64_t k = 0; k < table.depth; ++k) {
      if (offsets[k] >= 0)
        write_axis(axis + 1, offset + offsets[k]);
      else
        out_ = std::fill_n(out_, below_[axis], T{0});
    }
  }
  void write_run(std::int64_t offset) {
    const auto [size, stride] = lines_.depth_inner;
    if (stride == 1) {
      out_ = std::copy_n(tensor_ + offset, size, out_);
      return;
    }
    for (std::int64_t k = 0; k < size; ++k) *out_++ = tensor_[offset + k * stride];
  }

  const ProductLines& lines_;
  const T* tensor_;
  T* out_ = nullptr;
  std::vector<std::int64_t> below_, place_;  // of each axis: elements inside; place
};

template <class T>
void gather_as(const ProductLines& lines, const void* tensor, std::int64_t begin, std::int64_t end,
               void* out) {
  const std::int64_t depth = lines.depth();
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(depth, 1));
  parallel_for(end - begin, grain, [&](std::int64_t first, std::int64_t last) {
    LineWriter<T> writer(lines, static_cast<const T*>(tensor));
    for (std::int64_t i = first; i < last; ++i)
      writer.write(begin + i, static_cast<T*>(out) + i * depth);
  });
}

}  // namespace

std::int64_t ProductLines::lines() const {
  std::int64_t count = line_outer.size * line_inner.size;
  for (const Axis& axis : axes) count *= axis.lines;
  return count;
}

std::int64_t ProductLines::depth() const {
  std::int64_t count = depth_outer.size * depth_inner.size;
  for (const Axis& axis : axes) count *= axis.depth;
  return count;
}

void ProductLines::gather(int bytes, const void* tensor, std::int64_t begin, std::int64_t end,
                          void* out) const {
  if (bytes == 2) return gather_as<std::uint16_t>(*this, tensor, begin, end, out);
  if (bytes == 4) return gather_as<std::uint32_t>(*this, tensor, begin, end, out);
  NG_INVARIANT(bytes == 8);
  gather_as<std::uint64_t>(*this, tensor, begin, end, out);
}

}  // namespace narrowgauge
