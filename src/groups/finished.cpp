// SPDX-License-Identifier: Apache-2.0
#include "groups/finished.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/enumerate.h"
#include "base/stack_room.h"
#include "groups/bounded_tail.h"
#include "groups/fused.h"
#include "ir/reason.h"
#include "kernels/cpu/floats/float_convolution.h"
#include "kernels/cpu/tiles/pixel_convolution.h"
#include "ops/elementwise/strip_program.h"
#include "ops/nn/conv.h"
#include "ops/offers/contraction.h"

namespace narrowgauge {

int finished_convolution(const Graph& body) {
  int found = -1;
  for (const auto& [i, node] : enumerate(body.nodes())) {
    if (is_source(node) || node.op->elementwise) continue;
    if (found >= 0 || !node.is<Conv>()) return -1;
    found = static_cast<int>(i);
  }
  return found;
}

namespace {

constexpr std::size_t own_inputs = 3;  // of the convolution: x, w, bias

// The inputs of the group that the convolution reads, by its ports; -1: none, -2: a constant.
std::array<int, own_inputs> inputs_of(const Graph& body, const Node& conv) {
  std::array<int, own_inputs> indices{-1, -1, -1};
  for (const auto& [port, value] : enumerate(conv.inputs)) {
    if (value.is_absent()) continue;
    const auto at = std::ranges::find(body.inputs(), value);
    indices[static_cast<std::size_t>(port)] =
        at == body.inputs().end() ? -2 : static_cast<int>(at - body.inputs().begin());
  }
  return indices;
}

struct ConvolutionOperands {
  std::vector<Operand> inputs;
  Operand output;  // where the group's result lies
};

ConvolutionOperands operands_of(const Request& request, const std::array<int, own_inputs>& ports) {
  ConvolutionOperands operands{{}, request.output(0)};
  for (const int port : ports)
    operands.inputs.push_back(port < 0 ? Operand{.present = false} : request.input(port));
  return operands;
}

// Why the group is none that runs part by part; "" if it may be.
std::string finished_form_reason(const Request& request, const std::array<int, own_inputs>& ports) {
  return first_reason(
      [&] { return unless(request.outputs.size() == 1, "several results"); },
      [&] { return unless(request.output(0).dtype == DType::f32, "a result that is not f32"); },
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

// Why this kernel, which stores part by part, does not compute the convolution; "" if it does.
std::string kernel_reason(const Request& convolution, std::string_view wanted) {
  for (const Kernel& kernel : Conv::kernels()) {
    const bool by_parts =
        kernel.name == "pixel tiles" || kernel.name == "panels" || kernel.name == "onednn";
    if ((by_parts && kernel.name != wanted) || !kernel.offer(convolution)) continue;
    return by_parts ? std::string() : concat("its kernel is '", kernel.name, "'");
  }
  return concat("'", wanted, "' does not take the convolution");
}

bool is_read_beside(const Graph& body, int convolution, Value value) {
  for (const auto& [i, node] : enumerate(body.nodes()))
    if (i != convolution && std::ranges::find(node.inputs, value) != node.inputs.end()) return true;
  return false;
}

// Prepares the elementwise ops behind the convolution. They read the group's inputs and, last, the
// convolution's result, in whose place they write theirs.
StripParts tail_of(const Request& request, const Graph& body, int convolution) {
  std::vector<Operand> inputs;
  for (const auto& [i, operand] : enumerate(request.inputs)) {
    inputs.push_back(operand);
    inputs.back().present =
        is_read_beside(body, convolution, body.inputs()[static_cast<std::size_t>(i)]);
  }
  inputs.push_back(request.output(0));
  const Request tail{request.op,     request.attributes, inputs,      request.outputs,
                     request.target, Math::none,         request.name};
  return prepare_strips(tail, StripProgram::of_body(body, convolution));
}

// Runs the tail on what a convolution has stored; Call::inputs has the group's own inputs behind
// those of the convolution.
cpu::Finish finish_with(const StripParts& tail, std::size_t inputs) {
  return [run = tail.run, inputs](const cpu::Call& call, std::int64_t begin, std::int64_t end) {
    StackRoom<256> room;
    std::pmr::vector<View> views(&room);
    views.reserve(inputs + 1);
    for (std::size_t i = 0; i < inputs; ++i)
      views.push_back({const_cast<void*>(call.inputs[own_inputs + i])});
    const View result{call.outputs[0]};
    views.push_back(result);
    KernelCall strips;
    strips.inputs = views;
    strips.outputs = {&result, 1};
    run(strips, begin, end);
  };
}

void set_finished(Offer& offer, cpu::Prepared prepared, const StripParts& tail,
                  const std::array<int, own_inputs>& ports) {
  std::vector<int> inputs(ports.begin(), ports.end());
  if (inputs.back() < 0) inputs.pop_back();
  describe(offer, prepared);
  offer.implementation += ", " + tail.implementation;
  offer.packing = packing_of(std::move(prepared.packed), inputs);
  offer.run = [run = std::move(prepared.run), ports](const KernelCall& call) {
    StackRoom<256> room;
    std::pmr::vector<const void*> sources(&room);
    sources.reserve(ports.size() + call.inputs.size());
    for (const int port : ports) sources.push_back(port < 0 ? nullptr : call.input(port).data);
    for (const View& view : call.inputs) sources.push_back(view.data);
    void* const result = call.outputs[0].data;
    run({sources.data(), &result, call.workspace, nullptr, call.packed});
  };
}

// What a kernel needs to compute the convolution and the ops behind it.
struct FinishedConvolution {
  cpu::ConvolutionViews views;
  cpu::ConvolutionWindow window;
  cpu::ContractionOptions options;
  StripParts tail;
  std::optional<BoundedTail> bounded;
  std::array<int, own_inputs> ports;
};

struct FinishedKernel {
  std::string_view name;  // of the convolution's
  cpu::Prepared (*prepare)(const FinishedConvolution&);
  // Whether sums with a residual are within their bounds before they are stored: also in the place
  // of the residual.
  bool takes_bounds;
};

// The tail in the form that panels take: with a residual that lies as the result does.
std::optional<BoundedTail> bounded_tail_of(const Request& request, const Graph& body, int index) {
  std::optional<BoundedTail> tail = bounded_tail(body, index);
  if (!tail || tail->residual < 0) return tail;
  const Operand &residual = request.input(tail->residual), &y = request.output(0);
  const bool fits = residual.dtype == DType::f32 && residual.storage.blocks.empty() &&
                    residual.storage.encoding.empty() &&
                    same_layout(kernel_view(residual), kernel_view(y));
  return fits ? tail : std::nullopt;
}

cpu::Prepared prepare_finished_panels(const FinishedConvolution& convolution) {
  cpu::ContractionOptions options = convolution.options;
  cpu::FloatTail tail;
  if (convolution.bounded) {
    options.finish = nullptr;
    tail.bounds = convolution.bounded->bounds;
    if (convolution.bounded->residual >= 0)
      tail.residual = static_cast<int>(own_inputs) + convolution.bounded->residual;
  }
  return prepare_float_convolution(convolution.views, convolution.window, tail, options);
}

cpu::Prepared prepare_finished_tiles(const FinishedConvolution& convolution) {
  const cpu::ContractionOptions& options = convolution.options;
  return prepare_pixel_convolution({.views = convolution.views,
                                    .window = convolution.window,
                                    .threads = options.threads,
                                    .lasting = options.lasting},
                                   options.finish);
}

cpu::Prepared prepare_finished_onednn(const FinishedConvolution& convolution) {
  return prepare_convolution(cpu::ConvolutionPass::forward, convolution.views, convolution.window,
                             convolution.options);
}

Offer offer_finished(const Request& request, const FinishedKernel& kernel) {
  const Region body = request.as<Fused>().body;
  const int index = finished_convolution(*body);
  if (index < 0) return Offer::decline("no convolution with elementwise ops behind it");
  const Node& node = body->node(index);
  const std::array<int, own_inputs> ports = inputs_of(*body, node);
  std::string reason = finished_form_reason(request, ports);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const ConvolutionOperands operands = operands_of(request, ports);
  const Request inner{*node.op,       node.attributes, operands.inputs, {&operands.output, 1},
                      request.target, node.math,       request.name,    request.deterministic};
  reason = kernel_reason(inner, kernel.name);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const StripParts tail = tail_of(request, *body, index);
  if (!tail.reason.empty()) return Offer::decline(tail.reason);
  const Operand &x = operands.inputs[0], &w = operands.inputs[1], &bias = operands.inputs[2];
  Convolution convolution = convolution_of(node, x, w, operands.output);
  if (bias.present) convolution.bias = &bias;
  cpu::ContractionOptions options = contraction_options(inner);
  options.lasting = lasting_inputs(inner, bias.present ? std::vector{0, 1, 2} : std::vector{0, 1});
  options.finish = finish_with(tail, request.inputs.size());
  FinishedConvolution finished{convolution.views(), convolution.window, options, tail, {}, ports};
  if (kernel.takes_bounds) finished.bounded = bounded_tail_of(request, *body, index);
  Offer offer;
  if (finished.bounded && finished.bounded->residual >= 0)
    offer.in_place = {{finished.bounded->residual, 0}};
  offer.prepare = [finished = std::move(finished), prepare = kernel.prepare](Offer& ready) {
    set_finished(ready, prepare(finished), finished.tail, finished.ports);
  };
  return offer;
}

}  // namespace

Offer offer_finished_tiles(const Request& request) {
  return offer_finished(request, {"pixel tiles", prepare_finished_tiles, false});
}

Offer offer_finished_panels(const Request& request) {
  return offer_finished(request, {"panels", prepare_finished_panels, true});
}

Offer offer_finished_onednn(const Request& request) {
  return offer_finished(request, {"onednn", prepare_finished_onednn, false});
}

}  // namespace narrowgauge
