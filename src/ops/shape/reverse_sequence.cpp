// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/reverse_sequence.h"

#include "narrowgauge/graph.h"
#include "ops/reference.h"
#include "ops/shape/indexing.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

Offer reverse_sequence_reference(const Request& request) {
  const auto& op = request.as<ReverseSequence>();
  return reference_offer(request, [batch = static_cast<std::size_t>(op.batch_axis),
                                   time = static_cast<std::size_t>(op.time_axis)](
                                      const auto& in, const auto& out, const KernelCall&) {
    const Dims& dims = out[0].dims();
    for (std::int64_t i = 0; i < out[0].size(); ++i) {
      Dims position = position_of(i, dims);
      const std::int64_t length = in[1].integer(position[batch]);
      require<DataError>(length >= 0 && length <= dims[time], "ReverseSequence: length ", length,
                         " is outside an axis of ", dims[time]);
      if (position[time] < length) position[time] = length - 1 - position[time];
      out[0].copy(i, in[0], index_of(position, dims));
    }
  });
}

constexpr Kernel reverse_sequence_kernels[] = {{"reference", reverse_sequence_reference}};

}  // namespace

TensorTypes ReverseSequence::infer(const Inference& in) const {
  require((batch_axis == 0 && time_axis == 1) || (batch_axis == 1 && time_axis == 0),
          "ReverseSequence: one axis must be 0 and the other 1, got batch_axis ", batch_axis,
          " and time_axis ", time_axis);
  require(in.rank(0) >= 2, "ReverseSequence: expected at least two axes, got ", in.type(0));
  const Shape expected{in.shape(0)[static_cast<std::size_t>(batch_axis)]};
  require(in.shape(1) == expected, "ReverseSequence: sequence_lens must be of shape ", expected,
          ", got ", in.type(1));
  return {in.type(0)};
}

Values ReverseSequence::gradient(Gradient& g) const {
  return {g.add(*this, {g.output_gradient(), g.input(1)}), absent};
}

std::span<const Kernel> ReverseSequence::kernels() { return reverse_sequence_kernels; }

}  // namespace narrowgauge

NG_OPS(reverse_sequence, narrowgauge::ReverseSequence)
