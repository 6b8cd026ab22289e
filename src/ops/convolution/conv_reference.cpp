// SPDX-License-Identifier: Apache-2.0
#include "ops/convolution/conv_reference.h"

#include "base/threads/parallel.h"

namespace narrowgauge {

namespace {

// Moves to the next row-major index; false after the last.
bool advance(Dims& index, const Dims& dims) {
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    if (++index[axis] < dims[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

struct ConvolutionSizes {
  Dims x, w, y;  // spatial
  std::int64_t batch, x_channels, y_channels, group;
  std::int64_t x_size, w_size, y_size;  // elements of the spatial parts

  ConvolutionSizes(const ConvolutionCase& c, const Dims& x_dims, const Dims& w_dims,
                   const Dims& y_dims)
      : x(spatial_part(x_dims)),
        w(spatial_part(w_dims)),
        y(spatial_part(y_dims)),
        batch(x_dims[0]),
        x_channels(x_dims[1]),
        y_channels(y_dims[1]),
        group(c.group),
        x_size(element_count(x)),
        w_size(element_count(w)),
        y_size(element_count(y)) {}
};

// Calls visit(x index, w index, y index), row-major over the spatial parts, for every tap of every
// window that lies inside x.
using Visit = FunctionRef<void(std::int64_t, std::int64_t, std::int64_t)>;

std::int64_t input_index(const Window& window, const ConvolutionSizes& sizes, const Dims& y,
                         const Dims& w) {
  std::int64_t index = 0;
  for (std::size_t axis = 0; axis < y.size(); ++axis) {
    const std::int64_t place =
        y[axis] * window.strides[axis] + w[axis] * window.dilations[axis] - window.pads_begin[axis];
    if (place < 0 || place >= sizes.x[axis]) return -1;
    index = index * sizes.x[axis] + place;
  }
  return index;
}

void for_each_tap(const Window& window, const ConvolutionSizes& sizes, Visit visit) {
  if (sizes.y_size == 0) return;
  Dims y(sizes.y.size());
  std::int64_t y_index = 0;
  do {
    Dims w(sizes.w.size());
    std::int64_t w_index = 0;
    do {
      const std::int64_t x_index = input_index(window, sizes, y, w);
      if (x_index >= 0) visit(x_index, w_index, y_index);
      ++w_index;
    } while (advance(w, sizes.w));
    ++y_index;
  } while (advance(y, sizes.y));
}

// Calls visit for the pairs of channels that a weight joins: first x, first w and first y are
// row-major indices where their spatial parts begin.
void for_each_plane(const ConvolutionSizes& s, Visit visit) {
  const std::int64_t in_group = s.x_channels / s.group, out_group = s.y_channels / s.group;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t m = 0; m < s.y_channels; ++m)
      for (std::int64_t c = 0; c < in_group; ++c)
        visit((n * s.x_channels + m / out_group * in_group + c) * s.x_size,
              (m * in_group + c) * s.w_size, (n * s.y_channels + m) * s.y_size);
}

}  // namespace

void convolve(const ConvolutionCase& c, const ReferenceView& x, const ReferenceView& w,
              const ReferenceView* bias, const ReferenceView& y) {
  const ConvolutionSizes sizes(c, x.dims(), w.dims(), y.dims());
  ReferenceSums sums(y.size());
  if (bias && bias->present())
    for (std::int64_t i = 0; i < y.size(); ++i)
      sums[i] = (*bias)[i / sizes.y_size % sizes.y_channels];
  for_each_plane(sizes, [&](std::int64_t x0, std::int64_t w0, std::int64_t y0) {
    for_each_tap(c.window, sizes, [&](std::int64_t xi, std::int64_t wi, std::int64_t yi) {
      sums[y0 + yi] += x[x0 + xi] * w[w0 + wi];
    });
  });
  store(sums, y);
}

void convolve_data_gradient(const ConvolutionCase& c, const ReferenceView& dy,
                            const ReferenceView& w, const ReferenceView& dx) {
  const ConvolutionSizes sizes(c, dx.dims(), w.dims(), dy.dims());
  ReferenceSums sums(dx.size());
  for_each_plane(sizes, [&](std::int64_t x0, std::int64_t w0, std::int64_t y0) {
    for_each_tap(c.window, sizes, [&](std::int64_t xi, std::int64_t wi, std::int64_t yi) {
      sums[x0 + xi] += dy[y0 + yi] * w[w0 + wi];
    });
  });
  store(sums, dx);
}

void convolve_weight_gradient(const ConvolutionCase& c, const ReferenceView& x,
                              const ReferenceView& dy, const ReferenceView& dw) {
  const ConvolutionSizes sizes(c, x.dims(), dw.dims(), dy.dims());
  ReferenceSums sums(dw.size());
  for_each_plane(sizes, [&](std::int64_t x0, std::int64_t w0, std::int64_t y0) {
    for_each_tap(c.window, sizes, [&](std::int64_t xi, std::int64_t wi, std::int64_t yi) {
      sums[w0 + wi] += x[x0 + xi] * dy[y0 + yi];
    });
  });
  store(sums, dw);
}

}  // namespace narrowgauge
