// SPDX-License-Identifier: Apache-2.0
// What the groups around a LayerNormalization share: plain sums, dropouts of known shares, and
// rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/indexed_vector.h"
#include "groups/group.h"
#include "kernels/cpu/normalization/layer_norm.h"

namespace narrowgauge {

// Whether a node adds two tensors of the result's shape.
bool is_plain_sum(const Graph& graph, const Node& node);

// The share of elements that a Dropout or its gradient keeps; its settings begin at input `first`.
// Nothing if they are not constant or not for training.
std::optional<float> constant_keep(const GroupMatch& match, Part part, std::size_t first);

// Rows of the last axis; nothing if another axis is normalized or rows are too long.
std::optional<cpu::RowLayout> rows_of(const Dims& dims, std::int64_t axis);

// Finds operands by their index, in a request and in a call.
class RowOperands {
 public:
  explicit RowOperands(const Request& request)
      : inputs_({request.inputs.begin(), request.inputs.end()}),
        outputs_({request.outputs.begin(), request.outputs.end()}) {}

  const Operand& input(int i) const { return inputs_[i]; }
  const Operand& output(int o) const { return outputs_[o]; }

  // Why they are not all dense and floating with up to 32 bits, but for a mask and bytes; "" if
  // they are.
  std::string reason() const;

  cpu::ConstArray in(const KernelCall& call, int i) const {
    return i < 0 ? cpu::ConstArray{} : cpu::ConstArray{data_at(call.inputs, i), input(i).dtype};
  }
  cpu::Array out(const KernelCall& call, int o) const {
    if (o < 0) return {};
    return {data_at(call.outputs, o), output(o).dtype, 0, flushed_at(call, o)};
  }
  template <class T>
  static T* output_data(const KernelCall& call, int o) {
    return static_cast<T*>(data_at(call.outputs, o));
  }
  // Lets an output use the memory of an input of its type.
  void offer_place(int from, int to, Offer& offer) const {
    if (from >= 0 && to >= 0 && input(from).dtype == output(to).dtype)
      offer.in_place.push_back({from, to});
  }

 private:
  IndexedVector<int, Operand> inputs_, outputs_;
};

}  // namespace narrowgauge
