// SPDX-License-Identifier: Apache-2.0
#include "ops/fused/fused_normalization_gradient.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "kernels/cpu/normalization/batch_norm.h"
#include "kernels/cpu/tiles/tile_convolution.h"
#include "ops/fused/fused.h"
#include "ops/fused/slope_pattern.h"
#include "ops/math/arithmetic.h"
#include "ops/nn/batch_normalization.h"
#include "ops/nn/conv.h"
#include "ops/offers/channels.h"
#include "ops/offers/conv_tiles.h"

namespace narrowgauge {

namespace {

// Positions among the group's inputs and outputs; -1: none.
struct Normalization {
  int x, scale, mean, inverse_std;
  int dx, dscale, dbias;
  int other = -1;  // added to dx
};

struct Pattern {
  SlopePattern chain;
  int slope = -1;  // what the normalizations read, as output
  std::vector<Normalization> normalizations;
};

class Matcher {
 public:
  explicit Matcher(const Graph& body) : body_(body), nodes_(working_nodes(body)) {}

  std::optional<Pattern> match() {
    pattern_.chain = match_slope(body_, nodes_);
    next_ = pattern_.chain.length;
    if (next_ == 0 && !begin_with_normalization()) return {};
    pattern_.slope = output_index(body_, pattern_.chain.slope);
    if (next_ == 0) pattern_.slope = -1;
    while (next_ < nodes_.size())
      if (!(take_normalization() || take_sum())) return {};
    const std::size_t count = pattern_.normalizations.size();
    if (pattern_.chain.again.length > 0 && !is_normalized_first()) return {};
    const bool whole = outputs_ == body_.outputs().size() - (pattern_.slope >= 0 ? 1 : 0);
    if (count == 0 || count > cpu::Slopes::most || !whole || !has_dx()) return {};
    return std::move(pattern_);
  }

 private:
  // A normalization alone has a kernel of its own, but none that also adds.
  bool begin_with_normalization() {
    const bool fits = nodes_.size() == 2 &&
                      body_.node(nodes_[0]).is<BatchNormalizationGradient>() &&
                      body_.node(nodes_[1]).is<Add>();
    if (!fits) return false;
    pattern_.chain.slope = body_.node(nodes_[0]).inputs[0];
    pattern_.chain.dy = input_index(body_, pattern_.chain.slope);
    return pattern_.chain.dy >= 0;
  }

  bool take_normalization() {
    const int index = nodes_[next_];
    const Node& node = body_.node(index);
    if (!node.is<BatchNormalizationGradient>()) return false;
    if (!node.as<BatchNormalizationGradient>().training ||
        !(node.inputs[0] == pattern_.chain.slope))
      return false;
    const auto in = [&](std::size_t i) { return input_index(body_, node.inputs[i]); };
    pattern_.normalizations.push_back({.x = in(1),
                                       .scale = in(2),
                                       .mean = in(3),
                                       .inverse_std = in(4),
                                       .dx = output({index, 0}),
                                       .dscale = output({index, 1}),
                                       .dbias = output({index, 2})});
    ++next_;
    last_ = {index, 0};
    const Normalization& last = pattern_.normalizations.back();
    return last.x >= 0 && last.scale >= 0 && last.mean >= 0 && last.inverse_std >= 0;
  }

  // Takes an Add to the only normalization's dx.
  bool take_sum() {
    const int index = nodes_[next_++];
    if (!body_.node(index).is<Add>() || pattern_.normalizations.size() != 1) return false;
    Normalization& norm = pattern_.normalizations[0];
    if (norm.dx >= 0 || next_ < nodes_.size()) return false;
    norm.other = other_input(body_, body_.node(index), last_);
    norm.dx = output({index, 0});
    return norm.other >= 0;
  }

  // Whether the Relu's input is computed again from the input of the first normalization.
  bool is_normalized_first() const {
    if (pattern_.normalizations.empty()) return false;
    const Normalization& first = pattern_.normalizations[0];
    return first.x == pattern_.chain.again.x && first.mean == pattern_.chain.again.mean;
  }

