// SPDX-License-Identifier: Apache-2.0
#include "base/machine/stack_room.h"
#include "groups/finished.h"
#include "groups/finished_tail.h"
#include "groups/fused.h"
#include "ops/normalization/group_normalization.h"

namespace narrowgauge {

namespace {

ChannelGroups groups_of_node(const Node& node, std::int64_t channels) {
  return node.is<GroupNormalization>() ? node.as<GroupNormalization>().groups_of(channels)
                                       : node.as<InstanceNormalization>().groups_of(channels);
}

StoredTail stored_tail(const StripParts& tail) {
  return [run = tail.run](const KernelCall& call, std::int64_t begin, std::int64_t end) {
    StackRoom<256> room;
    std::pmr::vector<View> views(call.inputs.begin(), call.inputs.end(), &room);
    views.push_back(call.output(0));
    KernelCall strips;
    strips.inputs = views;
    strips.outputs = call.outputs;
    run(strips, begin, end);
  };
}

}  // namespace

Offer offer_finished_groups(const Request& request) {
  const Region body = request.as<Fused>().body;
  const int index = finished_node(*body);
  if (index < 0 || finished_convolution(*body) >= 0)
    return Offer::decline("no normalization with elementwise ops behind it");
  const Node& node = body->node(index);
  const OwnPorts ports = own_ports(*body, node);
  std::string reason = finished_form_reason(request, ports);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const Operand &x = request.input(ports[0]), &y = request.output(0);
  // What is normalized is rounded to the format of the result, as it has that of x by itself.
  if (y.dtype != DType::f32 && y.dtype != x.dtype)
    return Offer::decline(concat("a result in ", y.dtype, " of ", x.dtype));
  const StripParts tail = tail_of(request, *body, index);
  if (!tail.reason.empty()) return Offer::decline(tail.reason);
  Offer offer =
      offer_channel_groups(request, groups_of_node(node, x.dims[1]), ports, stored_tail(tail));
  if (!offer) return offer;
  offer.implementation += ", " + tail.implementation;
  if (!is_read_beside(*body, index, node.inputs[0])) offer.in_place = {{ports[0], 0}};
  return offer;
}

}  // namespace narrowgauge
