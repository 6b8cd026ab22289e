// SPDX-License-Identifier: Apache-2.0
// A MaxPool that alone reads a Relu: as the Relu of the largest values, which are fewer, without
// the Relu's result in memory. Results differ in nothing but the sign of a zero.
#include "groups/group.h"
#include "ir/reason.h"
#include "ops/activation/relu.h"
#include "ops/elementwise/strip_program.h"
#include "ops/pool/max_pool.h"

namespace narrowgauge {

namespace {

struct ReluPool {
  static constexpr std::string_view name = "relu and pool";
  struct Pattern : GroupPattern {
    Part relu = one<Relu>();
    Part pool = anchor<MaxPool>({reads(0, {relu})});
  };
  static Offer offer(const GroupRequest& group, const Pattern& parts);
};

// The first kernel but the reference that takes a request; or none.
Offer fastest(const Request& request) {
  const std::span<const Kernel> kernels = request.op.kernels();
  for (const Kernel& kernel : kernels.first(kernels.size() - 1))
    if (Offer offer = kernel.offer(request)) {
      if (offer.implementation.empty()) offer.implementation = kernel.name;
      return offer;
    }
  return Offer::decline("no kernel of the pool takes it");
}

// The pool, and the Relu of its result in place.
Offer one_after_another(Offer pooled, Offer activated) {
  Offer offer;
  offer.prepare = [pooled, activated](Offer& ready) {
    Offer first = pooled;
    first.get_ready();
    ready.implementation = first.implementation + ", relu";
    ready.facts = first.facts;
    ready.workspace = first.workspace;
    ready.run = [pool = first.run, relu = activated.run](const KernelCall& call) {
      const View places[] = {call.outputs[0], {}, {}};
      KernelCall pooling = call;
      pooling.outputs = places;
      pool(pooling);
      KernelCall activating = call;
      activating.inputs = call.outputs.first(1);
      relu(activating);
    };
  };
  return offer;
}

Offer ReluPool::offer(const GroupRequest& group, const Pattern& parts) {
  const int x = group.match.input(parts.relu, 0), y = group.match.output(parts.pool);
  std::string reason = first_reason(
      [&] { return unless(x >= 0 && y >= 0 && group.output(y).present, "nobody reads y"); },
      [&] {
        return unless(group.request.outputs.size() == 1, "asks for the places of the largest");
      },
      [&] {
        return unless(group.match.as<MaxPool>(parts.pool).ceil_mode == 0,
                      "the last window may see no pixel");
      });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const Operand &input = group.input(x), &output = group.output(y);
  const Node &pool = group.match.node(parts.pool), &relu = group.match.node(parts.relu);
  const Operand outputs[] = {output, {.present = false}, {.present = false}};
  Offer pooled = fastest({*pool.op,
                          pool.attributes,
                          {&input, 1},
                          outputs,
                          group.target(),
                          Math::none,
                          group.request.name});
  if (!pooled) return pooled;
  const Request again{*relu.op,       relu.attributes, {&output, 1},      {&output, 1},
                      group.target(), Math::none,      group.request.name};
  Offer activated = offer_strip_program(again, StripProgram::of_single(again));
  if (!activated) return activated;
  return one_after_another(std::move(pooled), std::move(activated));
}

}  // namespace

}  // namespace narrowgauge

NG_GROUP(relu_pool, narrowgauge::ReluPool)
