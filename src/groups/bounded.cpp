// SPDX-License-Identifier: Apache-2.0
// A convolution of narrow values with an epilogue: the sum with a residual, and the bounds that
// Relu and Clip are.
#include <algorithm>

#include "groups/group.h"
#include "ir/reason.h"
#include "ops/activation/relu.h"
#include "ops/convolution/conv.h"
#include "ops/offers/bounded_convolution.h"
#include "ops/offers/contraction.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/min_max.h"

namespace narrowgauge {

namespace {

struct Bounded {
  static constexpr std::string_view name = "bounded";
  struct Pattern : GroupPattern {
    Part convolution = anchor<Conv>();
    Part sum = maybe<Add>({reads(either, {convolution})});
    Part relu = maybe<Relu>({reads(0, {sum, convolution})});
    Part clip = maybe<Clip>({reads(0, {relu, sum, convolution})});
    Pattern() { prefer({clip, relu, sum}); }
  };
  static Offer offer(const GroupRequest& group, const Pattern& parts);
};

// The inputs of the group in the order of cpu::BoundedInput; -1: none.
std::vector<int> bounded_inputs(const GroupMatch& match, const Bounded::Pattern& parts) {
  const auto of = [&](std::size_t port) { return match.input(parts.convolution, port); };
  return {of(0), of(1), of(2), match.has(parts.sum) ? match.other(parts.sum) : -1};
}

// Why the members are not those that such kernels compute; "" if they are.
std::string bounded_form_reason(const GroupRequest& group, const Bounded::Pattern& parts,
                                const std::vector<int>& in) {
  const GroupMatch& match = group.match;
  const Node& convolution = match.node(parts.convolution);
  const bool biased = convolution.inputs.size() > 2 && !convolution.inputs[2].is_absent();
  return first_reason(
      [&] {
        return unless(group.request.outputs.size() == 1 && group.output(0).present,
                      "not one result");
      },
      [&] {
        return unless(in[0] >= 0 && in[1] >= 0 && (in[2] >= 0 || !biased),
                      "a convolution of constants");
      },
      [&] {
        if (!match.has(parts.sum)) return std::string();
        return unless(in[3] >= 0 && group.input(in[3]).dims == group.output(0).dims,
                      "the other term is broadcast");
      },
      [&] {
        if (!match.has(parts.clip)) return std::string();
        const Values& ports = match.node(parts.clip).inputs;
        for (std::size_t port = 1; port < ports.size(); ++port)
          if (!ports[port].is_absent() && !match.constant(parts.clip, port))
            return std::string("bounds that are not known");
        return std::string();
      });
}

void set_bounds(const GroupMatch& match, const Bounded::Pattern& parts,
                cpu::BoundedConvolution& convolution) {
  if (match.has(parts.relu)) convolution.low = 0;
  if (!match.has(parts.clip)) return;
  if (const Tensor* low = match.constant(parts.clip, 1))
    convolution.low = std::max(convolution.low, static_cast<float>(low->at(0)));
  if (const Tensor* high = match.constant(parts.clip, 2))
    convolution.high = static_cast<float>(high->at(0));
}

Offer Bounded::offer(const GroupRequest& group, const Pattern& parts) {
  const std::vector<int> in = bounded_inputs(group.match, parts);
  std::string reason = bounded_form_reason(group, parts, in);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  Convolution convolution = convolution_of(group.match.node(parts.convolution), group.input(in[0]),
                                           group.input(in[1]), group.output(0));
  if (in[2] >= 0) convolution.bias = &group.input(in[2]);
  cpu::BoundedConvolution bounded{convolution.views(), convolution.window};
  if (in[3] >= 0) bounded.residual = kernel_view(group.input(in[3]));
  set_bounds(group.match, parts, bounded);
  bounded.threads = group.target().threads;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i] >= 0 && group.input(in[i]).lasts) bounded.lasting.push_back(static_cast<int>(i));
  const BoundedRequest request{group.request, convolution.math, std::move(bounded), in};
  reason.clear();
  for (const BoundedKernel& kernel : bounded_kernels) {
    Offer offer = kernel.offer(request);
    if (offer) return offer;
    reason += concat(reason.empty() ? "" : "; ", kernel.name, ": ", offer.reason);
  }
  return Offer::decline(std::move(reason));
}

}  // namespace

}  // namespace narrowgauge

NG_GROUP(bounded, narrowgauge::Bounded)
