// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/export/plain_sizes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/enumerate.h"
#include "ops/axes/axes.h"
#include "ops/index/expand.h"
#include "ops/shape/concat.h"
#include "ops/shape/reshape.h"
#include "ops/shape/shape_of.h"
#include "ops/shape/views.h"
#include "passes/core/rebuild.h"

namespace narrowgauge::onnx {

namespace {

// A number of ONNX's, or nothing where the size must be read from a value.
using Sizes = std::vector<std::optional<std::int64_t>>;

// 0 takes over the size of x at this axis, and one -1 is what the others leave.
Sizes sizes_for_reshape(const Shape& x, const Shape& target) {
  Sizes sizes;
  bool inferred = false;
  for (const auto& [axis, dim] : enumerate(target)) {
    sizes.emplace_back();
    const bool same = axis < std::ssize(x) && *(x.begin() + axis) == dim;
    if (dim.is_known()) {
      sizes.back() = dim.value();
    } else if (same) {
      sizes.back() = 0;
    } else if (!inferred) {
      sizes.back() = -1;
      inferred = true;
    }
  }
  return sizes;
}

// 1 takes over the size of x, whose last axis is that of the target.
Sizes sizes_for_expand(const Shape& x, const Shape& target) {
  Sizes sizes;
  const auto new_axes = std::ssize(target) - std::ssize(x);
  for (const auto& [axis, dim] : enumerate(target)) {
    sizes.emplace_back();
    if (dim.is_known())
      sizes.back() = dim.value();
    else if (axis >= new_axes && *(x.begin() + (axis - new_axes)) == dim)
      sizes.back() = 1;
  }
  return sizes;
}

class PlainSizes {
 public:
  explicit PlainSizes(const narrowgauge::Graph& graph) : rebuild_(graph) {}

  narrowgauge::Graph run() {
    for (const auto& [i, node] : enumerate(rebuild_.source().nodes()))
      if (node.is<ReshapeTo>())
        reshape(i, node);
      else if (node.is<ExpandTo>())
        replace(i, Expand{}, sizes_for_expand(shape_of(node), node.as<ExpandTo>().shape));
      else
        rebuild_.copy(i);
    return rebuild_.finish();
  }

 private:
  const Shape& shape_of(const narrowgauge::Node& node) const {
    return rebuild_.source().type(node.input(0)).shape;
  }

  void reshape(int index, const narrowgauge::Node& node) {
    const Shape& target = node.as<ReshapeTo>().shape;
    // With a size that is zero, ONNX allows no open ones.
    const bool empty = std::ranges::count(target, Dim(0)) > 0;
    Sizes sizes = sizes_for_reshape(empty ? Shape{} : shape_of(node), target);
    if (empty) std::ranges::replace(sizes, std::optional<std::int64_t>(-1), std::nullopt);
    replace(index, Reshape{.allowzero = empty ? 1 : 0}, sizes);
  }

  template <Op T>
  void replace(int index, T op, const Sizes& sizes) {
    const narrowgauge::Node& node = rebuild_.source().node(index);
    const Value list = list_value(node, sizes);
    rebuild_.map({index, 0},
                 rebuild_.graph().add(std::move(op), {rebuild_.mapped(node.input(0)), list},
                                      options_of(node)));
  }

  Value list_value(const narrowgauge::Node& node, const Sizes& sizes) {
    narrowgauge::Graph& graph = rebuild_.graph();
    Values pieces;
    Dims numbers;
    const auto finish_numbers = [&] {
      if (!numbers.empty()) pieces.push_back(constant(node, numbers));
      numbers.clear();
    };
    for (const auto& [axis, size] : enumerate(sizes)) {
      if (size) {
        numbers.push_back(*size);
      } else {
        finish_numbers();
        pieces.push_back(size_read(node, *(node.output(0).type.shape.begin() + axis)));
      }
    }
    finish_numbers();
    if (pieces.empty()) return constant(node, {});
    if (pieces.size() == 1) return pieces[0];
    return graph.add(Concat{.axis = 0}, pieces, {.name = name_for(node)});
  }

  // The names of the source are still to come.
  std::string name_for(const narrowgauge::Node& node) {
    return rebuild_.graph().unique_name(node.name + "/sizes");
  }

  Value constant(const narrowgauge::Node& node, const Dims& numbers) {
    return rebuild_.graph().constant(list_of(numbers), name_for(node));
  }

  // The size as it is read from the first value that has an axis of it: an input, if one has.
  Value size_read(const narrowgauge::Node& node, const Dim& dim) {
    narrowgauge::Graph& graph = rebuild_.graph();
    for (const auto& [i, known] : enumerate(graph.nodes()))
      for (const auto& [o, output] : enumerate(known.outputs))
        for (const auto& [axis, size] : enumerate(output.type.shape))
          if (size == dim)
            return graph.add(ShapeOf{.start = axis, .end = axis + 1}, {{i, o}},
                             {.name = name_for(node)});
    throw ModelError(concat("node '", node.full_name(), "' (", node.op->full_name(),
                            "): no value has the size ", dim.text(), ", so that ONNX cannot say ",
                            node.output(0).type.shape));
  }

  Rebuild rebuild_;
};

}  // namespace

narrowgauge::Graph with_plain_sizes(const narrowgauge::Graph& graph) {
  return PlainSizes(graph).run();
}

}  // namespace narrowgauge::onnx
