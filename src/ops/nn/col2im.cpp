// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/col2im.h"

#include "narrowgauge/graph.h"
#include "ops/control/composite.h"
#include "ops/shape/axes.h"
#include "ops/shape/gather.h"
#include "ops/shape/indexing.h"
#include "ops/shape/reshape.h"
#include "ops/shape/slice.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// Where blocks stand on the image, along each of its axes.
struct Blocks {
  Dims image, block, dilations, pads, strides;
  Dims counts;

  Blocks(const Col2Im& op, Dims image_shape, Dims block_shape)
      : image(std::move(image_shape)),
        block(std::move(block_shape)),
        dilations(op.dilations),
        pads(op.pads),
        strides(op.strides) {
    const std::size_t rank = image.size();
    if (dilations.empty()) dilations.assign(rank, 1);
    if (pads.empty()) pads.assign(2 * rank, 0);
    if (strides.empty()) strides.assign(rank, 1);
    require(rank > 0 && block.size() == rank && dilations.size() == rank &&
                strides.size() == rank && pads.size() == 2 * rank,
            "Col2Im: image_shape ", image, ", block_shape ", block, ", dilations ", dilations,
            ", strides ", strides, " and pads ", pads, " do not fit together");
    for (std::size_t i = 0; i < rank; ++i) counts.push_back(count_along(i));
  }

  // The pixel under an element of a block; one behind the last pixel if it lies on the padding.
  std::int64_t pixel(const Dims& element, const Dims& at) const {
    Dims position(image.size());
    for (std::size_t i = 0; i < image.size(); ++i) {
      position[i] = at[i] * strides[i] + element[i] * dilations[i] - pads[i];
      if (position[i] < 0 || position[i] >= image[i]) return element_count(image);
    }
    return index_of(position, image);
  }

 private:
  std::int64_t count_along(std::size_t i) const {
    require(image[i] > 0 && block[i] > 0 && dilations[i] > 0 && strides[i] > 0 && pads[i] >= 0 &&
                pads[image.size() + i] >= 0,
            "Col2Im: sizes, dilations and strides must be positive, and pads not negative");
    const Dim padded = Dim(image[i]) + pads[i] + pads[image.size() + i];
    const Dim span = Dim(dilations[i]) * (block[i] - 1) + 1;
    require(span.value() <= padded.value(), "Col2Im: a block of ", span,
            " does not fit an image of ", padded, " along axis ", i);
    return ((padded - span) / strides[i] + 1).value();
  }
};

Value sliced(Rewriting& r, Value x, std::int64_t end, std::int64_t axis) {
  const auto list = [&](std::int64_t value) { return r.constant(list_of(Dims{value})); };
  return r.add(Slice{}, {x, list(0), list(end), list(axis)});
}

}  // namespace

TensorTypes Col2Im::infer(const Inference& in) const {
  const Blocks blocks(*this, constant_integers(in, 1, "image_shape"),
                      constant_integers(in, 2, "block_shape"));
  const Shape& x = in.shape(0);
  const Dim elements = element_count(blocks.block), count = element_count(blocks.counts);
  require(x.size() == 3 && x[1].is_known() && x[1].value() % elements.value() == 0 && x[2] == count,
          "Col2Im: expected x [N, C * ", elements, ", ", count, "], got ", in.type(0));
  Shape shape{x[0], x[1] / elements};
  shape.insert(shape.end(), blocks.image.begin(), blocks.image.end());
  return {{in.dtype(0), shape}};
}

// The gradient of taking each element from its pixel.
Values Col2Im::decompose(Rewriting& r) const {
  const auto constant = [&](int i) { return integers_of(*r.graph().constant_value(r.input(i))); };
  const Blocks blocks(*this, constant(1), constant(2));
  Dims pixels;
  for (std::int64_t element = 0; element < element_count(blocks.block); ++element)
    for (std::int64_t at = 0; at < element_count(blocks.counts); ++at)
      pixels.push_back(
          blocks.pixel(position_of(element, blocks.block), position_of(at, blocks.counts)));
  const Shape& x = r.shape(r.input(0));
  const std::int64_t size = element_count(blocks.image);
  const Dim channels = x[1] / element_count(blocks.block), images = x[0] * channels;
  Shape shape{x[0], channels};
  shape.insert(shape.end(), blocks.image.begin(), blocks.image.end());
  const Value lines =
      r.add(ReshapeTo{{images, static_cast<std::int64_t>(pixels.size())}}, {r.input(0)});
  const GatherGradient sums{.axis = 1, .shape = {images, size + 1}};
  const Value with_padding = r.add(sums, {lines, r.constant(list_of(pixels))});
  return {r.add(ReshapeTo{shape}, {sliced(r, with_padding, size, 1)})};
}

std::span<const Kernel> Col2Im::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(col2im, narrowgauge::Col2Im)
