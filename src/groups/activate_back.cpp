// SPDX-License-Identifier: Apache-2.0
// The gradient of a Relu behind what makes its input, and the sums of a bias before it.
#include <algorithm>

#include "groups/operands.h"
#include "groups/slopes.h"
#include "ir/reason.h"
#include "kernels/cpu/core/strip.h"
#include "kernels/cpu/core/workspace.h"
#include "ops/activation/relu.h"
#include "ops/convolution/conv.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/shape/broadcast_gradient.h"

namespace narrowgauge {

namespace {

struct ActivateBack {
  static constexpr std::string_view name = "activate back";
  struct Pattern : GroupPattern {
    Part convolution = maybe<ConvDataGradient>();
    Part sum = maybe<Add>({reads(either, {convolution, outside})});
    Part gradient = anchor<ReluGradient>({reads(1, {sum, convolution, outside})});
    Part bias = maybe<BroadcastGradient>({shared(0, {gradient})});
  };
  static Offer offer(const GroupRequest& group, const Pattern& parts);
};

std::string activate_back_operands_reason(const GroupRequest& group, const SlopeOperands& operands,
                                          int written, int sums) {
  const Operand& slope = group.output(written);
  const auto image = [&](int i) {
    return i < 0 ? std::string() : image_reason(group.input(i), slope.dims);
  };
  return first_reason([&] { return cpu::tile_isa_reason(group.target().isa); },
                      [&] { return unless(slope.present, "nobody reads the gradient"); },
                      [&] { return unless(operands.kept >= 0, "a Relu of a constant"); },
                      [&] { return image_reason(slope, slope.dims); },
                      [&] { return image(operands.convolves() ? -1 : operands.dy); },
                      [&] { return image(operands.other); }, [&] { return image(operands.kept); },
                      [&]() -> std::string {
                        if (sums < 0) return {};
                        const Operand& bias = group.output(sums);
                        if (bias.dtype != slope.dtype && bias.dtype != DType::f32)
                          return concat("sums of ", bias.dtype);
                        return unless(bias.present && are_channels(bias.dims, slope.dims),
                                      "sums not of channels");
                      });
}

// The gradient, and the sums of its channels.
class ActivateBackKernel {
 public:
  ActivateBackKernel(const SlopeOperands& operands, const SlopeChain& chain, int written)
      : operands_(operands), convolution_(chain.make()), written_(written) {
    workspace_.add_bytes(convolution_->workspace());
  }
  void add_sums(int output, const Operand& sums) {
    sums_ = output;
    dtype_ = sums.dtype;
    channels_ = element_count(sums.dims);
    of_pieces_ = workspace_.add<float>(convolution_->part_floats());
    joined_ = workspace_.add<double>(channels_);
    rounded_ = workspace_.add<float>(channels_);
  }
  std::int64_t workspace() const { return workspace_.bytes(); }

  void run(const KernelCall& call) const {
    cpu::Slopes slopes;
    if (sums_ >= 0) slopes.sum = of_pieces_.in(call.workspace);
    run_slopes(operands_, *convolution_, call, written_, slopes);
    if (sums_ < 0) return;
    double* const joined = joined_.in(call.workspace);
    float* const rounded = rounded_.in(call.workspace);
    convolution_->join(slopes.sum, joined);
    std::copy_n(joined, channels_, rounded);
    cpu::store_strip({data_at(call.outputs, sums_), dtype_}, 0, channels_, rounded);
  }

 private:
  SlopeOperands operands_;
  std::shared_ptr<const cpu::TileConvolution> convolution_;
  int written_, sums_ = -1;
  DType dtype_ = DType::f32;
  std::int64_t channels_ = 0;
  cpu::Workspace workspace_;
  cpu::WorkspaceArray<float> of_pieces_, rounded_;
  cpu::WorkspaceArray<double> joined_;
};

Offer ActivateBack::offer(const GroupRequest& group, const Pattern& pattern) {
  const SlopeParts parts{pattern.convolution, pattern.sum, pattern.gradient};
  const SlopeOperands operands(group.match, parts, -1);
  const int written = group.match.output(pattern.gradient);
  const int sums = group.match.has(pattern.bias) ? group.match.output(pattern.bias) : -1;
  if (written < 0) return Offer::decline("nobody reads the gradient");
  std::string reason = activate_back_operands_reason(group, operands, written, sums);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  SlopeChain chain = slope_chain(group, parts, operands, group.output(written));
  if (!chain.reason.empty()) return Offer::decline(std::move(chain.reason));
  Offer offer;
  offer.implementation = operands.convolves() ? "amx tiles, batch-inner, to slopes" : "slopes";
  if (operands.convolves()) offer.facts = cpu::tile_facts(chain.dtype);
  offer.in_place = operands.places(written);
  const Operand of_bias = sums < 0 ? Operand{} : group.output(sums);
  offer.prepare = [operands, chain = std::move(chain), written, sums, of_bias](Offer& ready) {
    const auto kernel = std::make_shared<ActivateBackKernel>(operands, chain, written);
    if (sums >= 0) kernel->add_sums(sums, of_bias);
    ready.workspace = kernel->workspace();
    ready.run = [kernel](const KernelCall& call) { kernel->run(call); };
  };
  return offer;
}

}  // namespace

}  // namespace narrowgauge

NG_GROUP(activate_back, narrowgauge::ActivateBack)
