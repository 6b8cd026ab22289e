// SPDX-License-Identifier: Apache-2.0
#include "groups/finished.h"

#include <utility>
#include <vector>

#include "base/machine/stack_room.h"
#include "groups/bounded_tail.h"
#include "groups/finished_tail.h"
#include "groups/fused.h"
#include "kernels/cpu/floats/float_convolution.h"
#include "kernels/cpu/tiles/pixel_convolution.h"
#include "ops/convolution/conv.h"
#include "ops/elementwise/strip_program.h"
#include "ops/offers/contraction.h"

namespace narrowgauge {

int finished_convolution(const Graph& body) {
  const int found = finished_node(body);
  return found >= 0 && body.node(found).is<Conv>() ? found : -1;
}

namespace {

struct ConvolutionOperands {
  std::vector<Operand> inputs;
  Operand output;  // where the group's result lies
};

ConvolutionOperands operands_of(const Request& request, const OwnPorts& ports) {
  ConvolutionOperands operands{{}, request.output(0)};
  for (const int port : ports)
    operands.inputs.push_back(port < 0 ? Operand{.present = false} : request.input(port));
  return operands;
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

// Runs the tail on what a convolution has stored; Call::inputs has the group's own inputs behind
// those of the convolution.
cpu::Finish finish_with(const StripParts& tail, std::size_t inputs) {
  return [run = tail.run, inputs](const cpu::Call& call, std::int64_t begin, std::int64_t end) {
    StackRoom<256> room;
    std::pmr::vector<View> views(&room);
    views.reserve(inputs + 1);
    for (std::size_t i = 0; i < inputs; ++i)
      views.push_back({const_cast<void*>(call.inputs[std::tuple_size_v<OwnPorts> + i])});
    const View result{call.outputs[0]};
    views.push_back(result);
    KernelCall strips;
    strips.inputs = views;
    strips.outputs = {&result, 1};
    run(strips, begin, end);
  };
}

void set_finished(Offer& offer, cpu::Prepared prepared, const StripParts& tail,
                  const OwnPorts& ports) {
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
  OwnPorts ports;
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
      tail.residual = static_cast<int>(std::tuple_size_v<OwnPorts>) + convolution.bounded->residual;
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
  const OwnPorts ports = own_ports(*body, node);
  std::string reason = finished_form_reason(request, ports);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  if (request.output(0).dtype != DType::f32) return Offer::decline("a result that is not f32");
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
