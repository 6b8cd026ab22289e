// SPDX-License-Identifier: Apache-2.0
// The gradients of up to two BatchNormalizations that read the same gradient, behind the chain that
// makes it, and a sum with the only one's result.
#include <memory>
#include <optional>

#include "groups/normalize_again.h"
#include "groups/operands.h"
#include "groups/slopes.h"
#include "ir/reason.h"
#include "kernels/cpu/core/workspace.h"
#include "kernels/cpu/normalization/batch_norm.h"
#include "ops/activation/relu.h"
#include "ops/convolution/conv.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/offers/channels.h"
#include "ops/pointwise/arithmetic.h"

namespace narrowgauge {

namespace {

struct NormalizeBack {
  static constexpr std::string_view name = "normalize back";
  struct Pattern : GroupPattern {
    Part convolution = maybe<ConvDataGradient>();
    Part sum = maybe<Add>({reads(either, {convolution, outside})});
    Part again = maybe<NormalizeAgain>();
    Part relu = maybe<Relu>({reads(0, {again})});
    Part gradient =
        maybe<ReluGradient>({reads(0, {relu, outside}), reads(1, {sum, convolution, outside})});
    Part norms = several<BatchNormalizationGradient>(
        cpu::Slopes::most, {shared(0, {gradient, sum, convolution, outside})});
    Part result = maybe<Add>({reads(either, {norms})});
    Pattern() {
      where(norms, [](const Graph&, const Node& node) {
        return node.as<BatchNormalizationGradient>().training != 0;
      });
    }
  };
  static Offer offer(const GroupRequest& group, const Pattern& parts);
};

// Indices of operands; -1: none.
struct Normalization {
  int x, scale, mean, inverse_std;
  int dx, dscale, dbias;
  int other = -1;  // added to dx
};

struct NormalizeBackOperands {
  SlopeOperands chain;
  int slope = -1;  // what the normalizations read, as output
  std::vector<Normalization> norms;
  std::optional<NormalizeAgainOperands> again;

  NormalizeBackOperands(const GroupMatch& match, const NormalizeBack::Pattern& parts)
      : chain(match, {parts.convolution, parts.sum, parts.gradient}, match.input(parts.norms, 0)) {
    for (const Part part : {parts.gradient, parts.sum, parts.convolution})
      if (match.has(part)) {
        slope = match.output(part);
        break;
      }
    for (std::size_t k = 0; k < match.count(parts.norms); ++k) {
      const auto in = [&](std::size_t port) { return match.input(parts.norms, port, k); };
      const auto out = [&](int port) { return match.output(parts.norms, port, k); };
      norms.push_back({in(1), in(2), in(3), in(4), out(0), out(1), out(2)});
    }
    if (match.has(parts.result)) {
      norms[0].dx = match.output(parts.result);
      norms[0].other = match.other(parts.result);
    }
    if (match.has(parts.again)) again.emplace(match, parts.again);
  }
  int written() const { return slope >= 0 ? slope : norms[0].dx; }
};

std::string normalize_back_form_reason(const GroupMatch& match, const NormalizeBack::Pattern& parts,
                                       const NormalizeBackOperands& at) {
  for (const Normalization& norm : at.norms) {
    if (norm.x < 0 || norm.scale < 0 || norm.mean < 0 || norm.inverse_std < 0)
      return "a normalization of constants";
    if (norm.dx < 0) return "nobody reads dx";
  }
  return first_reason(
      [&] { return unless(at.norms[0].other >= 0 || !match.has(parts.result), "adds a constant"); },
      [&] {
        const bool kept = !match.has(parts.gradient) || at.chain.kept >= 0 || at.again;
        return unless(kept, "a Relu of a constant");
      },
      [&] {
        const bool first =
            !at.again || (at.norms[0].x == at.again->x && at.norms[0].mean == at.again->mean);
        return unless(first, "normalizes again what is not the first's x");
      });
}

std::string normalize_back_operands_reason(const GroupRequest& group,
                                           const NormalizeBackOperands& at) {
  const Dims& dims = group.input(at.norms[0].x).dims;
  std::string reason = cpu::tile_isa_reason(group.target().isa);
  const auto image = [&](const Operand& operand) {
    if (reason.empty()) reason = image_reason(operand, dims);
  };
  const auto vector = [&](const Operand& operand) {
    if (reason.empty()) reason = vector_reason(operand);
  };
  if (!at.chain.convolves()) image(group.input(at.chain.dy));
  for (const int i : {at.chain.other, at.chain.kept})
    if (i >= 0) image(group.input(i));
  if (at.slope >= 0) image(group.output(at.slope));
  for (const Normalization& norm : at.norms) {
    image(group.input(norm.x));
    image(group.output(norm.dx));
    if (norm.other >= 0) image(group.input(norm.other));
    if (reason.empty() && !group.output(norm.dx).present) reason = "nobody reads dx";
    for (const int i : {norm.scale, norm.mean, norm.inverse_std}) vector(group.input(i));
    for (const int o : {norm.dscale, norm.dbias})
      if (o >= 0) vector(group.output(o));
  }
  return reason.empty() && at.again ? at.again->reason(group) : reason;
}

class NormalizeBackKernel {
 public:
  NormalizeBackKernel(NormalizeBackOperands at, const SlopeChain& chain,
                      const cpu::ChannelLayout& layout)
      : at_(std::move(at)), convolution_(chain.make()), layout_(layout), image_(chain.dtype) {
    workspace_.add_bytes(convolution_->workspace());
    for (std::size_t p = 0; p <= at_.norms.size(); ++p)
      of_pieces_[p] = workspace_.add<float>(convolution_->part_floats());
    for (std::size_t p = 0; p <= at_.norms.size(); ++p)
      joined_[p] = workspace_.add<double>(layout_.channels);
    normalization_ = workspace_.add_bytes(cpu::batch_norm_workspace(layout_));
    if (!at_.again) return;
    factor_ = workspace_.add<float>(layout_.channels);
    constant_ = workspace_.add<float>(layout_.channels);
  }