  int output(Value value) {
    const int found = output_index(body_, value);
    outputs_ += found >= 0;
    return found;
  }
  bool has_dx() const {
    return std::all_of(pattern_.normalizations.begin(), pattern_.normalizations.end(),
                       [](const Normalization& norm) { return norm.dx >= 0; });
  }

  const Graph& body_;
  std::vector<int> nodes_;
  std::size_t next_ = 0, outputs_ = 0;
  Value last_;
  Pattern pattern_;
};

struct Operands {
  const Request& request;
  const Operand& in(int i) const { return request.inputs[static_cast<std::size_t>(i)]; }
  const Operand* out(int o) const {
    return o < 0 ? nullptr : &request.outputs[static_cast<std::size_t>(o)];
  }
};

std::string operand_reason(const Operands& operands, const Pattern& pattern) {
  const Dims& dims = operands.in(pattern.normalizations[0].x).dims;
  std::string reason;
  const auto image = [&](const Operand* operand) {
    if (operand && reason.empty()) reason = image_reason(*operand, dims);
  };
  const auto vector = [&](const Operand* operand) {
    if (operand && reason.empty()) reason = vector_reason(*operand);
  };
  if (!pattern.chain.convolution) image(&operands.in(pattern.chain.dy));
  for (const int i : {pattern.chain.other, pattern.chain.kept})
    if (i >= 0) image(&operands.in(i));
  image(operands.out(pattern.slope));
  for (const Normalization& norm : pattern.normalizations) {
    image(&operands.in(norm.x));
    image(operands.out(norm.dx));
    if (norm.other >= 0) image(&operands.in(norm.other));
    if (!operands.out(norm.dx)->present) reason = "nobody reads dx";
    for (const int i : {norm.scale, norm.mean, norm.inverse_std}) vector(&operands.in(i));
    for (const int o : {norm.dscale, norm.dbias}) vector(operands.out(o));
  }
  if (reason.empty() && pattern.chain.again.length > 0)
    reason = pattern.chain.again.reason(operands.request);
  return reason;
}

// The workspace: what the kernel needs, the pieces' sums, their joins, the normalizations' own, and
// two vectors for normalizing again.
class Backward {
 public:
  Backward(Pattern pattern, std::shared_ptr<const cpu::TileConvolution> kernel, const Operand& x)
      : pattern_(std::move(pattern)),
        kernel_(std::move(kernel)),
        layout_(shared_channels({&x}).layout),
        image_(x.dtype) {
    pattern_.chain.convolution = nullptr;  // lives no longer than the request
  }

  std::int64_t workspace() const {
    return kernel_->workspace() + parts_bytes() + joined_bytes() +
           cpu::batch_norm_workspace(layout_) + again_bytes();
  }

  void run(const KernelCall& call) const {
    auto* const parts = reinterpret_cast<float*>(call.workspace + kernel_->workspace());
    auto* const sums =
        reinterpret_cast<double*>(call.workspace + kernel_->workspace() + parts_bytes());
    const int written = pattern_.slope >= 0 ? pattern_.slope : norm(0).dx;
    run_slope(pattern_.chain, *kernel_, call, written, slopes(call, parts));
    for (std::size_t p = 0; p < 1 + count(); ++p)
      kernel_->join(parts + static_cast<std::int64_t>(p) * kernel_->part_floats(),
                    sums + static_cast<std::int64_t>(p) * layout_.channels);
    // The first goes last: it may overwrite what the others read.
    for (std::size_t p = count(); p-- > 0;)
      normalize(call, p, data_at(call.outputs, written), sums);
  }

