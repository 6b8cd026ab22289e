// SPDX-License-Identifier: Apache-2.0
#include "groups/finished_tail.h"

#include <algorithm>

#include "base/enumerate.h"
#include "groups/finished.h"
#include "ir/reason.h"
#include "ops/convolution/conv.h"
#include "ops/normalization/group_normalization.h"

namespace narrowgauge {

bool may_be_finished(const Node& node) {
  return node.is<Conv>() || node.is<GroupNormalization>() || node.is<InstanceNormalization>();
}

int finished_node(const Graph& body) {
  int found = -1;
  for (const auto& [i, node] : enumerate(body.nodes())) {
    if (is_source(node) || node.op->elementwise) continue;
    if (found >= 0 || !may_be_finished(node)) return -1;
    found = static_cast<int>(i);
  }
  return found;
}

OwnPorts own_ports(const Graph& body, const Node& node) {
  OwnPorts indices{-1, -1, -1};
  for (const auto& [port, value] : enumerate(node.inputs)) {
    if (value.is_absent()) continue;
    const auto at = std::ranges::find(body.inputs(), value);
    indices[static_cast<std::size_t>(port)] =
        at == body.inputs().end() ? -2 : static_cast<int>(at - body.inputs().begin());
  }
  return indices;
}

std::string finished_form_reason(const Request& request, const OwnPorts& ports) {
  return first_reason(
      [&] { return unless(request.outputs.size() == 1, "several results"); },
      [&] { return unless(std::ranges::find(ports, -2) == ports.end(), "constants multiply"); },
      [&] {
        const auto& in = request.inputs;
        return unless(std::ranges::none_of(
                          in, [](const Operand& each) { return element_count(each.dims) == 0; }),
                      "nothing to compute");
      },
      [&] {
        const Storage& storage = request.output(0).storage;
        return unless(storage.blocks.empty() && storage.encoding.empty(), "a result in blocks");
      },
      [&] {
        const Operand& y = request.output(0);
        return unless(y.strides == strides_of(y.dims, y.storage), "a result with gaps");
      });
}

bool is_read_beside(const Graph& body, int node, Value value) {
  for (const auto& [i, each] : enumerate(body.nodes()))
    if (i != node && std::ranges::find(each.inputs, value) != each.inputs.end()) return true;
  return false;
}

StripParts tail_of(const Request& request, const Graph& body, int node) {
  std::vector<Operand> inputs;
  for (const auto& [i, operand] : enumerate(request.inputs)) {
    inputs.push_back(operand);
    inputs.back().present = is_read_beside(body, node, body.inputs()[static_cast<std::size_t>(i)]);
  }
  inputs.push_back(request.output(0));
  const Request tail{request.op,     request.attributes, inputs,      request.outputs,
                     request.target, Math::none,         request.name};
  return prepare_strips(tail, StripProgram::of_body(body, node));
}

}  // namespace narrowgauge
