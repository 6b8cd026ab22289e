// SPDX-License-Identifier: Apache-2.0
#include "ops/offers/channel_groups.h"

#include "ir/reason.h"
#include "kernels/cpu/normalization/group_norm.h"
#include "ops/axes/axis.h"
#include "ops/offers/batch_inner.h"
#include "ops/offers/channels.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {

std::string parameter_reason(const Operand& vector) {
  return unless(is_f32_or_narrow(vector.dtype) && is_dense(vector),
                concat("a parameter of ", vector.dtype, " with strides ", vector.strides));
}

struct ChannelGroupsKernel {
  ChannelGroups groups;
  ChannelGroupsPorts ports;
  StoredTail tail;
  SharedChannels shared;
  std::int64_t images;
  std::vector<Operand> operands;  // x, scale, bias, y

  std::int64_t vectors() const { return FloatVectors::bytes(shared.layout.channels, 2); }

  void run(const KernelCall& call) const {
    FloatVectors floats(shared.layout.channels, call.workspace);
    cpu::GroupNorm norm;
    norm.layout = shared.layout;
    norm.images = images;
    norm.groups = groups.groups;
    norm.epsilon = static_cast<float>(groups.epsilon);
    norm.x = array_of(call.input(ports[0]), operands[0], shared.pitches[0]);
    norm.scale = floats.input(call.input(ports[1]), operands[1].dtype);
    norm.bias = floats.input(call.input(ports[2]), operands[2].dtype);
    norm.y = array_of(call.output(0), operands[3], shared.pitches[1], call.flushed_at(0));
    if (tail) norm.stored = [&](std::int64_t begin, std::int64_t end) { tail(call, begin, end); };
    group_norm(norm, call.workspace + vectors());
  }
};

}  // namespace

Offer offer_channel_groups(const Request& request, const ChannelGroups& groups,
                           const ChannelGroupsPorts& ports, StoredTail tail) {
  const Operand &x = request.input(ports[0]), &y = request.output(0);
  const Operand &scale = request.input(ports[1]), &bias = request.input(ports[2]);
  SharedChannels shared;
  std::string reason = first_reason(
      [&] { return parameter_reason(scale); }, [&] { return parameter_reason(bias); },
      [&] { return unless(!lies_batch_inner(x), "images do not lie one after the other"); },
      [&] {
        return (shared = shared_channels({&x, &y})).reason;
      });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  ChannelGroupsKernel kernel{
      groups, ports, std::move(tail), std::move(shared), x.dims[0], {x, scale, bias, y}};
  Offer offer;
  offer.implementation = "channels, f32 statistics";
  offer.workspace =
      kernel.vectors() + cpu::group_norm_workspace(kernel.shared.layout, kernel.images);
  offer.run = [kernel = std::move(kernel)](const KernelCall& call) { kernel.run(call); };
  return offer;
}

}  // namespace narrowgauge