 private:
  std::size_t count() const { return pattern_.normalizations.size(); }
  const Normalization& norm(std::size_t p) const { return pattern_.normalizations[p]; }
  std::int64_t parts_bytes() const {
    return (static_cast<std::int64_t>(1 + count()) * kernel_->part_floats() * 4 + 63) / 64 * 64;
  }
  std::int64_t again_bytes() const {
    return pattern_.chain.again.length > 0 ? 2 * layout_.channels * 4 : 0;
  }
  std::int64_t joined_bytes() const {
    return static_cast<std::int64_t>(1 + count()) * layout_.channels * 8;
  }
  cpu::Slopes slopes(const KernelCall& call, float* parts) const {
    cpu::Slopes slopes;
    slopes.sum = parts;
    slopes.count = static_cast<int>(count());
    for (std::size_t p = 0; p < count(); ++p)
      slopes.products[p] = {static_cast<const std::byte*>(data_at(call.inputs, norm(p).x)),
                            static_cast<const float*>(data_at(call.inputs, norm(p).mean)),
                            parts += kernel_->part_floats()};
    if (pattern_.chain.again.length == 0) return slopes;
    auto* const factor = reinterpret_cast<float*>(call.workspace + workspace() - again_bytes());
    pattern_.chain.again.factors(call, layout_.channels, factor, factor + layout_.channels);
    slopes.factor = factor;
    slopes.constant = factor + layout_.channels;
    return slopes;
  }

  // Ignores the rounding of the mean, which is far below theirs.
  void normalize(const KernelCall& call, std::size_t p, const void* slope, double* sums) const {
    cpu::BatchNormBackward backward;
    backward.layout = layout_;
    backward.dy = {slope, image_};
    backward.x = {data_at(call.inputs, norm(p).x), image_};
    backward.scale = static_cast<const float*>(data_at(call.inputs, norm(p).scale));
    backward.mean = static_cast<const float*>(data_at(call.inputs, norm(p).mean));
    backward.inverse_std = static_cast<const float*>(data_at(call.inputs, norm(p).inverse_std));
    backward.dx = {data_at(call.outputs, norm(p).dx), image_, 0,
                   call.flushed_at(static_cast<std::size_t>(norm(p).dx))};
    if (norm(p).other >= 0) backward.other = {data_at(call.inputs, norm(p).other), image_};
    backward.scale_gradient = static_cast<float*>(data_at(call.outputs, norm(p).dscale));
    backward.bias_gradient = static_cast<float*>(data_at(call.outputs, norm(p).dbias));
    double* const product = sums + static_cast<std::int64_t>(1 + p) * layout_.channels;
    auto* const workspace = reinterpret_cast<std::byte*>(sums) + joined_bytes();
    batch_norm_backward_from(backward, {sums, product, nullptr}, workspace);
  }

  Pattern pattern_;
  std::shared_ptr<const cpu::TileConvolution> kernel_;
  cpu::ChannelLayout layout_;
  DType image_;
};

}  // namespace

Offer offer_fused_normalization_gradient(const Request& request) {
  auto pattern = Matcher(*request.as<Fused>().body).match();
  if (!pattern) return Offer::decline("no gradient of a normalization behind others");
  const Operands operands{request};
  std::string reason = cpu::tile_isa_reason(request.target.isa);
  if (reason.empty()) reason = operand_reason(operands, *pattern);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const Operand& x = operands.in(pattern->normalizations[0].x);
  auto [kernel, declined] = slope_kernel(pattern->chain, request, x);
  if (!kernel) return Offer::decline(std::move(declined));
  Offer offer;
  offer.implementation = pattern->chain.convolution ? "amx tiles, batch-inner, to normalization"
                                                    : "slopes to normalization";
  if (pattern->chain.convolution) offer.facts = cpu::tile_facts(x.dtype);
  const int written = pattern->slope >= 0 ? pattern->slope : pattern->normalizations[0].dx;
  offer.in_place = slope_places(pattern->chain, written);
  const auto backward = std::make_shared<const Backward>(std::move(*pattern), std::move(kernel), x);
  offer.workspace = backward->workspace();
  offer.run = [backward](const KernelCall& call) { backward->run(call); };
  return offer;
}

}  // namespace narrowgauge