  std::int64_t workspace() const { return workspace_.bytes(); }

  void run(const KernelCall& call) const {
    run_slopes(at_.chain, *convolution_, call, at_.written(), slopes(call));
    for (std::size_t p = 0; p <= at_.norms.size(); ++p)
      convolution_->join(of_pieces_[p].in(call.workspace), joined_[p].in(call.workspace));
    // The first goes last: it may overwrite what the others read.
    for (std::size_t p = at_.norms.size(); p-- > 0;) normalize(call, p);
  }

 private:
  cpu::Slopes slopes(const KernelCall& call) const {
    cpu::Slopes slopes;
    slopes.sum = of_pieces_[0].in(call.workspace);
    slopes.count = static_cast<int>(at_.norms.size());
    for (std::size_t p = 0; p < at_.norms.size(); ++p)
      slopes.products[p] = {static_cast<const std::byte*>(data_at(call.inputs, at_.norms[p].x)),
                            static_cast<const float*>(data_at(call.inputs, at_.norms[p].mean)),
                            of_pieces_[p + 1].in(call.workspace)};
    if (!at_.again) return slopes;
    float* const factor = factor_.in(call.workspace);
    float* const constant = constant_.in(call.workspace);
    at_.again->factors(call, layout_.channels, factor, constant);
    slopes.factor = factor;
    slopes.constant = constant;
    return slopes;
  }

  // Ignores the rounding of the mean, which is far below theirs.
  void normalize(const KernelCall& call, std::size_t p) const {
    const Normalization& norm = at_.norms[p];
    const auto vector = [&](int i) { return static_cast<const float*>(data_at(call.inputs, i)); };
    cpu::BatchNormBackward backward;
    backward.layout = layout_;
    backward.dy = {data_at(call.outputs, at_.written()), image_};
    backward.x = {data_at(call.inputs, norm.x), image_};
    backward.scale = vector(norm.scale);
    backward.mean = vector(norm.mean);
    backward.inverse_std = vector(norm.inverse_std);
    backward.dx = {data_at(call.outputs, norm.dx), image_, 0, flushed_at(call, norm.dx)};
    if (norm.other >= 0) backward.other = {data_at(call.inputs, norm.other), image_};
    backward.scale_gradient = static_cast<float*>(data_at(call.outputs, norm.dscale));
    backward.bias_gradient = static_cast<float*>(data_at(call.outputs, norm.dbias));
    batch_norm_backward_from(
        backward, {joined_[0].in(call.workspace), joined_[p + 1].in(call.workspace), nullptr},
        normalization_.in(call.workspace));
  }

  static constexpr std::size_t most_sums = cpu::Slopes::most + 1;
  NormalizeBackOperands at_;
  std::shared_ptr<const cpu::TileConvolution> convolution_;
  cpu::ChannelLayout layout_;
  DType image_;
  cpu::Workspace workspace_;
  cpu::WorkspaceArray<float> of_pieces_[most_sums], factor_, constant_;
  cpu::WorkspaceArray<double> joined_[most_sums];
  cpu::WorkspaceArray<std::byte> normalization_;
};

Offer NormalizeBack::offer(const GroupRequest& group, const Pattern& parts) {
  NormalizeBackOperands at(group.match, parts);
  SlopeChain chain;
  std::string reason =
      first_reason([&] { return normalize_back_form_reason(group.match, parts, at); },
                   [&] { return unless(at.chain.dy >= 0, "a gradient of constants"); },
                   [&] { return normalize_back_operands_reason(group, at); },
                   [&] {
                     chain = slope_chain(group, {parts.convolution, parts.sum, parts.gradient},
                                         at.chain, group.input(at.norms[0].x));
                     return chain.reason;
                   });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  Offer offer;
  offer.implementation =
      at.chain.convolves() ? "amx tiles, batch-inner, to normalization" : "slopes to normalization";
  if (at.chain.convolves()) offer.facts = cpu::tile_facts(chain.dtype);
  offer.in_place = at.chain.places(at.written());
  const cpu::ChannelLayout layout = shared_channels({&group.input(at.norms[0].x)}).layout;
  offer.prepare = [at = std::move(at), chain = std::move(chain), layout](Offer& ready) {
    const auto kernel = std::make_shared<const NormalizeBackKernel>(at, chain, layout);
    ready.workspace = kernel->workspace();
    ready.run = [kernel](const KernelCall& call) { kernel->run(call); };
  };
  return offer;
}

}  // namespace

}  // namespace narrowgauge

NG_GROUP(normalize_back, narrowgauge::NormalizeBack)
